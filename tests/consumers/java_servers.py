# SPDX-License-Identifier: BSD-2-Clause
"""Tests servers in Java whose TLS is the JDK's: Netty with the JDK's engine, and Jetty. With
--measure: their CPU seconds for each GB, with SunJCE and with the Java provider."""

import glob
import os
import re
import subprocess

from harness import ROOT, Consumer, check, free_port
from harness_gains import MEASURING, JavaGain, Server

consumer = Consumer("java_servers", limit=1900 if MEASURING else 300, needs={
    "java": "default-jdk-headless", "javac": "default-jdk-headless", "keytool": "default-jdk-headless",
    "h2load": "nghttp2-client"})
MIB = 1 << 20


class ServerGain(JavaGain):
    """A row of a server whose JVM has the Java provider. The provider does not count what it executes:
    the server has printed that it serves."""

    def version(self):
        [jar] = glob.glob(f"{jars}/{self.package}-[0-9]*.jar")
        return re.search(r"-([0-9.]+[0-9])[^-]*\.jar$", jar)[1]

    def demanded(self, counted):
        return counted

    def small(self, subject):
        subject.open(self)
        for side in subject.running:
            subject.window(side)
        subject.close()


def serve(side, program, size, cipher):
    """A JVM with a server, on our side with the Java provider: it prints what serves AES-GCM."""
    port = free_port()
    process = consumer.start("jar" if side == "ours" else side,
                             ["java", "-cp", f"{jars}/*:.", "Servers", program, port, size], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    said = process.stdout.readline().decode()
    check(said.startswith("tenrounds version" if side == "ours" else "SunJCE version"), f"AES-GCM of {side}: {said}")
    for _ in range(WARM):
        load(port, size, cipher)
    return process, port


def load(port, size, cipher):
    requests = max(REQUESTS // size, 4)
    said = consumer.run("plain", ["h2load", "--h1", "--requests", requests, "--clients", 4, "--threads", 1,
                                  f"https://127.0.0.1:{port}/"], limit=120).decode()
    done = re.search(r"requests: .* (\d+) succeeded, 0 failed, 0 errored", said)
    check(done and int(done[1]) == requests, f"h2load: {said}")
    check(cipher.replace("-", "_") in said, f"another cipher: {said}")
    return requests * size


REQUESTS = (512 if MEASURING else 8) * MIB  # the bytes of a window
WARM = 6 if MEASURING else 0
jars = consumer.fetched("java-servers")
source = os.path.join(ROOT, "tests", "consumers", "java_servers", "Servers.java")
consumer.run("plain", ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", consumer.directory, source], limit=100)
consumer.run("plain", ["keytool", "-genkeypair", "-alias", "server", "-keyalg", "EC", "-groupname", "secp256r1",
                       "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", "-storetype", "PKCS12", "-keystore",
                       "server.p12", "-storepass", "password"], limit=60)
# Each with the cipher that it prefers.
for program, package, cipher in (("Netty", "netty-handler", "AES-128-GCM"), ("Jetty", "jetty-server", "AES-256-GCM")):
    for label, size in (("1 MiB", MIB), ("16 KiB", 16384), ("1 KiB", 1024)) if MEASURING else (("1 MiB", MIB),):
        ServerGain(consumer, program, f"warm, {label} responses, TLS 1.3, {cipher}", cipher, package, call=size).result(
            Server(lambda side: serve(side, program.lower(), size, cipher), lambda port: load(port, size, cipher)))
consumer.end()
