# SPDX-License-Identifier: BSD-2-Clause
"""mypy checks this file, and runs nothing: what the stubs accept, reject and return.

An "ignore" that hides no error is one itself (warn_unused_ignores), so a stub that accepts too
much fails here, too.
"""

from typing import assert_type

import tenrounds
from cryptography.exceptions import InvalidTag as TheirInvalidTag
from cryptography.hazmat.primitives.ciphers import aead as theirs
from tenrounds.aead import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV

key, nonce, data, out = bytes(32), bytes(12), b"data", bytearray(20)

# One signature for both libraries: a program that changes its import needs no other change.
for gcm in (theirs.AESGCM(key), AESGCM(key)):
    assert_type(gcm.encrypt(nonce, data, None), bytes)
    assert_type(gcm.decrypt(nonce, data=data, associated_data=b""), bytes)
    assert_type(gcm.encrypt_into(nonce, data, None, out), int)
    assert_type(gcm.decrypt_into(nonce, data, None, buf=out), int)
for ccm in (theirs.AESCCM(key, tag_length=8), AESCCM(key, tag_length=8)):
    assert_type(ccm.encrypt(nonce, data, None), bytes)
for siv in (theirs.AESSIV(key), AESSIV(key)):
    assert_type(siv.encrypt(data, [b"header", bytearray(3)]), bytes)
    assert_type(siv.decrypt_into(data, None, out), int)

for each in (AESGCM, AESGCMSIV, AESOCB3):
    assert_type(each.generate_key(bit_length=128), bytes)
    many = each(memoryview(key))
    assert_type(many.encrypt_many([nonce], [data, bytearray(5)]), list[bytes])
    assert_type(many.decrypt_many(nonce, (data,), [None or b""]), list[bytes])
    assert_type(many.encrypt_many_into(nonce, data, 4, None, out), int)

assert_type(tenrounds.aes_ctr(key, bytes(16), data), bytes)
assert_type(tenrounds.aes_xts_encrypt(key, tweak=bytes(16), data=data, buf=out), int)
assert_type(tenrounds.__version__, str)

AESGCM("key")  # type: ignore[arg-type]
AESGCM(key).encrypt(nonce, data)  # type: ignore[call-arg]
AESGCM(key).encrypt_many_into(nonce, data, None, None, out)  # type: ignore[arg-type]
AESGCM(key, 16)  # type: ignore[call-arg]
AESSIV(key).encrypt(nonce, data, None)  # type: ignore[call-arg,arg-type]
AESSIV(key).encrypt_many([nonce], [data])  # type: ignore[attr-defined]
tenrounds.aes_ctr(key, bytes(16), "data")  # type: ignore[call-overload]


class Mine(AESGCM):  # type: ignore[misc]
    pass


try:
    AESGCM(key).decrypt(nonce, data, None)
except tenrounds.InvalidTag as error:
    assert_type(error, tenrounds.InvalidTag)
except TheirInvalidTag:
    pass
