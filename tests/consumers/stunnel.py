# SPDX-License-Identifier: BSD-2-Clause
"""Tests stunnel, whose query `provider!=fips` names a provider. With --measure: its CPU seconds for
each GB."""

import socket
import ssl
import threading
from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Server

consumer = Consumer("stunnel", limit=900 if MEASURING else 120, needs={"stunnel4": "stunnel4", "openssl": "openssl"})
SIZE = (512 << 20) if MEASURING else (8 << 20)
CONFIGURATION = """
foreground = quiet
pid =
[source]
accept = 127.0.0.1:{port}
connect = 127.0.0.1:{source}
cert = {directory}/rsa.pem
key = {directory}/rsa.key
"""


def source(listener):
    """Sends SIZE bytes to each connection."""
    piece = bytes(1 << 20)
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            for _ in range(SIZE >> 20):
                connection.sendall(piece)


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=source, args=(listener,), daemon=True).start()


def serve(side):
    port = free_port()
    consumer.write(f"stunnel.{port}.conf", CONFIGURATION.format(
        port=port, source=listener.getsockname()[1], directory=consumer.directory))
    server = consumer.start(side, ["stunnel4", f"stunnel.{port}.conf"], stdin=DEVNULL, stdout=DEVNULL,
                            stderr=open(consumer.path("stunnel.err"), "wb"))
    consumer.listening(port, server)
    return server, port


def load(port):
    context = ssl.create_default_context(cafile=consumer.path("rsa.pem"))
    got, room = 0, bytearray(1 << 18)
    with socket.create_connection(("127.0.0.1", port)) as raw, \
            context.wrap_socket(raw, server_hostname="localhost") as connection:
        check("AES_256_GCM" in connection.cipher()[0], f"{connection.cipher()}")
        while got < SIZE:
            read = connection.recv_into(room)
            check(read, f"the connection ended after {got} bytes")
            got += read
    return got


consumer.certificates()
Gain(consumer, "stunnel", "TLS 1.3, AES-256-GCM, one stream", "AES-256-GCM", "stunnel4").result(Server(serve, load, renewed=True))
consumer.end()
