# SPDX-License-Identifier: BSD-2-Clause
"""Random messages, compared with cryptography: single calls, sequences and packed buffers."""

import array

import numpy
import pyarrow
import pytest
import tenrounds
from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms, modes
from tenrounds.aead import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV

NONCES = {AESGCM: (8, 128), AESGCMSIV: (12, 12), AESCCM: (7, 13), AESOCB3: (12, 15)}
KEYS = (16, 24, 32)
by_nonce = pytest.mark.parametrize("cls", NONCES)


def theirs(cls):
    return getattr(aead, cls.__name__)


def length(rng):
    """Mostly short, at times long enough to release the GIL."""
    return rng.choice([rng.randrange(64), rng.randrange(2100), rng.randrange(40000)])


def flipped(rng, data):
    changed = bytearray(data)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return changed


def shaped(rng, data):
    """The same bytes in an object of another type."""
    return rng.choice([bytes, bytearray, memoryview, lambda d: numpy.frombuffer(d, "u1")])(data)


@by_nonce
def test_single(cls, rng):
    for _ in range(400):
        key = rng.randbytes(rng.choice(KEYS))
        arguments = (rng.choice(range(4, 17, 2)),) if cls is AESCCM else ()
        ours, other = cls(shaped(rng, key), *arguments), theirs(cls)(key, *arguments)
        nonce = rng.randbytes(rng.randint(*NONCES[cls]))
        data, aad = rng.randbytes(length(rng)), rng.choice([None, rng.randbytes(rng.randrange(99))])
        sealed = other.encrypt(nonce, data, aad)
        assert ours.encrypt(shaped(rng, nonce), shaped(rng, data), aad) == sealed
        assert ours.decrypt(nonce, shaped(rng, sealed), aad) == data
        out = bytearray(len(sealed))
        assert ours.encrypt_into(nonce, data, aad, out) == len(sealed) and out == sealed
        # In place.
        assert ours.decrypt_into(nonce, out, aad, memoryview(out)[: len(data)]) == len(data)
        assert out[: len(data)] == data
        with pytest.raises(tenrounds.InvalidTag):
            ours.decrypt(nonce, flipped(rng, sealed), aad)


def test_siv(rng):
    for _ in range(400):
        key = rng.randbytes(rng.choice((32, 48, 64)))
        ours, other = AESSIV(key), aead.AESSIV(key)
        data = rng.randbytes(length(rng))
        aad = [rng.randbytes(rng.randrange(40)) for _ in range(rng.randrange(5))] or None
        sealed = other.encrypt(data, aad)
        assert ours.encrypt(shaped(rng, data), aad) == sealed
        assert ours.decrypt(shaped(rng, sealed), aad) == data
        out = bytearray(len(data))
        assert ours.decrypt_into(sealed, aad, out) == len(data) and out == data
        with pytest.raises(tenrounds.InvalidTag):
            ours.decrypt(flipped(rng, sealed), aad)


def one_call(cipher, mode, key, iv, data):
    end = getattr(Cipher(algorithms.AES(key), mode(iv)), cipher)()
    return end.update(data) + end.finalize()


def test_modes(rng):
    for _ in range(400):
        key, iv = rng.randbytes(rng.choice(KEYS)), rng.randbytes(16)
        data = rng.randbytes(length(rng))
        blocks = data[: len(data) // 16 * 16]
        double = rng.randbytes(rng.choice((32, 64)))
        unit = data + bytes(16)
        expected = one_call("encryptor", modes.CTR, key, iv, data)
        assert tenrounds.aes_ctr(key, iv, shaped(rng, data)) == expected
        out = bytearray(data)
        assert tenrounds.aes_ctr(key, iv, out, out) == len(data) and out == expected
        for function, end, mode, k, d in (
            (tenrounds.aes_cbc_encrypt, "encryptor", modes.CBC, key, blocks),
            (tenrounds.aes_cbc_decrypt, "decryptor", modes.CBC, key, blocks),
            (tenrounds.aes_xts_encrypt, "encryptor", modes.XTS, double, unit),
            (tenrounds.aes_xts_decrypt, "decryptor", modes.XTS, double, unit),
        ):
            assert function(k, iv, d) == one_call(end, mode, k, iv, d)


def messages(rng):
    """Of one length or of many; enough of them for the core's calls for many messages."""
    count, same = rng.randrange(150), rng.randrange(300)
    return [rng.randbytes(rng.choice([same, same, same, rng.randrange(300)])) for _ in range(count)]


@by_nonce
def test_sequences(cls, rng):
    for _ in range(60):
        key = cls(rng.randbytes(rng.choice(KEYS)))
        data = messages(rng)
        nonces = [rng.randbytes(12) for _ in data]
        aad = rng.choice([None, b"one for all", [rng.randbytes(rng.randrange(30)) for _ in data]])
        each = aad if isinstance(aad, list) else [aad] * len(data)
        sealed = [key.encrypt(n, d, a) for n, d, a in zip(nonces, data, each)]
        assert key.encrypt_many(nonces, [shaped(rng, d) for d in data], aad) == sealed
        assert key.encrypt_many(b"".join(nonces), tuple(data), aad) == sealed
        assert key.decrypt_many(nonces, sealed, aad) == data
        if sealed:
            wrong = sorted(rng.sample(range(len(sealed)), rng.randint(1, min(3, len(sealed)))))
            for i in wrong:
                sealed[i] = flipped(rng, sealed[i])
            with pytest.raises(tenrounds.InvalidTag) as caught:
                key.decrypt_many(nonces, sealed, aad)
            assert caught.value.args == (wrong[0],)


def offsets_of(rng, data, start):
    offsets = [start]
    for d in data:
        offsets.append(offsets[-1] + len(d))
    return array.array(rng.choice("iq"), offsets)


@by_nonce
def test_packed(cls, rng):
    for _ in range(60):
        key = cls(rng.randbytes(rng.choice(KEYS)))
        data, start = messages(rng), rng.randrange(3)
        nonces, aad = rng.randbytes(12 * len(data)), rng.choice([None, b"one for all"])
        sealed = key.encrypt_many(nonces, data, aad)
        out = bytearray(len(b"".join(sealed)))
        packed = bytes(start) + b"".join(data)
        sizes = offsets_of(rng, data, start)
        assert key.encrypt_many_into(nonces, packed, sizes, aad, out) == len(out)
        assert out == b"".join(sealed)
        back = bytearray(len(b"".join(data)))
        sizes = offsets_of(rng, sealed, 0)
        assert key.decrypt_many_into(nonces, out, sizes, aad, back) == len(back)
        assert back == b"".join(data)
        if sealed:
            wrong = rng.randrange(len(sealed))
            out[sizes[wrong] + rng.randrange(len(sealed[wrong]))] ^= 1
            with pytest.raises(tenrounds.InvalidTag) as caught:
                key.decrypt_many_into(nonces, out, sizes, aad, back)
            assert caught.value.args == (wrong,)
            data[wrong] = bytes(len(data[wrong]))
            assert back == b"".join(data)


@by_nonce
def test_numpy(cls, rng):
    raw = rng.randbytes(32)
    key, other = cls(raw), theirs(cls)(raw)
    for count, size in ((1, 50), (64, 16), (1000, 50), (300, 200)):
        data = numpy.frombuffer(rng.randbytes(count * size), "u1").reshape(count, size)
        nonces = numpy.frombuffer(rng.randbytes(count * 12), "u1").reshape(count, 12)
        out = numpy.empty((count, size + 16), "u1")
        key.encrypt_many_into(nonces, data, size, b"table", out)
        for i in rng.sample(range(count), min(count, 20)):
            assert bytes(out[i]) == other.encrypt(nonces[i], data[i], b"table")
        back = numpy.empty_like(data)
        key.decrypt_many_into(nonces, out, size + 16, b"table", back)
        assert (back == data).all()


@by_nonce
def test_pyarrow(cls, rng):
    raw = rng.randbytes(32)
    key, other = cls(raw), theirs(cls)(raw)
    values = [rng.randbytes(rng.randrange(60)) for _ in range(500)]
    for kind in (pyarrow.binary(), pyarrow.large_binary()):
        column = pyarrow.array(values, kind)
        _, offsets, data = column.buffers()
        nonces = rng.randbytes(12 * len(column))
        out = pyarrow.allocate_buffer(data.size + 16 * len(column))
        key.encrypt_many_into(nonces, data, offsets, None, out)
        width = numpy.int32 if kind == pyarrow.binary() else numpy.int64
        borders = numpy.frombuffer(offsets, width) + 16 * numpy.arange(len(column) + 1, dtype=width)
        sealed = pyarrow.Array.from_buffers(
            kind, len(column), [None, pyarrow.py_buffer(borders), out]
        )
        for i, value in enumerate(sealed.to_pylist()):
            assert value == other.encrypt(nonces[12 * i : 12 * i + 12], values[i], None)
