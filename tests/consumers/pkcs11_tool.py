# SPDX-License-Identifier: BSD-2-Clause
"""Tests OpenSC's pkcs11-tool: its own tests, also with threads and after fork, digests of a file.

It encrypts only with keys that the token keeps, and slot 0 keeps none.
"""

import hashlib

from harness_pkcs11 import MESSAGE, TokenConsumer, check

consumer = TokenConsumer("pkcs11-tool", limit=120, needs={"pkcs11-tool": "opensc"})


def tool(*words, **how):
    return consumer.run("plain", ["pkcs11-tool", "--module", consumer.module, *words], **how)


def listed():
    return consumer.token(tool("--list-slots"))


def own_tests():
    said = tool("--test").decode()
    check("No errors" in said, said)


def after_fork():
    said = tool("--test-fork").decode()
    check("C_Initialize in forked child" in said, said)


def threads():
    # Each letter pair is a call: C_Initialize, C_GetInfo, slots, C_GetTokenInfo, C_GetMechanismList.
    words = ["--test-threads", "ILGISLT0"] * 4
    said = tool(*words).decode()
    check("tenrounds" in said, said)


def digest(name):
    tool("--hash", "-m", name, "-i", "message", "-o", "digest")
    expected = hashlib.new(name.replace("-", ""), MESSAGE).digest()
    check(consumer.read("digest") == expected, f"{name}: {consumer.read('digest').hex()}, not {expected.hex()}")


def kept():
    said = tool("--keygen", "--key-type", "AES:32", "--label", "k", good=(1,))
    check(b"Key generated" not in said, said)


consumer.result("pkcs11-tool --list-slots", listed)
consumer.result("pkcs11-tool --test", own_tests)
consumer.result("pkcs11-tool --test-fork", after_fork)
consumer.result("pkcs11-tool --test-threads, four", threads)
for name in ("SHA-1", "SHA256", "SHA384", "SHA512"):
    consumer.result(f"pkcs11-tool --hash {name}", digest, name)
consumer.result("pkcs11-tool --keygen, which the slot without files refuses", kept)
consumer.end()
