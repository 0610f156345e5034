# SPDX-License-Identifier: BSD-2-Clause
from collections.abc import Sequence
from typing import Self, final, overload

from typing_extensions import Buffer

__version__: str

def backend() -> str: ...
@overload
def aes_ctr(key: Buffer, nonce: Buffer, data: Buffer, buf: None = None) -> bytes: ...
@overload
def aes_ctr(key: Buffer, nonce: Buffer, data: Buffer, buf: Buffer) -> int: ...
@overload
def aes_cbc_encrypt(key: Buffer, iv: Buffer, data: Buffer, buf: None = None) -> bytes: ...
@overload
def aes_cbc_encrypt(key: Buffer, iv: Buffer, data: Buffer, buf: Buffer) -> int: ...
@overload
def aes_cbc_decrypt(key: Buffer, iv: Buffer, data: Buffer, buf: None = None) -> bytes: ...
@overload
def aes_cbc_decrypt(key: Buffer, iv: Buffer, data: Buffer, buf: Buffer) -> int: ...
@overload
def aes_xts_encrypt(key: Buffer, tweak: Buffer, data: Buffer, buf: None = None) -> bytes: ...
@overload
def aes_xts_encrypt(key: Buffer, tweak: Buffer, data: Buffer, buf: Buffer) -> int: ...
@overload
def aes_xts_decrypt(key: Buffer, tweak: Buffer, data: Buffer, buf: None = None) -> bytes: ...
@overload
def aes_xts_decrypt(key: Buffer, tweak: Buffer, data: Buffer, buf: Buffer) -> int: ...

# The bases exist only here: they hold the signatures that classes share.
class _Key:
    def __new__(cls, key: Buffer) -> Self: ...
    @staticmethod
    def generate_key(bit_length: int) -> bytes: ...

class _NonceKey(_Key):
    def encrypt(self, nonce: Buffer, data: Buffer, associated_data: Buffer | None) -> bytes: ...
    def decrypt(self, nonce: Buffer, data: Buffer, associated_data: Buffer | None) -> bytes: ...
    def encrypt_into(
        self, nonce: Buffer, data: Buffer, associated_data: Buffer | None, buf: Buffer
    ) -> int: ...
    def decrypt_into(
        self, nonce: Buffer, data: Buffer, associated_data: Buffer | None, buf: Buffer
    ) -> int: ...
    def encrypt_many(
        self,
        nonces: Sequence[Buffer] | Buffer,
        data: Sequence[Buffer],
        associated_data: Sequence[Buffer] | Buffer | None = None,
    ) -> list[bytes]: ...
    def decrypt_many(
        self,
        nonces: Sequence[Buffer] | Buffer,
        data: Sequence[Buffer],
        associated_data: Sequence[Buffer] | Buffer | None = None,
    ) -> list[bytes]: ...
    def encrypt_many_into(
        self,
        nonces: Buffer,
        data: Buffer,
        sizes: int | Buffer,
        associated_data: Buffer | None,
        buf: Buffer,
    ) -> int: ...
    def decrypt_many_into(
        self,
        nonces: Buffer,
        data: Buffer,
        sizes: int | Buffer,
        associated_data: Buffer | None,
        buf: Buffer,
    ) -> int: ...

@final
class AESGCM(_NonceKey): ...

@final
class AESGCMSIV(_NonceKey): ...

@final
class AESCCM(_NonceKey):
    def __new__(cls, key: Buffer, tag_length: int | None = 16) -> Self: ...

@final
class AESOCB3(_NonceKey): ...

@final
class AESSIV(_Key):
    def encrypt(self, data: Buffer, associated_data: Sequence[Buffer] | None) -> bytes: ...
    def decrypt(self, data: Buffer, associated_data: Sequence[Buffer] | None) -> bytes: ...
    def encrypt_into(
        self, data: Buffer, associated_data: Sequence[Buffer] | None, buf: Buffer
    ) -> int: ...
    def decrypt_into(
        self, data: Buffer, associated_data: Sequence[Buffer] | None, buf: Buffer
    ) -> int: ...
