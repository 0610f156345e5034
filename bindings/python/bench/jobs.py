# SPDX-License-Identifier: BSD-2-Clause
"""Jobs with cryptography or with tenrounds, which tests/consumers/python_package.py measures:

    python jobs.py write FILE ROWS    writes a column of values of 50 to 200 bytes in Arrow's format
    python jobs.py JOB SIDE FILE      does a job, and prints a digest of its result; then does it
                                      again for each line of input, and prints how many bytes it had

SIDE is plain (cryptography) or ours. In fields and packed, a column becomes a column of
ciphertexts, through Python's bytes or in Arrow's buffers. In pages, pages of 64 KiB are encrypted
with a nonce and associated data each, as in Parquet's modular encryption. A writer of Parquet has
just compressed a page when it encrypts it, so the pages are in the cache here: a row group of
1 MiB, 1024 times.
"""

import hashlib
import random
import sys

import numpy
import pyarrow
import tenrounds.aead
from cryptography.hazmat.primitives.ciphers import aead

KEY, PAGE, GROUPS = bytes(range(32)), 65536, 1024


def write(path, rows):
    rng = random.Random(1)
    values = [rng.randbytes(rng.randint(50, 200)) for _ in range(int(rows))]
    table = pyarrow.table({"values": pyarrow.array(values, pyarrow.binary())})
    with pyarrow.ipc.new_file(path, table.schema) as file:
        file.write(table.combine_chunks())


def column(path):
    return pyarrow.ipc.open_file(pyarrow.memory_map(path)).read_all()["values"].chunk(0)


def one_by_one(values, nonces):
    encrypt = aead.AESGCM(KEY).encrypt
    sealed = [
        encrypt(nonces[12 * i : 12 * i + 12], value, b"column")
        for i, value in enumerate(values.to_pylist())
    ]
    return pyarrow.array(sealed, pyarrow.binary())


def in_a_list(values, nonces):
    sealed = tenrounds.aead.AESGCM(KEY).encrypt_many(nonces, values.to_pylist(), b"column")
    return pyarrow.array(sealed, pyarrow.binary())


def packed(values, nonces):
    rows = len(values)
    offsets = numpy.frombuffer(values.buffers()[1], numpy.int32, rows + 1)
    data = values.buffers()[2].slice(0, int(offsets[-1]))
    out = pyarrow.allocate_buffer(data.size + 16 * rows)
    tenrounds.aead.AESGCM(KEY).encrypt_many_into(nonces, data, offsets, b"column", out)
    borders = pyarrow.py_buffer(offsets + 16 * numpy.arange(rows + 1, dtype=numpy.int32))
    return pyarrow.Array.from_buffers(pyarrow.binary(), rows, [None, borders, out])


def pages(cls, file, nonces, out):
    """Writes nonce, ciphertext and tag of each page into a buffer."""
    for _ in range(GROUPS):
        key, position = cls(KEY), 0
        for i, nonce in enumerate(nonces):
            page = file[i * PAGE : (i + 1) * PAGE]
            end = position + 12 + len(page) + 16
            out[position : position + 12] = nonce
            key.encrypt_into(nonce, page, b"file page %d" % i, out[position + 12 : end])
            position = end
    return out


def prepared(job, side, path):
    """The job as a function, its size in bytes, and the function that makes bytes of its result."""
    rng = random.Random(2)
    if job == "pages":
        file = memoryview(rng.randbytes(1 << 20))
        nonces = [rng.randbytes(12) for _ in range(0, len(file), PAGE)]
        out = memoryview(bytearray(len(file) + 28 * len(nonces)))
        cls = (aead if side == "plain" else tenrounds.aead).AESGCM
        return lambda: pages(cls, file, nonces, out), GROUPS * len(file), bytes
    values = column(path)
    nonces = rng.randbytes(12 * len(values))
    function = one_by_one if side == "plain" else {"fields": in_a_list, "packed": packed}[job]
    joined = lambda result: b"".join(result.to_pylist())
    return lambda: function(values, nonces), len(joined(values)), joined


def main(words):
    if words[0] == "write":
        write(*words[1:])
        return
    function, size, whole = prepared(*words)
    print(hashlib.sha256(whole(function())).hexdigest(), flush=True)
    for _ in sys.stdin:
        function()
        print(size, flush=True)


main(sys.argv[1:])
