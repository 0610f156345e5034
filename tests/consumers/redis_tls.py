# SPDX-License-Identifier: BSD-2-Clause
"""Tests Redis over TLS. With --measure: the server's CPU seconds for each GB."""

import socket
import ssl
import time
from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Latency, Server

consumer = Consumer("redis", limit=1900 if MEASURING else 120, needs={
    "redis-server": "redis-server", "redis-benchmark": "redis-tools", "redis-cli": "redis-tools", "openssl": "openssl"})


def tls(port):
    return ["--tls", "--cacert", "rsa.pem", "-h", "127.0.0.1", "-p", port]


def serve(size):
    def start(side):
        port = free_port()
        server = consumer.start(side, [
            "redis-server", "--port", 0, "--tls-port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--tls-cert-file", "rsa.pem", "--tls-key-file", "rsa.key", "--tls-ca-cert-file", "rsa.pem",
            "--tls-auth-clients", "no", "--dir", consumer.directory], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        consumer.listening(port, server)
        value = b"v" * size
        consumer.run("plain", ["redis-cli", *tls(port), "-x", "set", "key:__rand_int__"], input=value)
        check(consumer.run("plain", ["redis-cli", *tls(port), "strlen", "key:__rand_int__"]).strip() == b"%d" % size,
              "another length")
        return server, port
    return start


def load(size, operation, requests):
    def run(port):
        said = consumer.run("plain", ["redis-benchmark", *tls(port), "-q", "-n", requests, "-c", 4, "-d", size, "-t",
                                      operation], limit=200)
        check(b"requests per second" in said, said.decode())
        return size * requests
    return run


def latencies(operation, size, requests):
    """The microseconds of requests on one connection, which Python's ssl makes."""
    line = {"get": b"*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n",
            "set": b"*3\r\n$3\r\nSET\r\n$16\r\nkey:__rand_int__\r\n$%d\r\n%s\r\n" % (size, b"v" * size)}[operation]
    answer = len(b"$%d\r\n\r\n" % size) + size if operation == "get" else len(b"+OK\r\n")

    def run(port):
        context = ssl.create_default_context(cafile=consumer.path("rsa.pem"))
        room, took = bytearray(answer), []
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with context.wrap_socket(raw, server_hostname="localhost") as connection:
                for _ in range(requests):
                    begin, got = time.perf_counter_ns(), 0
                    connection.sendall(line)
                    while got < answer:
                        got += connection.recv_into(memoryview(room)[got:])
                    took.append((time.perf_counter_ns() - begin) / 1000)
        check(room[:1] in b"$+", f"Redis answers {bytes(room[:80])}")
        return took
    return run


consumer.certificates()
for size, operation, requests in ((1 << 20, "get", 400), (1 << 20, "set", 400), (16384, "get", 10000), (1024, "get", 20000)):
    label = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
    Gain(consumer, "Redis", f"{operation.upper()} {label}, TLS 1.3, AES-256-GCM", "AES-256-GCM", "redis-server",
         direction="encrypt" if operation == "get" else "decrypt", call=min(size, 16384)).result(
        Server(serve(size), load(size, operation, requests if MEASURING else requests // 50), renewed=True))
    Latency(consumer, "Redis", f"{operation.upper()} {label}, TLS 1.3, AES-256-GCM", "AES-256-GCM", "redis-server",
            call=size).result(Server(serve(size), latencies(operation, size, requests)))
consumer.end()
