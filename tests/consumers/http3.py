# SPDX-License-Identifier: BSD-2-Clause
"""Tests Debian 13's nginx by HTTP/3 (QUIC), with ngtcp2's client on GnuTLS: pages arrive intact.
With --measure: nginx's CPU seconds for each GB. nginx protects its packets through libcrypto, each
with one call of GCM and, for its header, one of CTR. Loopback has the MTU of Ethernet, in a network
namespace, because packets would have up to 64 KiB otherwise."""

import os
import re
import subprocess
import sys
from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Server

if "OWN_NETWORK" not in os.environ:
    own = ["unshare", "--net", *(["--map-root-user"] if os.geteuid() else [])]
    if subprocess.run([*own, "true"], stderr=DEVNULL).returncode == 0:
        os.execvpe(own[0], [*own, sys.executable, *sys.argv], {**os.environ, "OWN_NETWORK": "yes"})
consumer = Consumer("http3", limit=600 if MEASURING else 120, needs={
    "openssl": "openssl", "unshare": "util-linux", "ip": "iproute2"})
if "OWN_NETWORK" not in os.environ:
    consumer.skip_all("no network namespace for loopback with the MTU of Ethernet", refused=True)
consumer.run("plain", ["ip", "link", "set", "lo", "mtu", 1500, "up"])
FOLDER = consumer.fetched("http3")
consumer.program.update({name: f"{FOLDER}/{name}" for name in ("nginx", "gtlsclient")})
SIZE, PAGES, CIPHER = 1 << 20, 32, "AES-128-GCM"
CONFIGURATION = """
daemon off;
pid nginx.{port}.pid;
error_log stderr error;
worker_processes 1;
user root;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port} quic;
        listen 127.0.0.1:{port} ssl;
        root www;
        ssl_certificate rsa.pem;
        ssl_certificate_key rsa.key;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
    }}
}}
"""


def serve(side):
    port = free_port()
    consumer.write(f"nginx.{port}.conf", CONFIGURATION.format(port=port))
    server = consumer.start(side, ["nginx", "-p", consumer.directory, "-c", f"nginx.{port}.conf"],
                            stdin=DEVNULL, stdout=DEVNULL, stderr=open(consumer.path("nginx.err"), "ab"))
    consumer.listening(port, server)
    return server, port


def pull(port):
    """Reads all pages by one connection. No more is under way than the client's socket can hold, so
    that no packet is lost."""
    consumer.run("plain", ["gtlsclient", "--quiet", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close",
                           "--max-data=64K", f"--download={consumer.path('got')}", "127.0.0.1", port,
                           *(f"https://localhost:{port}/{page}" for page in range(PAGES))], limit=120)
    for page in range(PAGES):
        check(consumer.read(f"got/{page}") == TEXT, f"the client was given another page {page}")
        os.remove(consumer.path(f"got/{page}"))
    return PAGES * SIZE


class Http3Gain(Gain):
    def version(self):
        said = subprocess.run([consumer.program["nginx"], "-V"], stderr=subprocess.PIPE, text=True, check=True).stderr
        return re.search(r"nginx/(\S+)", said)[1] + ", " + re.findall(r"OpenSSL \S+", said)[-1]

    def isolated(self):
        return None  # `tenrounds bench` cannot load a libcrypto that needs a newer C library


TEXT = os.urandom(SIZE)
for folder in ("www", "got"):
    os.mkdir(consumer.path(folder))
for page in range(PAGES):
    consumer.write(f"www/{page}", TEXT)
consumer.certificates()
Http3Gain(consumer, "nginx", f"1 MiB responses, HTTP/3, {CIPHER}", CIPHER, "nginx").result(
    Server(serve, pull, renewed=True))
consumer.end()
