# SPDX-License-Identifier: BSD-2-Clause
"""Tests Go programs, built with the module in bindings/go and plainly: each side opens what the other
one sealed. With --measure: their CPU seconds for each GB, and those of Caddy, whose build takes
minutes, after curl has compared what both sides send."""

import os
import shutil
import subprocess
from subprocess import DEVNULL

from harness import Consumer, check, free_port
from harness_gains import MEASURING, SIDES, UncountedServer, h2load
from harness_go import GoCommand, GoGain, Program

consumer = Consumer("go_programs", limit=3000 if MEASURING else 300,
                    needs={"openssl": "openssl", **({"h2load": "nghttp2-client", "curl": "curl"} if MEASURING else {})})
SIZE = (1 << 30) if MEASURING else (8 << 20)
def file_of(size):
    with open(consumer.path("text"), "wb") as file:
        for _ in range(size >> 20):
            file.write(os.urandom(1 << 20))  # no piece twice, which restic would store once


def same(name):
    check(subprocess.run(["cmp", consumer.path("text"), consumer.path(name)]).returncode == 0, f"{name} differs")


# ---- ncrypt of minio/sio ---------------------------------------------------------------------------


def sio():
    program = Program(consumer, "sio", "github.com/minio/sio", "0.4.1", "h1:EMe3YBC1nf+sRQia65Rutxi+Z554XPV0dt8BIBA+a/0=",
                      "cmd/ncrypt")
    crypt = [program.binary("{side}"), "-cipher", "AES256", "-p", "secret"]

    def exchanged():
        for side, other in zip(SIDES, SIDES[::-1]):
            consumer.run("plain", [program.binary(side), *crypt[1:], "text", f"sealed-{side}"])
            consumer.run("plain", [program.binary(other), *crypt[1:], "-d", f"sealed-{side}", "opened"])
            same("opened")
    consumer.result("minio/sio: each side opens what the other one sealed", exchanged)
    GoGain(program, "minio/sio ncrypt", "encrypt a file, AES-256-GCM, 64 KiB packages", "AES-256-GCM").result(
        GoCommand([*crypt, "text", "/dev/null"], SIZE))
    GoGain(program, "minio/sio ncrypt", "decrypt a file, AES-256-GCM, 64 KiB packages", "AES-256-GCM",
           direction="decrypt").result(GoCommand([*crypt, "-d", "sealed-plain", "/dev/null"], SIZE))


# ---- restic ----------------------------------------------------------------------------------------


def restic():
    # The version that the module proxy names as the latest. There is also 0.19.1, but with its libraries
    # for clouds it did not build within 5 minutes on a busy machine.
    program = Program(consumer, "restic", "github.com/restic/restic", "0.10.0", "h1:nEcoYKpXyLtrRyYl9Mb25SWoIir/qo9nKH1a9VmkzQQ=",
                      "cmd/restic", imports="internal/crypto/crypto.go")
    options = ["-q", "--no-cache", "-r"]
    consumer.environment["RESTIC_PASSWORD"] = "secret"

    def renew(side):
        repository = consumer.path(f"repository-{side}")
        shutil.rmtree(repository, ignore_errors=True)
        shutil.copytree(consumer.path("empty"), repository)

    def remove(side):
        shutil.rmtree(consumer.path(f"restored-{side}"), ignore_errors=True)

    def exchanged():
        consumer.run("plain", [program.binary("plain"), *options, "empty", "init"])
        for side, other in zip(SIDES, SIDES[::-1]):
            renew(side)
            consumer.run("plain", [program.binary(side), *options, f"repository-{side}", "backup", "text"], limit=120)
            consumer.run("plain", [program.binary(other), *options, f"repository-{side}", "restore", "latest", "--target",
                                   f"restored-{side}"], limit=120)
            [restored] = [os.path.join(folder, "text") for folder, _, files in os.walk(consumer.path(f"restored-{side}"))
                          if "text" in files]
            same(restored)
            consumer.run("plain", [program.binary(other), *options, f"repository-{side}", "check", "--read-data"], limit=120)
    consumer.result("restic: each side restores what the other one stored", exchanged)

    def row(workload, *words, before=None, **more):
        GoGain(program, "restic", workload, "AES-256-CTR", changed="the import, the overlay", **more).result(
            GoCommand([program.binary("{side}"), *options, "repository-{side}", *words], SIZE, before=before))
    row("back up a file, AES-256-CTR and Poly1305", "backup", "text", before=renew)
    row("read all data of a repository (check --read-data)", "check", "--read-data", direction="decrypt")
    row("restore a file, AES-256-CTR and Poly1305", "restore", "latest", "--target", "restored-{side}", before=remove,
        direction="decrypt")


# ---- Caddy -----------------------------------------------------------------------------------------

SIZES = (1 << 20, 16 << 10)
CADDYFILE = """
{{
    admin off
    auto_https off
    persist_config off
}}
https://localhost:{port} {{
    bind 127.0.0.1
    tls {directory}/rsa.pem {directory}/rsa.key
    root * {directory}/www
    file_server
}}
"""


def caddy():
    program = Program(consumer, "caddy", "github.com/caddyserver/caddy/v2", "2.11.9", "h1:bhZtcRKQOq0fuLvEgCdPYvUxXyGn9kzjG4lh2332DTE=", "cmd/caddy")
    consumer.certificates()
    os.mkdir(consumer.path("www"))

    def serve(side):
        port = free_port()
        consumer.write(f"Caddyfile.{port}", CADDYFILE.format(port=port, directory=consumer.directory))
        server = consumer.start("plain", [program.binary(side), "run", "--adapter", "caddyfile", "--config",
                                          f"Caddyfile.{port}"], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        consumer.listening(port, server)
        return server, port

    def load(size, number):
        def loaded(port):
            suite = h2load(consumer, number, f"https://localhost:{port}/{size}")
            check(suite == "TLS_AES_128_GCM_SHA256", f"another cipher: {suite}")
            return number * size
        return loaded

    def fetched():
        for side in SIDES:
            server, port = serve(side)
            for size in SIZES:
                for version in ("--http1.1", "--http2"):
                    consumer.run("plain", ["curl", "--silent", "--show-error", "--fail", "--cacert", "rsa.pem", version,
                                           "--output", "page", f"https://localhost:{port}/{size}"])
                    consumer.run("plain", ["cmp", "page", f"www/{size}"])
            server.stop()
    for size in SIZES:
        consumer.write(f"www/{size}", os.urandom(size))
    consumer.result("Caddy: curl is given the same files by both sides", fetched)
    for size, number, name in ((SIZES[0], 1000, "1 MiB"), (SIZES[1], 20000, "16 KiB")):
        GoGain(program, "Caddy", f"{name} responses, TLS 1.3, AES-128-GCM, HTTP/2", "AES-128-GCM").result(
            UncountedServer(serve, load(size, number), renewed=True))


if os.uname().machine != "x86_64":
    consumer.skip_all(f"the Go module has no core for {os.uname().machine}", refused=True)
file_of(SIZE)
sio()
restic()
if MEASURING:
    caddy()
consumer.end()
