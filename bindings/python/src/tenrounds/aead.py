# SPDX-License-Identifier: BSD-2-Clause
"""The AES classes of cryptography.hazmat.primitives.ciphers.aead, with calls for many messages."""

from tenrounds._ext import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV

__all__ = ["AESCCM", "AESGCM", "AESGCMSIV", "AESOCB3", "AESSIV"]
