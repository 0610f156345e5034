# SPDX-License-Identifier: BSD-2-Clause
"""Tests NSS: modutil adds the module to a private database and lists it, symkeyutil asks for its
keys, and NSS's library encrypts with a key that it imports."""

from harness_pkcs11 import KEY, NONCE, ModuleConsumer, check

consumer = ModuleConsumer("nss", limit=120, needs={"modutil": "libnss3-tools", "certutil": "libnss3-tools"})
library = consumer.library("libnss3.so", "libnss3")
# Runs in a process of its own: NSS's library by its C interface (nss/pk11pub.h).
PROGRAM = """
import ctypes, sys
from ctypes import byref, c_char_p, c_int, c_uint, c_ulong, c_void_p

class Item(ctypes.Structure):
    _fields_ = [("type", c_int), ("data", c_char_p), ("len", c_uint)]

CKM_AES_CBC, CKA_ENCRYPT, UNWRAPPED = 0x1082, 0x104, 4
nss = ctypes.CDLL(sys.argv[1])
for name in ("PK11_FindSlotByName", "PK11_ImportSymKey", "PK11_GetSlotFromKey"):
    getattr(nss, name).restype = c_void_p
nss.PK11_GetTokenName.restype = c_char_p

def good(status, what):
    if status != 0:
        sys.exit(f"{what} failed: {nss.PR_GetError() if hasattr(nss, 'PR_GetError') else status}")

good(nss.NSS_Init(sys.argv[2].encode()), "NSS_Init")
slot = c_void_p(nss.PK11_FindSlotByName(sys.argv[3].encode()))
if not slot:
    sys.exit("NSS finds no such token")
secret, iv = bytes.fromhex(sys.argv[4]), bytes.fromhex(sys.argv[5])
key = nss.PK11_ImportSymKey(slot, c_ulong(CKM_AES_CBC), UNWRAPPED, c_ulong(CKA_ENCRYPT),
                            byref(Item(0, secret, len(secret))), None)
if not key:
    sys.exit("NSS has no key")
print(nss.PK11_GetTokenName(c_void_p(nss.PK11_GetSlotFromKey(c_void_p(key)))).decode())
text = open("message", "rb").read()[:160000]
out, done = ctypes.create_string_buffer(len(text)), c_uint()
good(nss.PK11_Encrypt(c_void_p(key), c_ulong(CKM_AES_CBC), byref(Item(0, iv, len(iv))), out, byref(done), len(text),
                      text, len(text)), "PK11_Encrypt")
open("sealed", "wb").write(out.raw[:done.value])
"""
DATABASE = "sql:" + consumer.path("database")


def modutil(*words):
    return consumer.run("ours", ["modutil", "-dbdir", DATABASE, *words], input=b"\n")


def added():
    modutil("-force", "-add", "tenrounds", "-libfile", consumer.module)
    said = modutil("-list", "tenrounds").decode()
    check("Token Name: tenrounds" in said, said)
    return f"{consumer.token(said.encode())}, {consumer.demand_module()}"


def keys():
    consumer.run("ours", ["symkeyutil", "-L", "-d", DATABASE, "-h", "tenrounds"], input=b"\n")
    return consumer.demand_module()


def encrypts():
    iv = NONCE + bytes(4)
    said = consumer.python("nss.py", library, DATABASE, "tenrounds", KEY.hex(), iv.hex())
    check(said == b"tenrounds\n", f"the key is in another slot: {said.decode()}")
    expected = consumer.openssl("aes-256-cbc", message=consumer.read("message")[:160000], iv=iv)
    check(consumer.read("sealed") == expected, "openssl encrypts to something else")
    return consumer.demand_module(("cbc_encrypt",), len(expected))


def removed():
    modutil("-force", "-delete", "tenrounds")
    check(b"Token: tenrounds" not in modutil("-list"), "it is still listed")


consumer.write("nss.py", PROGRAM)
consumer.run("plain", ["mkdir", "database"])
consumer.run("plain", ["certutil", "-N", "-d", DATABASE, "--empty-password"])
consumer.result("modutil -add and -list", added)
consumer.result("symkeyutil -L", keys)
consumer.result("NSS encrypts by AES-256-CBC with a key that it imports", encrypts)
consumer.result("modutil -delete", removed)
consumer.end()
