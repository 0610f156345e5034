# SPDX-License-Identifier: BSD-2-Clause
"""Tests Python's ssl: a server and a client in one process, over AES suites of TLS 1.2 and 1.3."""

from harness import Consumer, check

consumer = Consumer("python-ssl", limit=200, needs={"python3": "python3", "openssl": "openssl"})
SIZE = 1 << 20
# Runs in the tested interpreter; prints the version, the suite and digests of the received data.
PROGRAM = """
import hashlib, socket, ssl, sys, threading
tls13, suite, size = sys.argv[1] == "13", sys.argv[2], int(sys.argv[3])
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain("rsa.pem", "rsa.key")
client = ssl.create_default_context(cafile="rsa.pem")
for context in (server, client):
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3 if tls13 else ssl.TLSVersion.TLSv1_2
    if not tls13:
        context.set_ciphers(suite + ":@SECLEVEL=0")
message = bytes(i % 251 for i in range(size))
listener = socket.create_server(("127.0.0.1", 0))

def read(connection):
    got = b""
    while len(got) < size and (piece := connection.recv(1 << 16)):
        got += piece
    return got

def serve():
    with server.wrap_socket(listener.accept()[0], server_side=True) as connection:
        connection.sendall(read(connection)[::-1])

thread = threading.Thread(target=serve)
thread.start()
raw = socket.create_connection(listener.getsockname())
with client.wrap_socket(raw, server_hostname="localhost") as connection:
    connection.sendall(message)
    got = read(connection)
    print(connection.version(), connection.cipher()[0], hashlib.sha256(got).hexdigest(), got == message[::-1])
thread.join()
"""


def both(python, version, suite, cipher):
    said = {side: consumer.run(side, [python, "peers.py", version, suite, SIZE]).decode().split()
            for side in ("plain", "ours")}
    check(said["plain"] == said["ours"] and said["ours"][3] == "True", f"{said}")
    check(version == "13" or said["ours"][1] == suite, f"the suite was {said['ours'][1]}")
    if version == "13":
        bits = said["ours"][1].split("_")[2]
        cipher = f"AES-{bits}-GCM" if "AES" in said["ours"][1] else cipher
    # Each byte is encrypted twice and decrypted twice.
    return f"{said['ours'][1]}, " + consumer.demand(cipher, 4 * SIZE)


consumer.certificates()
consumer.write("peers.py", PROGRAM)
python = consumer.program["python3"]
consumer.say(consumer.run("plain", [python, "-c", "import ssl, sys; print(sys.version, ssl.OPENSSL_VERSION)"]).decode())
consumer.result("Python, TLS 1.3", both, python, "13", "-", "AES-256-GCM")
for suite, cipher in (("ECDHE-RSA-AES128-GCM-SHA256", "AES-128-GCM"), ("ECDHE-RSA-AES256-GCM-SHA384", "AES-256-GCM"),
                      ("ECDHE-RSA-AES128-SHA256", "AES-128-CBC"), ("ECDHE-RSA-AES256-SHA384", "AES-256-CBC"),
                      ("AES256-SHA", "AES-256-CBC"), ("AES128-CCM", "AES-128-CCM"), ("AES256-CCM8", "AES-256-CCM")):
    consumer.result(f"Python, TLS 1.2, {suite}", both, python, "12", suite, cipher)
consumer.end()
