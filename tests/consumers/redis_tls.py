# SPDX-License-Identifier: BSD-2-Clause
"""Tests Redis over TLS. With --measure: the server's CPU seconds for each GB."""

from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Server

consumer = Consumer("redis", limit=900 if MEASURING else 120, needs={
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


consumer.certificates()
for size, operation, requests in ((1 << 20, "get", 400), (1 << 20, "set", 400), (16384, "get", 10000)):
    label = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
    Gain(consumer, "Redis", f"{operation.upper()} {label}, TLS 1.3, AES-256-GCM", "AES-256-GCM", "redis-server",
         direction="encrypt" if operation == "get" else "decrypt").result(
        Server(serve(size), load(size, operation, requests if MEASURING else requests // 50)))
consumer.end()
