# SPDX-License-Identifier: BSD-2-Clause
"""Tests OpenSC's pkcs11-tool: its own tests in both slots, also with threads and after fork; digests
of a file. In slot 1 it makes a token, stores keys, and encrypts and decrypts with them.

It encrypts only with keys that the token keeps, and slot 0 keeps none.
"""

import hashlib

from harness_pkcs11 import KEY, MESSAGE, OBJECTS, PIN, SO_PIN, TOKEN, TokenConsumer, check

consumer = TokenConsumer("pkcs11-tool", limit=120, needs={"pkcs11-tool": "opensc"})
WHOLE = len(MESSAGE) // 16 * 16
IV = KEY[:16]


def tool(*words, **how):
    return consumer.run("ours", ["pkcs11-tool", "--module", consumer.module, *words], **how)


def kept(*words, **how):
    """In slot 1, logged in."""
    return tool("--slot", "1", "--login", "--pin", PIN, *words, **how)


def listed():
    return f"{consumer.token(tool('--list-slots'))}, {consumer.demand_module()}"


def own_tests(*slot):
    said = tool(*slot, "--test").decode()
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


def digest(name):
    tool("--hash", "-m", name, "-i", "message", "-o", "digest")
    expected = hashlib.new(name.replace("-", ""), MESSAGE).digest()
    check(consumer.read("digest") == expected, f"{name}: {consumer.read('digest').hex()}, not {expected.hex()}")
    return consumer.demand_module()


def refused():
    said = tool("--slot", "0", "--keygen", "--key-type", "AES:32", "--label", "k", good=(1,))
    check(b"Key generated" not in said, said)
    return consumer.demand_module()


def makes_token():
    tool("--slot", "1", "--init-token", "--label", TOKEN, "--so-pin", SO_PIN)
    tool("--slot", "1", "--login", "--login-type", "so", "--so-pin", SO_PIN, "--init-pin", "--new-pin", PIN)
    kept("--write-object", "key", "--type", "secrkey", "--key-type", "AES:32", "--id", "01", "--label", "stored",
         "--usage-decrypt", "--extractable")
    kept("--keygen", "--key-type", "AES:32", "--id", "02", "--label", "made")
    said = kept("--list-objects").decode()
    check("stored" in said and "made" in said, said)
    return consumer.demand_module(OBJECTS, 2 * len(KEY))


def ciphers(mechanism, cipher, operations):
    """With the stored key both ways; with the one that the token made, there and back."""
    iv = ["--iv", IV.hex()] if cipher else []
    text = MESSAGE[:WHOLE]
    for key in ("01", "02"):
        words = ["--id", key, "-m", mechanism, *iv]
        kept("--encrypt", *words, "-i", "text", "-o", "sealed")
        if key == "01":
            expected = consumer.openssl(cipher, KEY, text, IV)
            check(consumer.read("sealed") == expected, "openssl encrypts to something else")
        kept("--decrypt", *words, "-i", "sealed", "-o", "again")
        check(consumer.read("again") == text, "decryption does not give the text back")
    return consumer.demand_module(operations, 4 * WHOLE)


consumer.write("text", MESSAGE[:WHOLE])
consumer.write("key", KEY)
consumer.result("pkcs11-tool --list-slots", listed)
consumer.result("pkcs11-tool --test", own_tests)
consumer.result("pkcs11-tool --test-fork", after_fork)
consumer.result("pkcs11-tool --test-threads, four", threads)
for name in ("SHA-1", "SHA256", "SHA384", "SHA512"):
    consumer.result(f"pkcs11-tool --hash {name}", digest, name)
consumer.result("pkcs11-tool --keygen, which the slot without files refuses", refused)
consumer.result("pkcs11-tool makes a token and stores keys", makes_token)
consumer.result("pkcs11-tool --encrypt and --decrypt, AES-CBC, with keys of the token", ciphers, "AES-CBC", "aes-256-cbc",
                ("cbc_encrypt", "cbc_decrypt"))
consumer.result("pkcs11-tool --test in slot 1", own_tests, "--slot", "1", "--login", "--pin", PIN)
consumer.end()
