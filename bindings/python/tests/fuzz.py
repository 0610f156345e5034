# SPDX-License-Identifier: BSD-2-Clause
"""Fuzz target of the extension module: arguments of any kind, and whether all ways to process a
message agree. scripts/fuzz compiles the module with AddressSanitizer, and starts this program.

A call may raise only the exceptions below. Any other one ends the process, so that libFuzzer keeps
the input.
"""

import random
import sys

import atheris
import tenrounds
from tenrounds.aead import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV

EXPECTED = (TypeError, ValueError, OverflowError, BufferError, tenrounds.InvalidTag)
# What each call takes: the letters are those of `fitting` below.
NONCE_CALLS = {
    "encrypt": "nda",
    "decrypt": "nda",
    "encrypt_into": "ndab",
    "decrypt_into": "ndab",
    "encrypt_many": "NDA",
    "decrypt_many": "NDA",
    "encrypt_many_into": "Ndsab",
    "decrypt_many_into": "Ndsab",
}
SIV_CALLS = {"encrypt": "dA", "decrypt": "dA", "encrypt_into": "dAb", "decrypt_into": "dAb"}
FUNCTIONS = {name: "kidb" for name in tenrounds.__all__ if name.startswith("aes_")}


class Input:
    """The rest of the input, and after its end the bytes of a generator that it seeds. The contents
    of messages matter little here, so the input has only their lengths."""

    def __init__(self, data):
        self.bytes_left, self.generator = iter(data), random.Random(data)

    def byte(self):
        byte = next(self.bytes_left, None)
        return self.generator.getrandbits(8) if byte is None else byte

    def choice(self, options):
        return options[self.byte() % len(options)]

    def bytes(self):
        return bytes(range(self.byte()))


KINDS = (
    lambda data: data.bytes(),
    lambda data: bytearray(data.bytes()),
    lambda data: memoryview(bytearray(data.bytes()))[:: data.choice((1, 2, -1))],
    lambda data: memoryview(bytes(4 * data.byte())).cast("I"),
    lambda data: [anything(data) for _ in range(data.byte() % 4)],
    lambda data: tuple(data.bytes() for _ in range(data.byte() % 70)),
    lambda data: data.byte() - 99 << data.choice((0, 20, 32, 60)),
    lambda data: None,
    lambda data: "text",
)


def anything(data):
    return data.choice(KINDS)(data)


def fitting(data, letter):
    """An argument of the kind that a call takes, whose length may be wrong."""
    many = range(data.byte() % 70) if letter in "NDA" else ()
    return {
        "k": lambda: bytes(range(data.choice((32, 16, 24, 64)))),
        "n": lambda: bytes(12),
        "i": lambda: bytes(16),
        "d": lambda: data.bytes(),
        "a": lambda: data.bytes() or None,
        "b": lambda: bytearray(data.byte()),
        "N": lambda: bytes(12 * len(many)),
        "D": lambda: [data.bytes() for _ in many],
        "A": lambda: [data.bytes() for _ in many],
        "s": lambda: data.byte() or borders([data.bytes() for _ in range(data.byte() % 9)]),
    }[letter]()


def one_call(data, cls):
    """One call, most of whose arguments fit; one in eight is anything."""
    methods = SIV_CALLS if cls is AESSIV else NONCE_CALLS
    name = data.choice([*methods, *FUNCTIONS])
    call = getattr(cls(bytes(32)) if name in methods else tenrounds, name)
    letters = methods.get(name) or FUNCTIONS[name]
    arguments = [anything(data) if data.byte() % 8 == 7 else fitting(data, c) for c in letters]
    names = ("nonce", "data", "associated_data", "buf", "nonces", "sizes", "key")
    keywords = {data.choice(names): anything(data)} if data.byte() % 8 == 7 else {}
    call(*arguments[: data.choice((5, 5, 5, 5, 4, 3, 2))], **keywords)


def agree(data, cls):
    """Messages with one nonce length and one associated data, processed in each way."""
    key, aad = cls(bytes(data.choice((16, 24, 32)))), data.bytes()
    messages = [data.bytes() for _ in range(data.byte() % 70)]
    nonces = [bytes([i, *bytes(11)]) for i in range(len(messages))]
    sealed = [key.encrypt(n, m, aad) for n, m in zip(nonces, messages)]
    assert key.encrypt_many(nonces, messages, aad) == sealed
    assert key.decrypt_many(b"".join(nonces), sealed, aad) == messages
    out = bytearray(sum(map(len, sealed)))
    key.encrypt_many_into(b"".join(nonces), b"".join(messages), borders(messages), aad, out)
    assert out == b"".join(sealed)
    forged = data.byte() % (len(messages) + 1)
    if forged == len(messages):
        return
    begin = len(b"".join(sealed[:forged]))
    out[begin + data.byte() % len(sealed[forged])] ^= 1 << data.byte() % 8
    plain = bytearray(b"x" * len(b"".join(messages)))
    try:
        key.decrypt_many_into(b"".join(nonces), out, borders(sealed), aad, plain)
        raise AssertionError("a forgery was accepted")
    except tenrounds.InvalidTag as error:
        assert error.args == (forged,)
    messages[forged] = bytes(len(messages[forged]))
    assert plain == b"".join(messages), "a forgery leaves zeros, and no other message does"


def borders(messages):
    offsets = [0]
    for message in messages:
        offsets.append(offsets[-1] + len(message))
    return memoryview(b"".join(o.to_bytes(4, "little") for o in offsets))


def run(raw):
    data = Input(raw)
    try:
        if data.byte() % 4 == 3:
            agree(data, data.choice((AESGCM, AESGCMSIV, AESCCM, AESOCB3)))
        else:
            one_call(data, data.choice((AESGCM, AESGCMSIV, AESCCM, AESOCB3, AESSIV)))
    except EXPECTED:
        pass


atheris.Setup(sys.argv, run)
atheris.Fuzz()
