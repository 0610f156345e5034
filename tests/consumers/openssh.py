# SPDX-License-Identifier: BSD-2-Clause
"""Tests OpenSSH's server and client with every AES cipher on offer, and with frequent rekeying.
With --measure instead: the server's CPU seconds for each GB that a client reads, and those of scp for
a file of 1 GB."""

import getpass
import os
from subprocess import DEVNULL, PIPE

from harness import PATIENCE, Consumer, check, free_port
from harness_gains import MEASURING, Command, Gain, Server

consumer = Consumer("openssh", limit=1900 if MEASURING else 300, needs={
    "sshd": "openssh-server", "ssh": "openssh-client", "scp": "openssh-client", "ssh-keygen": "openssh-client"})
SIZE = 2 << 20
FILE = 10**9 if MEASURING else 2 * SIZE  # what scp copies
# A fast key exchange, because there are many.
EXCHANGE = "curve25519-sha256"
USER = getpass.getuser()
SERVER = """
ListenAddress 127.0.0.1:{port}
HostKey {directory}/host
PidFile none
AuthorizedKeysFile {directory}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Ciphers +{ciphers}
KexAlgorithms {exchange}
LogLevel VERBOSE
Subsystem sftp internal-sftp
{rekey}
"""


def serve(side, ciphers, rekey):
    port = free_port()
    if os.geteuid() == 0:
        # sshd confines its unprivileged child there.
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    consumer.write("sshd_config", SERVER.format(port=port, directory=consumer.directory, ciphers=ciphers, rekey=rekey,
                                                exchange=EXCHANGE))
    # -r: a session is a fork, so that it counts with the server. Without -r, sshd clears the
    # environment of a session.
    server = consumer.start(side, [consumer.program["sshd"], "-D", "-e", "-r", "-f", consumer.path("sshd_config")],
                            stdin=DEVNULL, stdout=DEVNULL, stderr=open(consumer.path("sshd.err"), "wb"))
    consumer.listening(port, server)
    return server, port


def options_of(port, cipher):
    return ["-o", f"Port={port}", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=known", "-o",
            "IdentitiesOnly=yes", "-o", f"IdentityFile={consumer.path('user')}", "-o", "BatchMode=yes",
            "-o", f"Ciphers={cipher}", "-o", f"KexAlgorithms={EXCHANGE}"]


def transfer(server_side, client_side, cipher, rekey):
    message = consumer.read("message")
    server, port = serve(server_side, cipher, rekey)
    options = [*options_of(port, cipher), "-v"] + (["-o", rekey.replace(" ", "=", 1)] if rekey else [])
    client = consumer.start(client_side, ["ssh", "-F", "none", *options, f"{USER}@127.0.0.1", "cat"], stdin=PIPE,
                            stdout=PIPE, stderr=open(consumer.path("ssh.err"), "wb"))
    try:
        answer, _ = client.communicate(message, 60 * PATIENCE)
    finally:
        server.stop()
    said = consumer.read("ssh.err").decode(errors="replace")
    why = f"{said[-2000:]}\n{consumer.read('sshd.err').decode(errors='replace')[-2000:]}"
    check(client.returncode == 0, f"ssh ended with status {client.returncode}\n{why}")
    check(answer == message, f"ssh gave back {len(answer)} bytes, which are not those that were sent\n{why}")
    check(f"cipher: {cipher} " in said, f"another cipher was used\n{why}")
    changes = said.count("SSH2_MSG_NEWKEYS sent")
    check(changes > 10 if rekey else changes == 1, f"keys were changed {changes} times\n{why}")
    return changes


def of_openssl(cipher):
    """OpenSSL's name of an SSH cipher."""
    return f"AES-{cipher[3:6]}-GCM" if "gcm" in cipher else cipher.replace("aes", "aes-").upper()


def session(cipher, rekey):
    name = of_openssl(cipher)
    for server_side, client_side in (("plain", "plain"), ("ours", "ours"), ("ours", "plain"), ("plain", "ours")):
        consumer.counts = []
        changes = transfer(server_side, client_side, cipher, rekey)
        ours = (server_side == "ours") + (client_side == "ours")
        note = consumer.demand(name, 2 * SIZE, ours) if ours else ""
    return f"{changes} times new keys; {note}"


class Copies(Command):
    """scp fetches a file. Its ssh is measured with it; sshd and the disk are not."""

    def __init__(self, cipher):
        self.cipher = cipher
        super().__init__([], FILE)

    def open(self, gain):
        super().open(gain)
        self.server, port = serve("plain", self.cipher, "")
        self.argv = ["scp", "-q", "-F", "none", *options_of(port, self.cipher),
                     f"{USER}@127.0.0.1:{consumer.path('file')}", "/dev/null"]

    def close(self):
        self.server.stop()


consumer.write("message", os.urandom(SIZE))
for name in ("host", "user"):
    consumer.run("plain", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name])
ciphers = [c for c in consumer.run("plain", ["ssh", "-Q", "cipher"]).decode().split() if c.startswith("aes")]


def scp(offered):
    with open(consumer.path("file"), "wb") as file:
        for _ in range(FILE // 10**6):
            file.write(consumer.read("message")[:10**6])
        file.truncate(FILE)
    for name in offered:
        cipher = of_openssl(name)
        Gain(consumer, "scp", f"fetch 1 GB, {name}", cipher, "openssh-client", direction="decrypt", call=32768).result(
            Copies(name))


if MEASURING:
    def read_all(size, cipher):
        def load(port):
            client = consumer.start("plain", ["ssh", "-F", "none", *options_of(port, cipher), f"{USER}@127.0.0.1",
                                              f"head -c {size} /dev/zero"], stdin=DEVNULL, stdout=PIPE)
            got = 0
            while piece := client.stdout.read(1 << 20):
                got += len(piece)
            check(client.wait(20) == 0 and got == size, f"{got} bytes of {size}")
            return size
        return load
    for name, cipher in (("aes128-gcm@openssh.com", "AES-128-GCM"), ("aes256-ctr", "AES-256-CTR")):
        Gain(consumer, "OpenSSH", f"sshd sends a stream, {name}", cipher, "openssh-server", call=32768).result(
            Server(lambda side, name=name: serve(side, name, ""), read_all(256 << 20, name)))
    scp(ciphers)
    consumer.end()
check(len(ciphers) >= 6, f"ssh offers only {ciphers}")
for cipher in ciphers:
    consumer.result(f"ssh, {cipher}", session, cipher, "")
    consumer.result(f"ssh, {cipher}, new keys every 256 KB", session, cipher, "RekeyLimit 256K")
scp([name for name in ciphers if name in ("aes128-gcm@openssh.com", "aes256-ctr")])
consumer.end()
