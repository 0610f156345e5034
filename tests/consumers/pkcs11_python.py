# SPDX-License-Identifier: BSD-2-Clause
"""Tests python-pkcs11 in every mode that it has for AES, and the keys it makes and wraps; and takes a
key from a token of SoftHSM to one of ours, wrapped."""

import os
import subprocess

from harness_pkcs11 import KEY, PIN, ROOT, TOKEN, TokenConsumer, check

consumer = TokenConsumer("python-pkcs11", limit=120, needs={"python3": "python3", "softhsm2-util": "softhsm2"})
PROGRAM = """
import sys
import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism, ObjectClass

module, mode, secret, iv = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]), bytes.fromhex(sys.argv[4])
token = pkcs11.lib(module).get_token(token_label="tenrounds")
print(token.manufacturer_id, token.model)
text = open("message", "rb").read()[:160000]
with token.open() as session:
    key = session.create_object({Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.KEY_TYPE: KeyType.AES,
                                 Attribute.VALUE: secret, Attribute.ENCRYPT: True, Attribute.DECRYPT: True})
    how = {"mechanism": Mechanism["AES_" + mode]}
    if mode != "ECB":
        how["mechanism_param"] = iv
    sealed = key.encrypt(text, **how)
    assert key.decrypt(sealed, **how) == text
    open("sealed", "wb").write(sealed)
    pieces = [text[i:i + 4096] for i in range(0, len(text), 4096)]
    assert b"".join(key.encrypt(pieces, **how)) == sealed
    made = session.generate_key(KeyType.AES, 256)
    wrapping = session.generate_key(KeyType.AES, 256)
    wrapped = wrapping.wrap_key(made, mechanism=Mechanism.AES_KEY_WRAP)
    again = wrapping.unwrap_key(ObjectClass.SECRET_KEY, KeyType.AES, wrapped, mechanism=Mechanism.AES_KEY_WRAP,
                                template={Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: False})
    assert again.encrypt(text, **how) == made.encrypt(text, **how)
"""


# A key that SoftHSM made leaves it wrapped by a key that both tokens have.
LEAVE = """
import sys
import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism, ObjectClass

token = pkcs11.lib(sys.argv[1]).get_token(token_label="old")
with token.open(rw=True, user_pin="1234") as session:
    transport = session.create_object({Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.KEY_TYPE: KeyType.AES,
                                       Attribute.VALUE: bytes.fromhex(sys.argv[2]), Attribute.WRAP: True})
    key = session.generate_key(KeyType.AES, 256, template={Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: True})
    open("key.wrapped", "wb").write(transport.wrap_key(key, mechanism=Mechanism.AES_KEY_WRAP_PAD))
    open("sealed", "wb").write(key.encrypt(bytes(160), mechanism=Mechanism.AES_CBC, mechanism_param=bytes(16)))
"""
ARRIVE = """
import sys
import pkcs11
from pkcs11 import Mechanism

token = pkcs11.lib(sys.argv[1]).get_token(token_label=sys.argv[2])
with token.open(user_pin=sys.argv[3]) as session:
    key = session.get_key(label="moved")
    assert key.decrypt(open("sealed", "rb").read(), mechanism=Mechanism.AES_CBC, mechanism_param=bytes(16)) == bytes(160)
"""


def migrated(python, softhsm):
    """SoftHSM calls RFC 5649's wrapping CKM_AES_KEY_WRAP_PAD."""
    os.mkdir(consumer.path("old"))
    consumer.write("softhsm.conf", f"directories.tokendir = {consumer.path('old')}\nobjectstore.backend = file\n")
    with_softhsm = ["env", f"SOFTHSM2_CONF={consumer.path('softhsm.conf')}"]
    consumer.run("plain", with_softhsm + ["softhsm2-util", "--init-token", "--free", "--label", "old", "--pin", "1234",
                                          "--so-pin", "officer"])
    consumer.run("plain", with_softhsm + [python, "leave.py", softhsm, KEY.hex()])
    consumer.make_token()
    imported = ["token", "import", "--pin-file", "pin", "--label"]
    consumer.tool(*imported, "transport", "--use", "wrap", "-", input=KEY)
    consumer.tool(*imported, "moved", "--unwrap-with", "transport", "key.wrapped")
    consumer.python("arrive.py", consumer.module, TOKEN, PIN, python=python)
    return consumer.demand_module(("cbc_decrypt",), 160)


def mode(python, name):
    iv = KEY[:16]
    said = consumer.python("modes.py", consumer.module, name, KEY.hex(), iv.hex(), python=python)
    expected = consumer.openssl(f"aes-256-{name.lower()}", message=consumer.read("message")[:160000],
                                iv=iv if name != "ECB" else None)
    check(consumer.read("sealed") == expected, "openssl encrypts to something else")
    # A message in one piece and back, in pieces, and by two other keys.
    operations = (f"{name.lower()}_encrypt", f"{name.lower()}_decrypt")
    return f"{consumer.token(said)}, {consumer.demand_module(operations, 5 * 160000)}"


def interpreter():
    """The one that has python-pkcs11, which scripts/python-pkcs11 installs in a folder of its own."""
    made = subprocess.run([f"{ROOT}/scripts/python-pkcs11"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if made.returncode != 0:
        consumer.skip_all(f"scripts/python-pkcs11 failed: {made.stderr.strip()}")
    return made.stdout.strip()


consumer.write("modes.py", PROGRAM)
python = interpreter()
for name in ("ECB", "CBC"):
    consumer.result(f"python-pkcs11, AES-{name}", mode, python, name)
consumer.write("leave.py", LEAVE)
consumer.write("arrive.py", ARRIVE)
consumer.result("a key of SoftHSM moves to a token of ours", migrated, python,
                consumer.library("softhsm/libsofthsm2.so", "softhsm2"))
consumer.end()
