# SPDX-License-Identifier: BSD-2-Clause
"""Tests TLS 1.2 with a password (SRP, RFC 5054): every AES suite of libssl. Both ends use
Python's ctypes. The openssl command of 3.0 cannot be used, with or without tenrounds: s_client
crashes and s_server loses the user's name, because their callbacks get dangling pointers."""

import re
import subprocess

from harness import PATIENCE, Consumer, check, free_port

consumer = Consumer("libssl-srp", limit=300, needs={"python3": "python3", "openssl": "openssl"})
SIDES = (("plain", "plain"), ("ours", "ours"), ("ours", "plain"), ("plain", "ours"))
SIZE = 100000
# The client sends its input, the server returns it reversed. The numbers are from ssl.h and ssl3.h.
PEER = """
import ctypes, ctypes.util, socket, sys
role, port, suite, kind, no_etm, password, size = sys.argv[1:]
port, size, password = int(port), int(size), password.encode()
libssl = ctypes.CDLL(ctypes.util.find_library("ssl"))
P, S, I, L, U = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_uint64
PEM, SET_MAX_PROTO_VERSION, TLS1_2, NO_ENCRYPT_THEN_MAC, FATAL = 1, 124, 0x303, 1 << 19, 2


def call(name, result, *typed):
    function = getattr(libssl, name)
    function.restype, function.argtypes = result, [kind for kind, _ in typed]
    got = function(*(value for _, value in typed))
    if not got or (result != P and result != S and got < 0):
        sys.exit(f"{name} gave {got}")
    return got


@ctypes.CFUNCTYPE(I, P, P, P)
def on_user(connection, alert, unused):
    if call("SSL_get_srp_username", S, (P, connection)) != b"user":
        return FATAL
    call("SSL_set_srp_server_param_pw", I, (P, connection), (S, b"user"), (S, password), (S, b"2048"))
    return 0


context = call("SSL_CTX_new", P, (P, call(f"TLS_{role}_method", P)))
call("SSL_CTX_ctrl", L, (P, context), (I, SET_MAX_PROTO_VERSION), (L, TLS1_2), (P, None))
call("SSL_CTX_set_cipher_list", I, (P, context), (S, f"{suite}:@SECLEVEL=0".encode()))
if no_etm == "no_etm":
    call("SSL_CTX_set_options", U, (P, context), (U, NO_ENCRYPT_THEN_MAC))
if role == "server":
    call("SSL_CTX_use_certificate_file", I, (P, context), (S, f"{kind}.pem".encode()), (I, PEM))
    call("SSL_CTX_use_PrivateKey_file", I, (P, context), (S, f"{kind}.key".encode()), (I, PEM))
    call("SSL_CTX_set_srp_username_callback", I, (P, context), (P, ctypes.cast(on_user, P)))
    peer = socket.create_server(("127.0.0.1", port)).accept()[0]
else:
    call("SSL_CTX_set_srp_username", I, (P, context), (S, b"user"))
    call("SSL_CTX_set_srp_password", I, (P, context), (S, password))
    peer = socket.create_connection(("127.0.0.1", port))
connection = call("SSL_new", P, (P, context))
call("SSL_set_fd", I, (P, connection), (I, peer.fileno()))
call("SSL_accept" if role == "server" else "SSL_connect", I, (P, connection))
print(call("SSL_CIPHER_get_name", S, (P, call("SSL_get_current_cipher", P, (P, connection)))).decode(), file=sys.stderr)
room = ctypes.create_string_buffer(1 << 14)


def read():
    got = b""
    while len(got) < size:
        n = call("SSL_read", I, (P, connection), (P, ctypes.addressof(room)), (I, len(room)))
        got += room.raw[:n]
    return got


def write(message):
    call("SSL_write", I, (P, connection), (S, message), (I, size))


if role == "server":
    write(read()[::-1])
else:
    write(sys.stdin.buffer.read())
    sys.stdout.buffer.write(read())
"""


def suites():
    said = consumer.run("plain", ["openssl", "ciphers", "-v", "-s", "-srp", "-tls1_2", "SRP+AES:@SECLEVEL=0"]).decode()
    return re.findall(r"^(SRP-\S+) +\S+ +Kx=SRP +Au=(\S+) +Enc=AES\((\d+)\) +Mac=SHA1", said, re.M)


def connect(server_side, client_side, name, kind, etm, password):
    """Returns the client's exit status, the data it received, and the output of both."""
    port = free_port()
    words = [port, name, kind, "etm" if etm else "no_etm"]
    server = consumer.start(server_side, ["python3", "peer.py", "server", *words, "secret", SIZE],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    consumer.listening(port, server)
    client = consumer.start(client_side, ["python3", "peer.py", "client", *words, password, SIZE],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got, by_client = client.communicate(consumer.read("message"), 30 * PATIENCE)
    _, by_server = server.communicate(timeout=30 * PATIENCE)
    return client.returncode, got, [by_client.decode(), by_server.decode()]


def one_suite(name, kind, bits, etm):
    for server_side, client_side in SIDES:
        consumer.counts = []
        status, got, said = connect(server_side, client_side, name, kind, etm, "secret")
        check(status == 0 and got == consumer.read("message")[::-1], f"{len(got)} bytes came back, status {status}; {said}")
        check(all(name in text for text in said), f"another suite was used: {said}")
        ours = (server_side == "ours") + (client_side == "ours")
        cipher = f"AES-{bits}-CBC" if etm else f"AES-{bits}-CBC-HMAC-SHA1"
        note = consumer.demand(cipher, 2 * SIZE, ours) if ours else ""
    return note


def wrong_password(name):
    status, got, said = connect("ours", "ours", name, "rsa", True, "wrong")
    check(status != 0 and got == b"", f"{len(got)} bytes came back, status {status}; {said}")


found = suites()
if not found:
    consumer.skip_all("this libssl was built without SRP")
consumer.write("message", bytes(i * 167 % 251 for i in range(SIZE)))
consumer.write("peer.py", PEER)
consumer.certificates(("rsa", "dsa"))
for name, authentication, bits in found:
    kind = "dsa" if authentication == "DSS" else "rsa"
    consumer.result(f"TLS 1.2, {name}", one_suite, name, kind, bits, True)
    consumer.result(f"TLS 1.2, {name}, without encrypt-then-mac", one_suite, name, kind, bits, False)
consumer.result("a wrong password", wrong_password, "SRP-AES-256-CBC-SHA")
consumer.end()
