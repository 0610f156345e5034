# SPDX-License-Identifier: BSD-2-Clause
"""Measures dufs, a file server in Rust with rustls and ring: its CPU seconds for each GB. It is built
twice, which takes minutes: as its authors publish it, and with the crate of bindings/rust around
ring's provider."""

import os
import re
import shutil
import subprocess
from subprocess import DEVNULL

from harness import ROOT, Consumer, check, free_port
from harness_gains import MEASURING, SIDES, OwnGain, SymbolSampler, UncountedServer, h2load

check(MEASURING, "this script only measures: scripts/consumers --measure measured_rust")
consumer = Consumer("measured_rust", limit=2300,
                    needs={"curl": "curl", "openssl": "openssl", "h2load": "nghttp2-client"})
BUILD = f"{ROOT}/build/rust-programs"
STOCK = "ring::default_provider()"
# Without [workspace] cargo would take the source for a member of this tree.
ADDED = {"plain": "\n[workspace]\n", "ours": f"""
[dependencies.tenrounds]
path = "{ROOT}/bindings/rust"
features = ["rustls"]
"""}
# For each size its name and the number of requests.
SIZES = {1 << 20: ("1 MiB", 400), 16 << 10: ("16 KiB", 8000)}


class DufsSampler(SymbolSampler):
    names = r"ring_core_\w*(aes|gcm|ghash)|\btr_"


class DufsGain(OwnGain):
    sampler = DufsSampler


def build(side, *options):
    with open(f"{BUILD}/source/Cargo.toml", "a") as file:
        file.write(ADDED[side])
    subprocess.run([f"{ROOT}/scripts/cargo", "build", "--quiet", "--release", "--bin", "dufs", "--target-dir", f"{BUILD}/target",
                    "--config", "profile.release.strip=false", *options], cwd=f"{BUILD}/source", check=True)
    shutil.copy(f"{BUILD}/target/release/dufs", f"{BUILD}/dufs-{side}")


def build_both():
    """Returns the version of dufs. Its lock file pins all crates of the first build."""
    source = f"{BUILD}/source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(consumer.fetched("dufs"), source)
    build("plain", "--locked")
    with open(f"{source}/src/main.rs") as file:
        main = file.read()
    check(main.count(STOCK) == 1, f"dufs does not call {STOCK} once")
    with open(f"{source}/src/main.rs", "w") as file:
        file.write(main.replace(STOCK, f"tenrounds::rustls::provider({STOCK})"))
    build("ours")
    with open(f"{source}/Cargo.toml") as file:
        return re.search(r'^version = "(.*)"', file.read(), re.M)[1]


def serve(side):
    port = free_port()
    server = consumer.start("plain", [f"{BUILD}/dufs-{side}", "--bind", "127.0.0.1", "--port", port, "--tls-cert", "rsa.pem",
                                      "--tls-key", "rsa.key", "www"], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    consumer.listening(port, server)
    return server, port


def load(size, number):
    def loaded(port):
        suite = h2load(consumer, number, f"https://localhost:{port}/{size}")
        check(suite == "TLS_AES_128_GCM_SHA256", f"another cipher: {suite}")
        return number * size
    return loaded


def fetched(protocol):
    """The files arrive intact from both sides."""
    for side in SIDES:
        server, port = serve(side)
        for size in SIZES:
            page = consumer.run("plain", ["curl", "--silent", "--show-error", "--fail", "--cacert", "rsa.pem", *protocol,
                                          f"https://localhost:{port}/{size}"])
            check(page == consumer.read(f"www/{size}"), f"{side}: another file")
        server.stop()


version = build_both()
consumer.certificates()
os.mkdir(consumer.path("www"))
for size in SIZES:
    consumer.write(f"www/{size}", os.urandom(size))
consumer.result("dufs: TLS 1.3", fetched, ["--tlsv1.3"])
consumer.result("dufs: TLS 1.2", fetched, ["--tls-max", "1.2"])
for size, (name, number) in SIZES.items():
    DufsGain(consumer, "dufs", version, f"{name} responses, TLS 1.3, AES-128-GCM, HTTP/2", "AES-128-GCM", "rustls",
             "the provider").result(UncountedServer(serve, load(size, number), renewed=True))
consumer.end()
