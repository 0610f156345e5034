# SPDX-License-Identifier: BSD-2-Clause
"""Tests HAProxy, which ends TLS and answers by itself. With --measure: its CPU seconds for each GB."""

import os
from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Latency, Server, h2load, h2load_latencies

consumer = Consumer("haproxy", limit=1900 if MEASURING else 120, needs={
    "haproxy": "haproxy", "h2load": "nghttp2-client", "openssl": "openssl"})
CONFIGURATION = """
global
    nbthread 1
    tune.bufsize {buffer}
    ssl-default-bind-options no-tls-tickets
defaults
    mode http
    timeout client 300s
    timeout connect 300s
    timeout server 300s
frontend tls
    bind 127.0.0.1:{port} ssl crt {directory}/both.pem alpn {alpn} {version}
    http-request return status 200 content-type text/plain file {directory}/page-{size}
"""
PROTOCOL = {"http/1.1": ["--h1"], "h2": []}


def serve(size, version, alpn):
    def start(side):
        port = free_port()
        consumer.write(f"haproxy.{port}.cfg", CONFIGURATION.format(port=port, directory=consumer.directory, size=size,
                                                                   version=version, alpn=alpn,
                                                                   buffer=size + 65536))
        server = consumer.start(side, ["haproxy", "-db", "-f", f"haproxy.{port}.cfg"], stdin=DEVNULL, stdout=DEVNULL,
                                stderr=open(consumer.path("haproxy.err"), "ab"))
        consumer.listening(port, server)
        return server, port
    return start


def load(size, requests, alpn, options):
    def run(port):
        used = h2load(consumer, requests, *PROTOCOL[alpn], f"https://127.0.0.1:{port}/")
        check(used == options.split()[-1], f"the cipher suite is {used}, but HAProxy has the options '{options}'")
        return size * requests
    return run


consumer.certificates()
consumer.write("both.pem", consumer.read("rsa.pem") + consumer.read("rsa.key"))
TLS13 = "ssl-min-ver TLSv1.3 ciphersuites TLS_AES_256_GCM_SHA384"
for size, times in ((1 << 20, 400), (16384, 8000), (1024, 16000)):
    consumer.write(f"page-{size}", os.urandom(size))
    label = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
    for version, cipher, alpn, options in (
            ("TLS 1.3", "AES-256-GCM", "http/1.1", TLS13), ("TLS 1.3", "AES-256-GCM", "h2", TLS13),
            ("TLS 1.2", "AES-128-GCM", "http/1.1", "ssl-max-ver TLSv1.2 ciphers ECDHE-RSA-AES128-GCM-SHA256")):
        requests = times if MEASURING else max(4, times // 100)
        Gain(consumer, "HAProxy", f"{label} responses, {version}, {cipher}" + (", HTTP/2" if alpn == "h2" else ""),
             cipher, "haproxy", call=min(size, 16384)).result(
            Server(serve(size, options, alpn), load(size, requests, alpn, options), renewed=True))
    Latency(consumer, "HAProxy", f"{label} responses, TLS 1.3, AES-256-GCM", "AES-256-GCM", "haproxy", call=size).result(
        Server(serve(size, TLS13, "http/1.1"), lambda port, times=times: h2load_latencies(
            consumer, "--h1", "--requests", times // 2, f"https://127.0.0.1:{port}/")))
consumer.end()
