# SPDX-License-Identifier: BSD-2-Clause
"""Tests GnuTLS's p11tool, with the module by its path. GnuTLS uses PKCS#11 for kept objects and
random bytes. It has no AES with keys of a token, so what counts is the module's own: it encrypts the
objects of the token in slot 1, which p11tool stores, lists and deletes. Slot 0 stores nothing."""

import json

from harness_pkcs11 import KEY, OBJECTS, PIN, SO_PIN, TOKEN, TokenConsumer, check

consumer = TokenConsumer("p11tool", limit=60, needs={"p11tool": "gnutls-bin"})
SLOT_0, SLOT_1 = "pkcs11:token=tenrounds", f"pkcs11:token={TOKEN}"


def p11tool(*words, **how):
    return consumer.run("ours", ["p11tool", "--batch", "--provider", consumer.module, *words], **how)


def tokens():
    said = p11tool("--list-tokens")
    check(TOKEN in said.decode(), said)
    return f"{consumer.token(said)}, {consumer.demand_module()}"


def mechanisms(token):
    said = p11tool("--list-mechanisms", token).decode()
    for name in ("CKM_AES_GCM", "CKM_AES_CBC_PAD", "CKM_AES_KEY_GEN"):
        check(f" {name} " in said or f" {name}\n" in said, f"no {name}: {said}")
    return consumer.demand_module()


def random_bytes(token):
    first, second = (p11tool("--generate-random", "64", token) for _ in range(2))
    check(len(first) >= 64 and first != second, f"{first.hex()} and {second.hex()}")
    return consumer.demand_module()


def stores_nothing():
    p11tool("--write", "--secret-key", KEY.hex(), "--label", "k", SLOT_0, good=(1,))
    return consumer.demand_module()


def labels():
    listed = json.loads(consumer.tool("token", "list", "--json", "--pin-file", "pin"))["token"]["objects"]
    return [key["label"] for key in listed]


def stored_key():
    """Lists the key that the tool stored, and stores and deletes another one."""
    login = ["--login", "--set-pin", PIN]
    check("Label: stored" in p11tool(*login, "--list-all", SLOT_1).decode(), "p11tool does not list the stored key")
    p11tool(*login, "--write", "--secret-key", KEY.hex(), "--label", "written", SLOT_1)
    check(labels() == ["stored", "written"], f"the tool lists {labels()}")
    p11tool(*login, "--delete", f"{SLOT_1};object=written;type=secret-key")
    check(labels() == ["stored"], f"the tool lists {labels()}")
    return consumer.demand_module(OBJECTS, 4 * len(KEY))


def new_pin():
    p11tool("--initialize-pin", "--set-so-pin", SO_PIN, "--set-pin", "changed", SLOT_1)
    p11tool("--login", "--set-pin", "changed", "--list-all", SLOT_1)
    return consumer.demand_module(OBJECTS, len(KEY))


consumer.make_token()
consumer.result("p11tool --list-tokens", tokens)
for token in (SLOT_0, SLOT_1):
    consumer.result(f"p11tool --list-mechanisms {token}", mechanisms, token)
    consumer.result(f"p11tool --generate-random {token}", random_bytes, token)
consumer.result("p11tool --write is refused by slot 0", stores_nothing)
consumer.result("p11tool --list-all, --write and --delete with a token's keys", stored_key)
consumer.result("p11tool --initialize-pin", new_pin)
consumer.end()
