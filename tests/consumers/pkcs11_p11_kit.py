# SPDX-License-Identifier: BSD-2-Clause
"""Tests p11-kit: it finds the module by the file that the packages install, in a private folder of
configurations, and its server passes calls of another process to the module.

Without the list of programs, that file shows it to every program.

p11-kit 0.24 passes only mechanisms without parameters to another process.
"""

import os
import signal
import subprocess
import sys

from harness_pkcs11 import KEY, ModuleConsumer, check

consumer = ModuleConsumer("p11-kit", limit=120, needs={"p11-kit": "p11-kit", "p11tool": "gnutls-bin",
                                                       "pkcs11-tool": "opensc"})
client = consumer.library("pkcs11/p11-kit-client.so", "p11-kit-modules")
proxy = consumer.library("p11-kit-proxy.so", "p11-kit")
# Runs in the client's process. Prints the ciphertext; ECB has no parameter.
PROGRAM = """
import ctypes, sys
from ctypes import byref, c_char, c_ulong, c_void_p, sizeof

class Attribute(ctypes.Structure):
    _fields_ = [("type", c_ulong), ("value", c_void_p), ("len", c_ulong)]

class Mechanism(ctypes.Structure):
    _fields_ = [("mechanism", c_ulong), ("parameter", c_void_p), ("len", c_ulong)]

kept = []  # what pointers point to
library = ctypes.CDLL(sys.argv[1])
table = c_void_p()
library.C_GetFunctionList(byref(table))
# CK_FUNCTION_LIST: a version, padded to a pointer, and the functions in the order of the standard.
ORDER = {"C_Initialize": 0, "C_GetSlotList": 4, "C_OpenSession": 12, "C_CreateObject": 20, "C_EncryptInit": 29,
         "C_Encrypt": 30, "C_Finalize": 1}

def call(name, *arguments):
    address = c_void_p.from_address(table.value + sizeof(c_void_p) * (1 + ORDER[name])).value
    status = ctypes.CFUNCTYPE(c_ulong)(address)(*arguments)
    if status:
        sys.exit(f"{name}: 0x{status:x}")

def attribute(kind, value):
    kept.append(value)
    return Attribute(kind, ctypes.cast(byref(value), c_void_p), sizeof(value))

call("C_Initialize", None)
slots, count = (c_ulong * 8)(), c_ulong(8)
call("C_GetSlotList", ctypes.c_ubyte(1), slots, byref(count))
session = c_ulong()
call("C_OpenSession", c_ulong(slots[0]), c_ulong(4), None, None, byref(session))
key = c_ulong()
secret = (c_char * 32).from_buffer_copy(bytes.fromhex(sys.argv[2]))
template = (Attribute * 3)(attribute(0, c_ulong(4)), attribute(0x100, c_ulong(0x1f)), attribute(0x11, secret))
call("C_CreateObject", session, template, c_ulong(3), byref(key))
call("C_EncryptInit", session, byref(Mechanism(0x1081, None, 0)), key)
text = open("message", "rb").read()[:16000]
out, done = ctypes.create_string_buffer(len(text)), c_ulong(len(text))
call("C_Encrypt", session, text, c_ulong(len(text)), out, byref(done))
sys.stdout.buffer.write(out.raw[:done.value])
call("C_Finalize", None)
"""


def configure(name="tenrounds", left_out="#"):
    """The user's own file, as docs/pkcs11.md shows it: that of the package with this path, without some lines."""
    with open(os.path.join(consumer.dist, "share", "p11-kit", "modules", "tenrounds.module")) as file:
        lines = [line for line in file if not line.startswith(left_out)]
    folder = consumer.path(".config/pkcs11/modules")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}.module")
    with open(path, "w") as file:
        file.write("".join(lines).replace("module: tenrounds-pkcs11.so", f"module: {consumer.module}"))
    return path


def listed(*program):
    said = consumer.run("ours", program)
    return f"{consumer.token(said)}, {consumer.demand_module()}"


def not_asked_for():
    said = consumer.run("plain", ["pkcs11-tool", "--module", proxy, "--list-slots"], good=(0, 1)).decode()
    check("Available slots" in said and "tenrounds" not in said, f"a program that names no module sees it: {said}")


def for_every_program():
    enabled = configure("tenrounds-enabled", "enable-in")
    said = consumer.run("ours", ["pkcs11-tool", "--module", proxy, "--list-slots"]).decode()
    check("tenrounds" in said, f"a program that names no module does not see it: {said}")
    loaded = consumer.demand_module()
    os.remove(enabled)
    not_asked_for()
    return loaded


def remote():
    """The server is the process that loads the module, so it is the one that counts."""
    socket = consumer.path("socket")
    server = consumer.start("ours", ["/usr/libexec/p11-kit/p11-kit-server", "--foreground", "--provider",
                                     consumer.module, "--name", socket, "pkcs11:token=tenrounds"], stdout=subprocess.DEVNULL)
    consumer.accepting(socket, server)
    environment = dict(consumer.environment, P11_KIT_SERVER_ADDRESS=f"unix:path={socket}")
    consumer.token(consumer.run("plain", ["pkcs11-tool", "--module", client, "--list-slots"], env=environment))
    sealed = consumer.run("plain", [sys.executable, "remote.py", client, KEY.hex()], env=environment)
    expected = consumer.openssl("aes-256-ecb", message=consumer.read("message")[:16000])
    check(sealed == expected, "openssl encrypts to something else")
    server.stop(signal.SIGTERM)
    return consumer.demand_module(("ecb_encrypt",), len(expected))


consumer.write("remote.py", PROGRAM)
configure()
consumer.as_user("nobody")  # p11-kit ignores the files of the user root
consumer.result("p11-kit list-modules", listed, "p11-kit", "list-modules")
consumer.result("p11tool --list-tokens, through p11-kit", listed, "p11tool", "--batch", "--list-tokens")
consumer.result("p11-kit-proxy does not load it into other programs", not_asked_for)
consumer.result("without the list of programs, p11-kit-proxy loads it; not once that file is gone", for_every_program)
consumer.result("AES-256-ECB through p11-kit server and p11-kit-client.so", remote)
consumer.end()
