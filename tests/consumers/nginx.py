# SPDX-License-Identifier: BSD-2-Clause
"""Tests nginx with curl and h2load: files arrive intact, by every AES suite, over HTTP/1.1 and 2.
With --measure instead: its CPU seconds for each GB. With TENROUNDS_OPENSSL=3.5 or 4.0: a newer nginx
that scripts/fetch builds with that OpenSSL."""

import glob
import os
import re
import subprocess
import tempfile
from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Latency, Server, h2load, h2load_latencies

consumer = Consumer("nginx", limit=1900 if MEASURING else 300,
                    needs={"nginx": "nginx", "curl": "curl", "h2load": "nghttp2-client", "openssl": "openssl"})
OPENSSL = os.environ.get("TENROUNDS_OPENSSL", "")
MIB = 1 << 20
CONFIGURATION = """
daemon off;
pid nginx.{port}.pid;
error_log stderr error;
worker_processes 1;
{user}
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    keepalive_requests 1000000;
    server {{
        listen 127.0.0.1:{port} ssl http2;
        server_name localhost;
        root www;
        ssl_certificate rsa.pem;
        ssl_certificate_key rsa.key;
        ssl_protocols {protocol};
        {suite}
    }}
}}
"""


def serve(side, protocol, suite):
    port = free_port()
    directive = f"ssl_conf_command Ciphersuites {suite};" if protocol == "TLSv1.3" else f"ssl_ciphers {suite};"
    consumer.write(f"nginx.{port}.conf", CONFIGURATION.format(
        port=port, protocol=protocol, suite=directive, user="user root;" if os.geteuid() == 0 else ""))
    server = consumer.start(side, ["nginx", "-p", consumer.directory, "-c", f"nginx.{port}.conf"],
                            stdin=DEVNULL, stdout=DEVNULL, stderr=open(consumer.path("nginx.err"), "ab"))
    consumer.listening(port, server)
    return server, port


def fetch(side, port, version, suite):
    # CCM is not enabled by default.
    asked = ["--tls13-ciphers", suite] if suite.startswith("TLS_") else []
    page = consumer.run(side, ["curl", "--silent", "--show-error", "--fail", "--cacert", "rsa.pem", version, *asked,
                               f"https://localhost:{port}/page"])
    check(page == consumer.read("www/page"), "curl was given another page")


def suite(protocol, name, cipher):
    requests = 30
    for side in ("plain", "ours"):
        server, port = serve(side, protocol, name)
        for version in ("--http1.1", "--http2"):
            fetch("plain", port, version, name)
            fetch("ours", port, version, name)
        # HTTP/2 forbids CBC suites (RFC 9113, appendix A), and h2load obeys.
        used = h2load(consumer, requests, f"https://127.0.0.1:{port}/page") if "GCM" in name else None
        check(used in (None, name), f"h2load was given {used}")
        server.stop()
    # Four runs of curl, and all requests to the second server.
    return consumer.demand(cipher, (4 + 4 + (requests if used else 0)) * MIB)


class NginxGain(Gain):
    """A row, also of an nginx that was built with another OpenSSL."""

    def version(self):
        if not OPENSSL:
            return Gain.version(self)
        said = subprocess.run([consumer.program["nginx"], "-V"], stderr=subprocess.PIPE, text=True, check=True).stderr
        found = re.search(r"nginx/(\S+).*built with OpenSSL (\S+)", said, re.S)
        check(found, f"nginx -V says {said}")
        return f"{found[1]}, OpenSSL {found[2]}"

    def isolated(self):
        if not OPENSSL:
            return super().isolated()
        said = subprocess.run(["readelf", "-d", consumer.program["nginx"]], stdout=subprocess.PIPE, text=True, check=True)
        [library] = glob.glob(re.search(r"PATH.*\[(.*)\]", said.stdout)[1] + "/libcrypto.so.[34]")
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(library, f"{folder}/libcrypto.so.3")  # the name for which the tool looks first
            consumer.environment["LD_LIBRARY_PATH"] = folder
            try:
                return super().isolated()
            finally:
                del consumer.environment["LD_LIBRARY_PATH"]


class NginxLatency(Latency):
    version = NginxGain.version


def label(size):
    return f"{size >> 20} MiB" if size >= MIB else f"{size >> 10} KiB"


def measure(size, protocol, name, cipher, requests):
    """A row: responses of one size, with one worker."""
    def load_all(port):
        check(h2load(consumer, requests, f"https://127.0.0.1:{port}/page") == name, "another suite")
        return requests * size
    consumer.write("www/page", os.urandom(size))
    workload = f"{label(size)} responses, {protocol.replace('TLSv', 'TLS ')}, {cipher}, HTTP/2"
    NginxGain(consumer, "nginx", workload, cipher, "nginx", call=min(size, 16384)).result(
        Server(lambda side: serve(side, protocol, name), load_all, renewed=True))


def latency(size, requests):
    consumer.write("www/page", os.urandom(size))
    NginxLatency(consumer, "nginx", f"{label(size)} responses, TLS 1.3, AES-128-GCM, HTTP/2", "AES-128-GCM", "nginx",
                 call=size).result(Server(
                     lambda side: serve(side, "TLSv1.3", "TLS_AES_128_GCM_SHA256"),
                     lambda port: h2load_latencies(consumer, "--requests", requests, f"https://127.0.0.1:{port}/page")))


os.mkdir(consumer.path("www"))
consumer.write("www/page", os.urandom(MIB))
consumer.certificates()
if OPENSSL:
    consumer.program["nginx"] = consumer.fetched(f"nginx-{OPENSSL}")
if MEASURING:
    for size, requests in ((MIB, 400), (16384, 8000), (1024, 16000)):
        measure(size, "TLSv1.3", "TLS_AES_128_GCM_SHA256", "AES-128-GCM", requests)
    for size, requests in ((MIB, 400), (16384, 8000), (1024, 16000)):
        measure(size, "TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384", "AES-256-GCM", requests)
    for size, requests in ((1024, 8000), (16384, 8000), (MIB, 400)):
        latency(size, requests)
else:
    for name in ("128_GCM_SHA256", "256_GCM_SHA384", "128_CCM_SHA256"):
        cipher = "-".join(["AES", *name.split("_")[:2]])
        consumer.result(f"TLS 1.3, {name}", suite, "TLSv1.3", f"TLS_AES_{name}", cipher)
    for name, cipher in (("ECDHE-RSA-AES128-GCM-SHA256", "AES-128-GCM"), ("ECDHE-RSA-AES256-GCM-SHA384", "AES-256-GCM"),
                         ("ECDHE-RSA-AES128-SHA", "AES-128-CBC"), ("ECDHE-RSA-AES256-SHA384", "AES-256-CBC")):
        consumer.result(f"TLS 1.2, {name}", suite, "TLSv1.2", name, cipher)
consumer.end()
