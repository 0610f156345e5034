# SPDX-License-Identifier: BSD-2-Clause
"""Tests Node.js with the system's OpenSSL, as Debian builds it: ciphers in streams and messages, and
HTTPS. With --measure: the CPU seconds for each GB. If this machine has another Node.js, scripts/nodejs
lays Debian's over it."""

import os
import re
import subprocess
import sys
from subprocess import DEVNULL

from harness import ROOT, Consumer, check, find, free_port
from harness_gains import MEASURING, Command, Gain, Server

LAID = "TENROUNDS_NODEJS" in os.environ
SHARED = [find("node") or "/usr/bin/node", "-p", "process.config.variables.node_shared_openssl"]


def shared():
    return find("node") and subprocess.run(SHARED, stdout=subprocess.PIPE).stdout.strip() == b"true"


refused = ""
if not shared() and not LAID:
    tried = subprocess.run([f"{ROOT}/scripts/nodejs", "true"], stderr=subprocess.PIPE)
    refused = tried.stderr.decode().strip() if tried.returncode == 69 else ""
    if tried.returncode == 0:
        os.environ["TENROUNDS_NODEJS"] = "laid"
        os.execv(f"{ROOT}/scripts/nodejs", ["nodejs", sys.executable, *sys.argv])
consumer = Consumer("nodejs", limit=1500 if MEASURING else 120, needs={
    "node": "nodejs", "h2load": "nghttp2-client", "openssl": "openssl"})
SIZE = (2 << 30) if MEASURING else (8 << 20)
MIB = 1 << 20
NODE = ["node", "--openssl-shared-config"]

STREAM = """
const { createCipheriv, createDecipheriv } = require("crypto"), { Readable, Writable } = require("stream");
const [name, size, create] = [process.argv[2], +process.argv[3], { createCipheriv, createDecipheriv }[process.argv[4]]];
const cipher = create(name, Buffer.alloc(+name.split("-")[1] / 8, 1), Buffer.alloc(name.endsWith("gcm") ? 12 : 16, 2));
const piece = Buffer.alloc(65536, 3);
let left = size;
const source = new Readable({ read() { this.push(left > 0 ? piece : null); left -= piece.length; } });
const sink = new Writable({ write(part, encoding, done) { done(); } });
if (create === createDecipheriv)
    cipher.setAutoPadding(false);
source.pipe(cipher).pipe(sink);
"""
MESSAGES = """
const { createCipheriv } = require("crypto");
const key = Buffer.alloc(32, 1), message = Buffer.alloc(16384, 3), iv = Buffer.alloc(12);
for (let done = 0; done < +process.argv[2]; done += message.length) {
    iv.writeUInt32BE(done / message.length);
    const cipher = createCipheriv("aes-256-gcm", key, iv);
    cipher.update(message);
    cipher.final();
    cipher.getAuthTag();
}
"""
HTTPS = """
const fs = require("fs"), body = Buffer.alloc(1 << 20, 3);
const options = { key: fs.readFileSync("rsa.key"), cert: fs.readFileSync("rsa.pem"), maxVersion: "TLSv1.3",
    ciphers: "TLS_AES_256_GCM_SHA384" };
process.on("SIGTERM", () => process.exit(0));
require("https").createServer(options, (request, response) => response.end(body)).listen(+process.argv[2], "127.0.0.1");
"""


def serve(side):
    port = free_port()
    server = consumer.start(side, [*NODE, "https.js", port], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
    consumer.listening(port, server)
    return server, port


def load(port):
    requests = 400 if MEASURING else 8
    said = consumer.run("plain", ["h2load", "--h1", "--requests", requests, "--clients", 4, "--threads", 1,
                                  f"https://127.0.0.1:{port}/"], limit=120).decode()
    check(f" {requests} succeeded, 0 failed, 0 errored" in said, said)
    check(re.search(r"^Cipher: TLS_AES_256_GCM_SHA384", said, re.M), said)
    return requests * MIB


class NodeGain(Gain):
    def version(self):
        return consumer.run("plain", ["node", "--version"]).decode().strip().lstrip("v")


if not shared():
    consumer.skip_all("this node bundles its OpenSSL; Debian's does not (package nodejs)"
                      + (f", and {refused}" if refused else ""), refused=bool(refused))
consumer.write("stream.js", STREAM)
consumer.write("messages.js", MESSAGES)
consumer.write("https.js", HTTPS)
consumer.certificates()
for name, create in (("aes-256-gcm", "createCipheriv"), ("aes-256-ctr", "createCipheriv"),
                     ("aes-256-cbc", "createDecipheriv")):
    cipher, direction = name.upper(), "decrypt" if "De" in create else "encrypt"
    NodeGain(consumer, "Node.js", f"{create} stream, {cipher}, 64 KiB pieces", cipher, "nodejs", direction=direction,
         call=65536).result(Command([*NODE, "stream.js", name, SIZE, create], SIZE))
NodeGain(consumer, "Node.js", "createCipheriv, AES-256-GCM, 16 KiB messages", "AES-256-GCM", "nodejs").result(
    Command([*NODE, "messages.js", SIZE], SIZE))
NodeGain(consumer, "Node.js", "HTTPS, 1 MiB responses, TLS 1.3, AES-256-GCM", "AES-256-GCM", "nodejs").result(
    Server(serve, load, renewed=True))
consumer.end()
