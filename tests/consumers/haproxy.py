# SPDX-License-Identifier: BSD-2-Clause
"""Tests HAProxy, which ends TLS and answers by itself. With --measure: its CPU seconds for each GB."""

import os
import re
from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Server

consumer = Consumer("haproxy", limit=900 if MEASURING else 120, needs={
    "haproxy": "haproxy", "h2load": "nghttp2-client", "openssl": "openssl"})
CONFIGURATION = """
global
    nbthread 1
    tune.bufsize {buffer}
    ssl-default-bind-options no-tls-tickets
defaults
    mode http
    timeout client 30s
    timeout connect 30s
    timeout server 30s
frontend tls
    bind 127.0.0.1:{port} ssl crt {directory}/both.pem alpn http/1.1 {version}
    http-request return status 200 content-type text/plain file {directory}/page-{size}
"""


def serve(size, version):
    def start(side):
        port = free_port()
        consumer.write(f"haproxy.{port}.cfg", CONFIGURATION.format(port=port, directory=consumer.directory, size=size,
                                                                   version=version, buffer=size + 65536))
        server = consumer.start(side, ["haproxy", "-db", "-f", f"haproxy.{port}.cfg"], stdin=DEVNULL, stdout=DEVNULL,
                                stderr=open(consumer.path("haproxy.err"), "ab"))
        consumer.listening(port, server)
        return server, port
    return start


def load(size, requests):
    def run(port):
        said = consumer.run("plain", ["h2load", "--h1", "-n", requests, "-c", 4, "-t", 1, f"https://127.0.0.1:{port}/"],
                            limit=120).decode()
        done = re.search(r"requests: .* (\d+) succeeded, 0 failed, 0 errored", said)
        check(done and int(done.group(1)) == requests, f"h2load: {said}")
        return size * requests
    return run


consumer.certificates()
consumer.write("both.pem", consumer.read("rsa.pem") + consumer.read("rsa.key"))
for size, times in ((1 << 20, 400), (16384, 8000)):
    consumer.write(f"page-{size}", os.urandom(size))
    for version, cipher, options in (
            ("TLS 1.3", "AES-256-GCM", "ssl-min-ver TLSv1.3 ciphersuites TLS_AES_256_GCM_SHA384"),
            ("TLS 1.2", "AES-128-GCM", "ssl-max-ver TLSv1.2 ciphers ECDHE-RSA-AES128-GCM-SHA256")):
        label = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
        requests = times if MEASURING else max(4, times // 100)
        Gain(consumer, "HAProxy", f"{label} responses, {version}, {cipher}", cipher, "haproxy").result(
            Server(serve(size, options), load(size, requests)))
consumer.end()
