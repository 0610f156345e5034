# SPDX-License-Identifier: BSD-2-Clause
"""Threads that share keys, messages and lists, while another thread changes the lists.

Needs nothing but the module, so that a free-threaded Python can run it, too. The threads share no
bytearray: Python 3.13t counts the users of one without atomic instructions.
"""

import os
import random
import sys
import sysconfig
import threading

import tenrounds
from tenrounds.aead import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV

THREADS, ROUNDS, NONCE = 8, 100, bytes(12)
MESSAGES = [os.urandom(size) for size in (0, 10, 100, 5000, 40000)]
KEYS = [cls(bytes(range(32))) for cls in (AESGCM, AESGCMSIV, AESCCM, AESOCB3)]
SIV = AESSIV(bytes(range(32)))
SEALED = [[key.encrypt(NONCE, m, b"aad") for m in MESSAGES] for key in KEYS]
SIV_SEALED = [SIV.encrypt(m, [b"aad"]) for m in MESSAGES]

items, components = [b"x" * 20] * 100, [b"y"] * 5
done, failures = threading.Event(), []


def change():
    rng = random.Random(1)
    while not done.is_set():
        items[rng.randrange(90)] = bytes(rng.randrange(40))
        items.append(items.pop(rng.randrange(90)))
        components[:] = [b"z" * rng.randrange(9)] * rng.randrange(9)


def fixed():
    for key, sealed in zip(KEYS, SEALED):
        assert key.encrypt_many([NONCE] * 5, MESSAGES, b"aad") == sealed
        assert key.decrypt_many([NONCE] * 5, sealed, b"aad") == MESSAGES
        assert [key.encrypt(NONCE, m, b"aad") for m in MESSAGES] == sealed
        try:
            key.decrypt(NONCE, sealed[2], b"other")
            raise AssertionError("a forgery was accepted")
        except tenrounds.InvalidTag as error:
            assert error.args == ()
    assert [SIV.encrypt(m, [b"aad"]) for m in MESSAGES] == SIV_SEALED


def changing():
    for key in KEYS:
        try:
            sealed = key.encrypt_many(bytes(1200), items)
            opened = key.decrypt_many(bytes(1200), sealed)
            assert all(len(a) == len(b) + 16 for a, b in zip(sealed, opened))
        except ValueError:  # the list has just had 99 items
            pass
    assert len(SIV.encrypt(b"data", components)) == 20


def work():
    try:
        for _ in range(ROUNDS):
            fixed()
            changing()
    except BaseException as error:
        failures.append(error)
        raise


if sysconfig.get_config_var("Py_GIL_DISABLED"):
    assert not sys._is_gil_enabled(), "the module has enabled the GIL"
changer = threading.Thread(target=change)
workers = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in (changer, *workers):
    thread.start()
for thread in workers:
    thread.join()
done.set()
changer.join()
assert not failures
print(f"ok: {THREADS} threads, {ROUNDS} rounds, {tenrounds.backend()}")
