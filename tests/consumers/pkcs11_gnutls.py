# SPDX-License-Identifier: BSD-2-Clause
"""Tests GnuTLS's p11tool, with the module by its path. GnuTLS uses PKCS#11 for kept objects and
random bytes, and has no AES with keys of a token. The module stores nothing."""

from harness_pkcs11 import KEY, ModuleConsumer, check

consumer = ModuleConsumer("p11tool", limit=60, needs={"p11tool": "gnutls-bin"})
TOKEN = "pkcs11:token=tenrounds"


def p11tool(*words, **how):
    return consumer.run("ours", ["p11tool", "--batch", "--provider", consumer.module, *words], **how)


def tokens():
    said = p11tool("--list-tokens")
    return f"{consumer.token(said)}, {consumer.demand_module()}"


def mechanisms():
    said = p11tool("--list-mechanisms", TOKEN).decode()
    for name in ("CKM_AES_GCM", "CKM_AES_CBC_PAD", "CKM_AES_KEY_GEN"):
        check(f" {name} " in said or f" {name}\n" in said, f"no {name}: {said}")
    return consumer.demand_module()


def random_bytes():
    first, second = (p11tool("--generate-random", "64", TOKEN) for _ in range(2))
    check(len(first) >= 64 and first != second, f"{first.hex()} and {second.hex()}")
    return consumer.demand_module()


def stores_nothing():
    p11tool("--write", "--secret-key", KEY.hex(), "--label", "k", TOKEN, good=(1,))
    return consumer.demand_module()


def lists_nothing():
    p11tool("--list-all", TOKEN, good=(2,))  # no matching objects
    return consumer.demand_module()


consumer.result("p11tool --list-tokens", tokens)
consumer.result("p11tool --list-mechanisms", mechanisms)
consumer.result("p11tool --generate-random", random_bytes)
consumer.result("p11tool --list-all", lists_nothing)
consumer.result("p11tool --write is refused", stores_nothing)
consumer.end()
