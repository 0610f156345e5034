# SPDX-License-Identifier: BSD-2-Clause
"""Tests servers in Java whose TLS is the JDK's: Netty with the JDK's engine, and Jetty. With
--measure: their CPU seconds for each GB, with SunJCE and with the Java provider."""

import subprocess

from harness import Consumer, check, free_port
from harness_gains import MEASURING, h2load
from harness_java import ServerGain, compiled, start

consumer = Consumer("java_servers", limit=6000 if MEASURING else 300, needs={
    "java": "default-jdk-headless", "javac": "default-jdk-headless", "keytool": "default-jdk-headless",
    "h2load": "nghttp2-client"})
MIB = 1 << 20


def row(program, package, cipher, label, size):
    def serve(side, shows):
        port = free_port()
        process = start(consumer, side, ["java", "-cp", f"{jars}/*:.", "Servers", program.lower(), port, size], shows,
                        stdout=subprocess.PIPE)
        said = process.stdout.readline()
        check(said == b"ready\n", f"{program} says: {said}")
        return process, port

    def load(port, total):
        requests = max(total // size, 4)
        suite = h2load(consumer, requests, "--h1", f"https://127.0.0.1:{port}/")
        check(cipher.replace("-", "_") in suite, f"another cipher: {suite}")
        return requests * size

    ServerGain(jars, serve, load, WINDOW, consumer, program, f"warm, {label} responses, TLS 1.3, {cipher}", cipher,
               package, call=size).add()


WINDOW = 128 * MIB  # the bytes of a window
jars = consumer.fetched("java-servers")
compiled(consumer, "java_servers", jars, "Servers")
consumer.run("plain", ["keytool", "-genkeypair", "-alias", "server", "-keyalg", "EC", "-groupname", "secp256r1",
                       "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", "-storetype", "PKCS12", "-keystore",
                       "server.p12", "-storepass", "password"], limit=60)
# Each with the cipher that it prefers.
for program, package, cipher in (("Netty", "netty-handler", "AES-128-GCM"), ("Jetty", "jetty-server", "AES-256-GCM")):
    for label, size in (("1 MiB", MIB), ("16 KiB", 16384), ("1 KiB", 1024)) if MEASURING else (("1 MiB", MIB),):
        row(program, package, cipher, label, size)
consumer.end()
