# SPDX-License-Identifier: BSD-2-Clause
"""Two jobs with tenrounds and with cryptography, in alternation: python jobs.py

Fields: a column of a million values of 50 to 200 bytes, in Arrow's format, becomes a column of
nonces and one of ciphertexts. Pages: 1024 pages of 64 KiB with a nonce and associated data each, as
in Parquet's modular encryption. A writer of Parquet has just compressed a page when it encrypts it,
so the pages are in the cache here: a row group of 1 MiB, 64 times.
"""

import os
import random
import statistics
import time

import cryptography
import numpy
import pyarrow
import tenrounds
from cryptography.hazmat.primitives.ciphers import aead
from tenrounds.aead import AESGCM

ROUNDS, ROWS, PAGE = 9, 1_000_000, 65536
KEY = os.urandom(32)


def column():
    rng = random.Random(1)
    values = [rng.randbytes(rng.randint(50, 200)) for _ in range(ROWS)]
    return pyarrow.array(values, pyarrow.binary())


def fields_theirs(values, nonces):
    encrypt = aead.AESGCM(KEY).encrypt
    sealed = [
        encrypt(nonces[12 * i : 12 * i + 12], value, b"column")
        for i, value in enumerate(values.to_pylist())
    ]
    return pyarrow.array(sealed, pyarrow.binary())


def fields_list(values, nonces):
    sealed = AESGCM(KEY).encrypt_many(nonces, values.to_pylist(), b"column")
    return pyarrow.array(sealed, pyarrow.binary())


def fields_packed(values, nonces):
    _, offsets, data = values.buffers()
    out = pyarrow.allocate_buffer(data.size + 16 * len(values))
    AESGCM(KEY).encrypt_many_into(nonces, data, offsets, b"column", out)
    borders = numpy.frombuffer(offsets, numpy.int32) + 16 * numpy.arange(
        len(values) + 1, dtype=numpy.int32
    )
    return pyarrow.Array.from_buffers(
        pyarrow.binary(), len(values), [None, pyarrow.py_buffer(borders), out]
    )


def pages(key, file, nonces, out):
    """Writes nonce, ciphertext and tag of each page into a buffer."""
    position = 0
    for i, nonce in enumerate(nonces):
        page = file[i * PAGE : (i + 1) * PAGE]
        end = position + 12 + len(page) + 16
        out[position : position + 12] = nonce
        key.encrypt_into(nonce, page, b"file page %d" % i, out[position + 12 : end])
        position = end
    return out


def compare(name, theirs, *ours):
    expected = theirs()
    for function in ours:
        assert function() == expected
    del expected
    rounds = []
    for _ in range(ROUNDS):
        times = []
        for function in (theirs, *ours):
            begin = time.process_time()
            function()
            times.append(time.process_time() - begin)
        rounds.append(times)
    medians = [statistics.median(times) for times in zip(*rounds)]
    for i, median in enumerate(medians):
        times = statistics.median(r[0] / r[i] for r in rounds)
        print(f"{name[0]}, {name[1 + i]}: {median:.3f} s, {times:.2f} times", flush=True)


print(f"cryptography {cryptography.__version__}, {tenrounds.backend()}")
values, nonces = column(), os.urandom(12 * ROWS)
compare(
    ("fields", "cryptography", "encrypt_many", "encrypt_many_into"),
    lambda: fields_theirs(values, nonces),
    lambda: fields_list(values, nonces),
    lambda: fields_packed(values, nonces),
)
group = memoryview(os.urandom(1 << 20))
page_nonces = [os.urandom(12) for _ in range(0, len(group), PAGE)]
out = memoryview(bytearray(len(group) + 28 * len(page_nonces)))


def row_groups(cls):
    for _ in range(64):
        pages(cls(KEY), group, page_nonces, out)
    return bytes(out)


compare(
    ("pages", "cryptography", "AESGCM.encrypt_into"),
    lambda: row_groups(aead.AESGCM),
    lambda: row_groups(AESGCM),
)
