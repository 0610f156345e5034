# SPDX-License-Identifier: BSD-2-Clause
"""Tests GnuTLS's p11tool, with the module by its path. GnuTLS uses PKCS#11 for kept objects and
random bytes, and slot 0 keeps no objects: p11tool lists it, and says that it stores nothing."""

from harness_pkcs11 import KEY, TokenConsumer, check

consumer = TokenConsumer("p11tool", limit=60, needs={"p11tool": "gnutls-bin"})


def p11tool(*words, **how):
    return consumer.run("plain", ["p11tool", "--batch", "--provider", consumer.module, *words], **how)


def tokens():
    return consumer.token(p11tool("--list-tokens"))


def mechanisms():
    said = p11tool("--list-mechanisms", "pkcs11:token=tenrounds").decode()
    for name in ("CKM_AES_GCM", "CKM_AES_CBC_PAD", "CKM_AES_KEY_GEN"):
        check(f" {name} " in said or f" {name}\n" in said, f"no {name}: {said}")


def random_bytes():
    first, second = (p11tool("--generate-random", "64", "pkcs11:token=tenrounds") for _ in range(2))
    check(len(first) >= 64 and first != second, f"{first.hex()} and {second.hex()}")


def stores_nothing():
    p11tool("--write", "--secret-key", KEY.hex(), "--label", "k", "pkcs11:token=tenrounds", good=(1,))


consumer.result("p11tool --list-tokens", tokens)
consumer.result("p11tool --list-mechanisms", mechanisms)
consumer.result("p11tool --generate-random", random_bytes)
consumer.result("p11tool --write is refused", stores_nothing)
consumer.end()
