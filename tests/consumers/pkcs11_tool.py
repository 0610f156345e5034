# SPDX-License-Identifier: BSD-2-Clause
"""Tests OpenSC's pkcs11-tool: its own tests, also with threads and after fork.

It encrypts only with keys that a token keeps, and the module keeps none.
"""

from harness_pkcs11 import ModuleConsumer, check

consumer = ModuleConsumer("pkcs11-tool", limit=120, needs={"pkcs11-tool": "opensc"})


def tool(*words, **how):
    return consumer.run("ours", ["pkcs11-tool", "--module", consumer.module, *words], **how)


def listed():
    return f"{consumer.token(tool('--list-slots'))}, {consumer.demand_module()}"


def own_tests():
    said = tool("--test").decode()
    check("No errors" in said, said)
    return consumer.demand_module()


def after_fork():
    said = tool("--test-fork").decode()
    check("C_Initialize in forked child" in said, said)
    return consumer.demand_module()


def threads():
    # Each letter pair is a call: C_Initialize, C_GetInfo, slots, C_GetTokenInfo, C_GetMechanismList.
    words = ["--test-threads", "ILGISLT0"] * 4
    said = tool(*words).decode()
    check("tenrounds" in said, said)
    return consumer.demand_module()


def refused(*words):
    said = tool(*words, good=(1,))
    check(b"generated" not in said and b"initialized" not in said, said)
    return consumer.demand_module()


consumer.result("pkcs11-tool --list-slots", listed)
consumer.result("pkcs11-tool --test", own_tests)
consumer.result("pkcs11-tool --test-fork", after_fork)
consumer.result("pkcs11-tool --test-threads, four", threads)
consumer.result("pkcs11-tool --keygen is refused: it stores the key", refused, "--keygen", "--key-type", "AES:32", "--label", "k")
consumer.result("pkcs11-tool --login is refused: there is no PIN", refused, "--login", "--pin", "1234", "--test")
consumer.result("pkcs11-tool --init-token is refused", refused, "--init-token", "--label", "t", "--so-pin", "officer")
consumer.end()
