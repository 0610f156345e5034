# SPDX-License-Identifier: BSD-2-Clause
"""Compares tenrounds with the installed cryptography on this machine: python compare.py

Prints the table of README.md, into which `scripts/tables --measure python` puts it. A round runs
the contestants one after the other, so that a change of the clock affects both. A cell is the
median over the rounds of the ratio of their times. The results are compared first.
"""

import os
import statistics
import sys
import timeit

import cryptography
import tenrounds
from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms, modes
from tenrounds.aead import AESGCM

SIZES = (64, 1350, 16384, 1 << 20)
ROUNDS, WINDOW = 31, 1e-3
KEY, BLOCK, NONCE = os.urandom(32), os.urandom(16), os.urandom(12)
SHORT = KEY[:16]


def timer(function, *arguments):
    """Runs `function(*arguments)` a number of times, as a program would call it."""
    names = [f"a{i}" for i in range(len(arguments))]
    scope = {"f": function, **dict(zip(names, arguments))}
    return timeit.Timer(f"f({', '.join(names)})", globals=scope).timeit


def row(name, pairs):
    """A row of the table: for each size, the ratio of the times of both."""
    cells = []
    for pair in pairs:
        counts = [max(1, int(WINDOW / (run(5) / 5))) for run in pair]
        rounds = [[run(count) / count for run, count in zip(pair, counts)] for _ in range(ROUNDS)]
        them, us = (statistics.median(times) * 1e9 for times in zip(*rounds))
        ratio = statistics.median(a / b for a, b in rounds)
        print(f"{name}: {them:.0f} / {us:.0f} ns = {ratio:.2f}", file=sys.stderr)
        cells.append(f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.0f}")
    cells += [""] * (len(SIZES) - len(cells))
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def gcm(size, decrypt):
    data = os.urandom(size)
    theirs, ours = aead.AESGCM(SHORT), AESGCM(SHORT)
    sealed = theirs.encrypt(NONCE, data, None)
    assert ours.encrypt(NONCE, data, None) == sealed and ours.decrypt(NONCE, sealed, None) == data
    if decrypt:
        return [timer(key.decrypt, NONCE, sealed, None) for key in (theirs, ours)]
    return [timer(key.encrypt, NONCE, data, None) for key in (theirs, ours)]


def batch(size, packed):
    theirs, ours = aead.AESGCM(SHORT), AESGCM(SHORT)
    data, nonces = [os.urandom(size) for _ in range(64)], [os.urandom(12) for _ in range(64)]
    together, nonce_buffer, out = b"".join(data), b"".join(nonces), bytearray(64 * (size + 16))

    def one_by_one():
        return [theirs.encrypt(n, d, None) for n, d in zip(nonces, data)]

    ours.encrypt_many_into(nonce_buffer, together, size, None, out)
    assert one_by_one() == ours.encrypt_many(nonces, data) and b"".join(one_by_one()) == out
    if packed:
        many = timer(ours.encrypt_many_into, nonce_buffer, together, size, None, out)
    else:
        many = timer(ours.encrypt_many, nonces, data)
    return timer(one_by_one), many


def cipher(size, mode, key, end, function):
    """With results in a buffer, so that large ones do not measure the C library's allocator."""
    data, their_out, our_out = os.urandom(size), bytearray(size + 15), bytearray(size)

    def theirs(key, iv, data, out):
        context = getattr(Cipher(algorithms.AES(key), mode(iv)), end)()
        context.update_into(data, out)
        context.finalize()

    theirs(key, BLOCK, data, their_out)
    function(key, BLOCK, data, our_out)
    assert their_out[:size] == our_out
    return timer(theirs, key, BLOCK, data, their_out), timer(function, key, BLOCK, data, our_out)


print(f"| AES-128, cryptography {cryptography.__version__} | 64 B | 1350 B | 16 KiB | 1 MiB |")
print("|---|---:|---:|---:|---:|")
row("`AESGCM.encrypt`", [gcm(s, False) for s in SIZES])
row("`AESGCM.decrypt`", [gcm(s, True) for s in SIZES])
row("`encrypt_many`, 64 messages", [batch(s, False) for s in SIZES[:3]])
row("`encrypt_many_into`, 64 messages", [batch(s, True) for s in SIZES[:3]])
whole = [s // 16 * 16 for s in SIZES]
for function, sizes, *arguments in (
    (tenrounds.aes_ctr, SIZES, modes.CTR, SHORT, "encryptor"),
    (tenrounds.aes_cbc_decrypt, whole, modes.CBC, SHORT, "decryptor"),
    (tenrounds.aes_xts_encrypt, SIZES, modes.XTS, KEY, "encryptor"),
):
    row(f"`{function.__name__}`", [cipher(size, *arguments, function) for size in sizes])
