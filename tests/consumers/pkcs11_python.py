# SPDX-License-Identifier: BSD-2-Clause
"""Tests python-pkcs11 in every mode that it has for AES, and the keys it makes and wraps. As
docs/pkcs11.md shows it, a token of SoftHSM keeps the master key of data that our module encrypts."""

from harness_pkcs11 import KEY, PIN, ModuleConsumer, check

consumer = ModuleConsumer("python-pkcs11", limit=120, needs={"python3": "python3", "softhsm2-util": "softhsm2"})
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


# The token makes a master key and a data key, and wraps this one.
MAKE = """
import sys
import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism

token = pkcs11.lib(sys.argv[1]).get_token(token_label="keys")
with token.open(rw=True, user_pin=sys.argv[2]) as session:
    master = session.generate_key(KeyType.AES, 256, label="master", store=True, template={
        Attribute.WRAP: True, Attribute.UNWRAP: True})
    data = session.generate_key(KeyType.AES, 256, template={Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: True})
    open("data.wrapped", "wb").write(master.wrap_key(data, mechanism=Mechanism.AES_KEY_WRAP))
    open("sealed", "wb").write(data.encrypt(bytes(160), mechanism=Mechanism.AES_CBC, mechanism_param=bytes(16)))
"""
# The data key goes from the token to our module under a transport key that both get.
USE = """
import secrets
import sys
import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism, ObjectClass

def transport(session, use):
    return session.create_object({Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.KEY_TYPE: KeyType.AES,
                                  Attribute.VALUE: value, use: True})

value = secrets.token_bytes(32)
token = pkcs11.lib(sys.argv[1]).get_token(token_label="keys")
with token.open(user_pin=sys.argv[2]) as session:
    master = session.get_key(label="master", key_type=KeyType.AES)
    data = master.unwrap_key(ObjectClass.SECRET_KEY, KeyType.AES, open("data.wrapped", "rb").read(),
                             mechanism=Mechanism.AES_KEY_WRAP, template={Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: True})
    wrapped = transport(session, Attribute.WRAP).wrap_key(data, mechanism=Mechanism.AES_KEY_WRAP)
ours = pkcs11.lib(sys.argv[3]).get_token(token_label="tenrounds")
with ours.open() as session:
    data = transport(session, Attribute.UNWRAP).unwrap_key(
        ObjectClass.SECRET_KEY, KeyType.AES, wrapped, mechanism=Mechanism.AES_KEY_WRAP,
        template={Attribute.EXTRACTABLE: False, Attribute.SENSITIVE: True, Attribute.DECRYPT: True})
    text = data.decrypt(open("sealed", "rb").read(), mechanism=Mechanism.AES_CBC, mechanism_param=bytes(16))
    assert text == bytes(160)
    try:
        data[Attribute.VALUE]
        sys.exit("the data key can be read")
    except pkcs11.AttributeSensitive:
        pass
"""


def with_token(python, softhsm):
    consumer.make_softhsm_token("keys")
    consumer.run("plain", [python, "make.py", softhsm, PIN])
    consumer.python("use.py", softhsm, PIN, consumer.module, python=python)
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


consumer.write("modes.py", PROGRAM)
python = consumer.fetched("python-pkcs11")
for name in ("ECB", "CBC"):
    consumer.result(f"python-pkcs11, AES-{name}", mode, python, name)
consumer.write("make.py", MAKE)
consumer.write("use.py", USE)
consumer.result("a token of SoftHSM keeps the master key of our data", with_token, python,
                consumer.library("softhsm/libsofthsm2.so", "softhsm2"))
consumer.end()
