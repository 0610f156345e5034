# SPDX-License-Identifier: BSD-2-Clause
"""Arguments, exceptions, buffers, references and threads."""

import concurrent.futures
import gc
import mmap
import os
import pickle
import subprocess
import sys
import threading

import numpy
import pytest
import tenrounds
from cryptography.exceptions import InvalidTag as TheirInvalidTag
from tenrounds.aead import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV

NONCE, KEY = bytes(12), bytes(range(32))
by_class = pytest.mark.parametrize("cls", [AESGCM, AESGCMSIV, AESCCM, AESOCB3])


@by_class
def test_arguments(cls):
    key = cls(key=KEY)
    sealed = key.encrypt(NONCE, associated_data=None, data=b"data")
    assert sealed == key.encrypt(NONCE, b"data", b"")
    for wrong in (
        lambda: key.encrypt(NONCE, b"data"),
        lambda: key.encrypt(NONCE, b"data", None, None),
        lambda: key.encrypt(NONCE, b"data", None, data=b"data"),
        lambda: key.encrypt(NONCE, b"data", aad=None),
        lambda: key.encrypt(NONCE, "data", None),
        lambda: key.encrypt_into(NONCE, b"data", None, bytes(20)),
        lambda: key.encrypt_into(NONCE, b"data", None, None),
        lambda: key.encrypt_many([NONCE], b"data"),
        lambda: key.encrypt_many([NONCE], numpy.zeros((1, 4), "u1")),
        lambda: key.encrypt_many([NONCE], [1]),
        lambda: key.encrypt_many_into(NONCE, b"data", None, None, bytearray(20)),
        lambda: key.encrypt_many_into(NONCE, b"data", 4, None, None),
        lambda: cls(),
        lambda: cls(None),
        lambda: cls(KEY, 16, 16),
    ):
        with pytest.raises(TypeError):
            wrong()


@by_class
def test_integers_of_numpy(cls):
    assert len(cls.generate_key(bit_length=numpy.int64(256))) == 32
    key, out, again = cls(KEY), bytearray(20), bytearray(20)
    key.encrypt_many_into(NONCE, b"data", numpy.int64(4), None, out)
    key.encrypt_many_into(NONCE, b"data", numpy.array([0, 4]), None, again)
    assert out == again == key.encrypt(NONCE, b"data", None)
    assert len(AESCCM(KEY, tag_length=numpy.int8(8)).encrypt(NONCE, b"", None)) == 8


@by_class
def test_lengths(cls):
    key = cls(KEY)
    for wrong in (
        lambda: key.encrypt_many([NONCE], [b"data", b"data"]),
        lambda: key.encrypt_many(NONCE + b"1", [b"data", b"data"]),
        lambda: key.encrypt_many(b"1", []),
        lambda: key.encrypt_many([NONCE], [b"data"], [b"", b""]),
        lambda: key.encrypt_many(bytes(2), [b"data", b"data"]),
        lambda: key.encrypt_many_into(bytes(13), b"data", 4, None, bytearray(20)),
        lambda: key.encrypt_many_into(NONCE, b"data", 5, None, bytearray(20)),
        lambda: key.encrypt_many_into(NONCE, b"data", 4, None, bytearray(21)),
        lambda: key.encrypt_many_into(b"", b"data", 4, None, bytearray(4)),
        lambda: key.encrypt_many_into(NONCE, b"data", bytes(12), None, bytearray(20)),
        lambda: key.decrypt_many_into(NONCE, b"data", 4, None, bytearray(0)),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(OverflowError):
        key.encrypt_many_into(NONCE, b"data", -1, None, bytearray(20))
    assert key.encrypt_many([], []) == key.encrypt_many(b"", ()) == []
    assert key.encrypt_many_into(b"", b"", 4, None, bytearray()) == 0


@by_class
@pytest.mark.parametrize("borders", [(0, 9, 4), (0, -1, 8), (0, 5, 9), (9, 9, 9), (5, 2, 3)])
def test_wrong_offsets(cls, borders):
    sizes = numpy.array(borders, numpy.int64)
    out = bytearray(max(borders[2] - borders[0], 0) + 32)  # so that its length is not the reason
    with pytest.raises(ValueError) as caught:
        cls(KEY).encrypt_many_into(NONCE * 2, b"datadata", sizes, None, out)
    assert "buffer" not in str(caught.value)


def test_buffers():
    key = AESGCM(KEY)
    matrix = numpy.arange(64, dtype="u1").reshape(8, 8)
    assert key.encrypt(NONCE, matrix, None) == key.encrypt(NONCE, matrix.tobytes(), None)
    words = numpy.arange(8, dtype="u8")
    assert key.encrypt(NONCE, words, None) == key.encrypt(NONCE, words.tobytes(), None)
    with pytest.raises((ValueError, BufferError)):
        key.encrypt(NONCE, matrix[:, ::2], None)
    # The output begins inside the input.
    memory = bytearray(64)
    with pytest.raises(ValueError):
        key.encrypt_into(NONCE, memoryview(memory)[:20], None, memoryview(memory)[8:44])
    with pytest.raises(ValueError):
        key.encrypt_many_into(NONCE, memoryview(memory)[:20], 20, None, memoryview(memory)[8:44])
    memory.append(1)  # nothing still holds the buffer


@by_class
def test_no_plaintext_of_a_wrong_message(cls):
    key, out = cls(KEY), bytearray(b"x" * 40)
    sealed = bytearray(key.encrypt(NONCE, b"y" * 40, None))
    sealed[50] ^= 1
    with pytest.raises(tenrounds.InvalidTag):
        key.decrypt_into(NONCE, sealed, None, out)
    assert out == bytes(40)


def test_invalid_tag():
    """The exception is of both classes, and survives the way between processes."""
    with pytest.raises(TheirInvalidTag) as caught:
        AESGCM(KEY).decrypt(NONCE, bytes(20), None)
    assert isinstance(caught.value, tenrounds.InvalidTag) and caught.value.args == ()
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    alone = """
import sys, tenrounds
from tenrounds.aead import AESGCM
try:
    AESGCM(bytes(16)).decrypt_many([bytes(12)] * 2, [bytes(20)] * 2)
except tenrounds.InvalidTag as error:
    assert type(error) is tenrounds.InvalidTag and error.args == (0,), error.args
    assert 'cryptography' not in sys.modules
    print('caught')
"""
    done = subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True, check=True)
    assert done.stdout == "caught\n"


def test_modes():
    for wrong in (
        lambda: tenrounds.aes_ctr(KEY, NONCE, b"data"),
        lambda: tenrounds.aes_ctr(KEY[1:], bytes(16), b"data"),
        lambda: tenrounds.aes_cbc_decrypt(KEY, bytes(16), b"data"),
        lambda: tenrounds.aes_xts_encrypt(bytes(32), bytes(16), bytes(16)),  # equal halves
        lambda: tenrounds.aes_xts_encrypt(KEY, bytes(16), bytes(15)),
        lambda: tenrounds.aes_ctr(KEY, bytes(16), b"data", bytearray(5)),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        tenrounds.aes_ctr(KEY, bytes(16), "data")
    assert tenrounds.aes_ctr(KEY, nonce=bytes(16), data=b"") == b""


@pytest.mark.parametrize(("cls", "unit"), [(AESGCM, 64), (AESCCM, 64), (AESSIV, 128)])
def test_generate_key(cls, unit):
    keys = {cls.generate_key(bit_length=k * unit) for k in (2, 3, 4) for _ in range(3)}
    assert sorted(map(len, keys)) == [k * unit // 8 for k in (2, 3, 4) for _ in range(3)]
    for wrong in (0, unit, 129, 5 * unit):
        with pytest.raises(ValueError):
            cls.generate_key(wrong)
    with pytest.raises(OverflowError):
        cls.generate_key(-128)


def test_classes_are_final():
    with pytest.raises(TypeError):
        type("Mine", (AESGCM,), {})
    with pytest.raises(TypeError):
        AESGCM.encrypt = None


def test_references():
    """No call keeps a reference, whatever its result."""
    data, nonce = bytearray(50), bytearray(12)
    aad, out, view = bytearray(5), bytearray(66), memoryview(bytes(66))
    objects = [data, nonce, aad, out, view, AESGCM, AESSIV]

    def calls():
        key = AESGCM(KEY)
        good = [
            lambda: key.encrypt(nonce, data, aad),
            lambda: key.encrypt_into(nonce, data, aad, out),
            lambda: key.encrypt_many([nonce] * 9, [data] * 9, [aad] * 9),
            lambda: key.encrypt_many_into(nonce, data, 50, aad, out),
            lambda: AESSIV(KEY).encrypt(data, [aad, aad]),
            lambda: tenrounds.aes_ctr(KEY, bytes(16), data),
        ]
        bad = [
            lambda: key.encrypt(nonce, data, 1),
            lambda: key.encrypt(data[:5], data, aad),
            lambda: key.encrypt_into(nonce, data, aad, view),
            lambda: key.decrypt(nonce, view, aad),
            lambda: key.decrypt_into(nonce, view, aad, data),
            lambda: key.decrypt_many([nonce] * 9, [view] * 9, aad),
            lambda: key.encrypt_many([nonce] * 9, [data] * 8 + [1], [aad] * 9),
            lambda: key.encrypt_many([nonce] * 9, [data] * 9, [aad] * 8),
            lambda: key.decrypt_many_into(nonce, view, 66, aad, data),
            lambda: key.encrypt_many_into(nonce, data, aad, aad, out),
            lambda: AESSIV(KEY).decrypt(view, [aad, aad]),
            lambda: AESSIV(KEY).encrypt(data, [aad, 1]),
            lambda: AESSIV(KEY).encrypt(data, [aad] * 200),
            lambda: tenrounds.aes_ctr(KEY, aad, data),
        ]
        for call in good:
            call()
        for call in bad:
            with pytest.raises((TypeError, ValueError, tenrounds.InvalidTag)):
                call()

    calls()
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(20):
        calls()
    gc.collect()
    assert [sys.getrefcount(o) for o in objects] == before
    for resizable in (data, nonce, aad, out):
        resizable.append(0)  # no buffer is still held


def test_long_component():
    """The exception leaves no buffer held."""
    memory = mmap.mmap(-1, 1 << 31)  # address space alone
    with pytest.raises(OverflowError):
        AESSIV(KEY).encrypt(b"data", [b"", memory])
    memory.close()


def test_unfinished_results(monkeypatch):
    """Nobody sees a list of results whose items are still NULL."""
    seen = []

    def invalid_tag(*args):  # runs after the list is made
        seen.append([len(o) for o in gc.get_objects() if type(o) is list and len(o) == 197])
        return tenrounds.InvalidTag(*args)

    monkeypatch.setattr(tenrounds.exceptions, "invalid_tag", invalid_tag)
    with pytest.raises(tenrounds.InvalidTag):
        AESGCM(KEY).decrypt_many((NONCE,) * 197, (b"",) * 197)
    assert seen == [[]]
    assert gc.is_tracked(AESGCM(KEY).encrypt_many([NONCE], [b"data"]))


def test_threads():
    """Threads share a key, in calls that hold the GIL and in calls that release it."""
    key, many = AESGCM(KEY), [os.urandom(size) for size in (10, 5000, 100_000, 1_000_000)]
    expected = [key.encrypt(NONCE, data, b"aad") for data in many]
    start = threading.Barrier(8)

    def work(_):
        start.wait()
        for _ in range(20):
            for data, sealed in zip(many, expected):
                assert key.encrypt(NONCE, data, b"aad") == sealed
                assert key.decrypt(NONCE, sealed, b"aad") == data
            assert key.decrypt_many([NONCE] * 4, expected, b"aad") == many
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_backend():
    mask, backend = os.environ.get("TENROUNDS_MASK", ""), tenrounds.backend().split("-")[0]
    if "noaes" in mask:
        assert backend in {"vperm", "bitslice"}
    elif "novaes" in mask:
        assert backend not in {"vaes256", "vaes512"}
    else:
        assert backend in {"vaes512", "vaes256", "aesni", "vperm", "bitslice", "armce"}
