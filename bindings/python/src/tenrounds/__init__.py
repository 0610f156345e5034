# SPDX-License-Identifier: BSD-2-Clause
"""AES for Python, over the core of tenrounds.

tenrounds.aead has the classes of cryptography.hazmat.primitives.ciphers.aead. The functions here
do in one call what a Cipher object of cryptography does in five.
"""

from tenrounds._ext import (
    __version__,
    aes_cbc_decrypt,
    aes_cbc_encrypt,
    aes_ctr,
    aes_xts_decrypt,
    aes_xts_encrypt,
    backend,
)
from tenrounds.exceptions import InvalidTag

__all__ = [
    "InvalidTag",
    "__version__",
    "aes_cbc_decrypt",
    "aes_cbc_encrypt",
    "aes_ctr",
    "aes_xts_decrypt",
    "aes_xts_encrypt",
    "backend",
]
