# SPDX-License-Identifier: BSD-2-Clause
"""Tests openssl s_server and s_client: every AES suite of TLS 1.2, TLS 1.3 and DTLS 1.2, each side
with and without tenrounds; also tickets, renegotiation and key update."""

import re
import subprocess
import threading
import time

from harness import PATIENCE, Consumer, Failed, check, free_port

consumer = Consumer("openssl-tls", limit=450, needs={"openssl": "openssl"})
SIDES = (("plain", "plain"), ("ours", "ours"), ("ours", "plain"), ("plain", "ours"))
# CCM suites are not enabled by default. libssl_srp.py tests the SRP suites.
TLS13 = ":".join(f"TLS_AES_{suite}" for suite in ("128_GCM_SHA256", "256_GCM_SHA384", "128_CCM_SHA256",
                                                  "128_CCM_8_SHA256"))
PSK = "000102030405060708090a0b0c0d0e0f"


def lines(size, seed):
    """Returns text without the command letters of s_client and s_server, at which a read() may begin."""
    text = "".join(f"{i * 2654435761 + seed:060d}\n" for i in range(size // 61 + 1))
    return text[:size].encode()


class Peer:
    """An s_server or s_client; collects its standard output."""

    def __init__(self, side, argv):
        self.process = consumer.start(side, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=open(consumer.path(f"{argv[1]}.err"), "wb"))
        self.argv, self.got = argv, bytearray()
        self.collector = threading.Thread(target=self.collect, daemon=True)
        self.collector.start()

    def collect(self):
        while chunk := self.process.stdout.read1(65536):
            self.got += chunk

    def send(self, data, piece=1 << 16, pause=0.0):
        for at in range(0, len(data), piece):
            try:
                self.process.stdin.write(data[at:at + piece])
                self.process.stdin.flush()
            except BrokenPipeError:
                return  # it ended early, which the reader of the data will notice
            time.sleep(pause)

    def end(self):
        """Waits for the end of the program and of its output."""
        self.process.stdin.close()
        self.process.wait(20 * PATIENCE)
        self.collector.join()

    def complaints(self):
        return consumer.read(f"{self.argv[1]}.err").decode(errors="replace")

    def errors(self):
        return f"{self.argv[1]}: {self.complaints()[-1500:]}"


class Connection:
    def __init__(self, server_side, client_side, protocol, server_options, client_options):
        port = free_port()
        accept = ["openssl", "s_server", "-brief", "-naccept", "1", "-accept", f"127.0.0.1:{port}"]
        self.server = Peer(server_side, accept + protocol + server_options)
        if protocol[0].startswith("-dtls"):
            with_port = f":{port:04X} ".encode()
            consumer.until(lambda: with_port in open("/proc/net/udp", "rb").read(), "UDP socket",
                           of=self.server.process)
        else:
            consumer.listening(port, self.server.process)
        self.client = Peer(client_side, ["openssl", "s_client", "-brief", "-connect", f"127.0.0.1:{port}"]
                           + protocol + client_options)

    def exchange(self, size, seed, piece=1 << 16, pause=0.0):
        """Sends data in both directions; it must arrive unchanged."""
        up, down = lines(size, seed), lines(size, seed + 7)
        self.server.got.clear()
        self.client.got.clear()
        sending = threading.Thread(target=self.client.send, args=(up, piece, pause))
        sending.start()
        self.server.send(down, piece, pause)
        sending.join()
        arrived = lambda: len(self.server.got) >= size and len(self.client.got) >= size
        try:
            consumer.until(arrived, "data", of=self.client.process)
        except Failed as why:
            raise Failed(f"{why}\nserver got {len(self.server.got)} of {size}, client {len(self.client.got)}\n"
                         f"{self.server.errors()}\n{self.client.errors()}") from None
        check(self.server.got == up and self.client.got == down, "other bytes arrived than were sent")

    def close(self):
        self.client.end()
        # By -naccept 1 the server ends by itself, and writes its counts.
        try:
            self.server.process.wait(2)
        except subprocess.TimeoutExpired:
            self.server.process.stop()


def suites(protocol):
    """Returns (name, key exchange, authentication, encryption, MAC) of every AES suite."""
    said = consumer.run("plain", ["openssl", "ciphers", "-v", "-s", "-psk", protocol, "-ciphersuites", TLS13,
                                  "AES:kPSK+AES:aPSK+AES:@SECLEVEL=0"]).decode()
    found = re.findall(r"^(\S+) +\S+ +Kx=(\S+) +Au=(\S+) +Enc=(AES\S*) +Mac=(\S+)", said, re.M)
    check(found, f"no AES suites in: {said}")
    return dict.fromkeys(found)


def cipher_of(encryption, mac, etm):
    """Returns the name by which libssl fetches a suite's cipher."""
    bits = re.search(r"\((\d+)\)", encryption).group(1)
    if "GCM" in encryption:
        return f"AES-{bits}-GCM"
    if "CCM" in encryption:
        return f"AES-{bits}-CCM"
    stitched = f"AES-{bits}-CBC-HMAC-{mac}"
    return stitched if not etm and mac in ("SHA1", "SHA256") else f"AES-{bits}-CBC"


def options(name, authentication, exchange, tls13):
    # Level 0: the 8-byte tag of CCM-8 is too short for level 1; since 3.2 in TLS 1.3, too.
    both = ["-ciphersuites", name, "-cipher", "ALL:@SECLEVEL=0"] if tls13 else ["-cipher", f"{name}:@SECLEVEL=0"]
    kind = {"ECDSA": "ecdsa", "DSS": "dsa"}.get(authentication, "rsa")
    server, client = ["-cert", f"{kind}.pem", "-key", f"{kind}.key"], ["-CAfile", f"{kind}.pem"]
    if "PSK" in authentication or "PSK" in exchange:
        both += ["-psk", PSK]
        if authentication == "PSK":
            server = ["-nocert"]
    return server + both, client + both


def one_suite(protocol, suite, extra, sides, size, piece, pause):
    name, exchange, authentication, encryption, mac = suite
    server, client = options(name, authentication, exchange, protocol == "-tls1_3")
    cipher = cipher_of(encryption, mac, not extra)
    for server_side, client_side in sides:
        consumer.counts = []
        connection = Connection(server_side, client_side, [protocol], server + extra, client + extra)
        connection.exchange(size, 1, piece, pause)
        connection.close()
        used = re.search(r"^Ciphersuite: (\S+)", consumer.read("s_client.err").decode(), re.M)
        check(used and used.group(1) == name, f"the suite was {used and used.group(1)}\n{connection.client.errors()}")
        # Each side with tenrounds encrypts and decrypts this many bytes.
        ours = (server_side == "ours") + (client_side == "ours")
        said = consumer.demand(cipher, 2 * size, ours) if ours else ""
    return said


def reused(client_text):
    return re.search(r"^Reused, ", client_text, re.M) is not None


def ticket(protocol, server_side, client_side):
    """Resumes a connection by a ticket, which the server encrypts with AES-256-CBC."""
    port = free_port()
    server = consumer.start(server_side, ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", protocol,
                                          "-cert", "rsa.pem", "-key", "rsa.key", "-rev"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    consumer.listening(port, server)
    connect = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", protocol, "-CAfile", "rsa.pem"]
    texts = []
    for session in (["-sess_out", "session"], ["-sess_in", "session"]):
        client = Peer(client_side, connect + session)
        client.send(b"1234\n")
        consumer.until(lambda: b"4321" in client.got, "answer", of=client.process)
        client.end()
        texts.append(client.got.decode(errors="replace"))
    server.stop()
    check(not reused(texts[0]) and reused(texts[1]), f"the session was not resumed:\n{texts[1][-1500:]}")
    if server_side == "ours":
        return consumer.demand("AES-256-CBC", 100)
    return "resumed"


def commands(protocol, letters, suite, cipher, server_side, client_side):
    """Alternates data and s_client's commands: renegotiation (R), key update (k, K)."""
    connection = Connection(server_side, client_side, [protocol],
                            ["-cert", "rsa.pem", "-key", "rsa.key", "-client_renegotiation"] + suite,
                            ["-CAfile", "rsa.pem", "-state"] + suite)
    wanted = "RENEGOTIATING" if "R" in letters else "KEYUPDATE"
    connection.exchange(50000, 3)
    for at, letter in enumerate(letters, 1):
        # s_client takes a letter as a command only if its read() of standard input begins there, and
        # then drops the rest. libssl takes no data from the server in the middle of a handshake.
        connection.client.send(f"{letter}\n".encode())
        done, times = ("read finished", 1 + at) if letter == "R" else (wanted, at)
        consumer.until(lambda: connection.client.complaints().count(done) == times, f"'{done}' {times} times",
                       of=connection.client.process)
        connection.exchange(50000, 99 + at)
    connection.close()
    said = connection.client.complaints()
    check(said.count(wanted) == len(letters), f"{wanted} is not said {len(letters)} times in:\n{said}")
    ours = (server_side == "ours") + (client_side == "ours")
    return ours and consumer.demand(cipher, 100000 * (1 + len(letters)), ours)


consumer.certificates(("rsa", "ecdsa", "dsa"))
for protocol, title in (("-tls1_3", "TLS 1.3"), ("-tls1_2", "TLS 1.2")):
    for suite in suites(protocol):
        consumer.result(f"{title}, {suite[0]}", one_suite, protocol, suite, [], SIDES, 100000, 1 << 16, 0)
        if suite[3].startswith("AES("):
            consumer.result(f"{title}, {suite[0]}, without encrypt-then-mac", one_suite, protocol, suite,
                            ["-no_etm"], SIDES, 100000, 1 << 16, 0)
for suite in suites("-tls1_2"):
    consumer.result(f"DTLS 1.2, {suite[0]}", one_suite, "-dtls1_2", suite, [], SIDES[1:], 20000, 2000, 0.002)
    # The key exchange does not change the records, so two kinds suffice.
    if suite[3].startswith("AES(") and suite[1] in ("ECDH", "RSA") and suite[2] == "RSA":
        consumer.result(f"DTLS 1.2, {suite[0]}, without encrypt-then-mac", one_suite, "-dtls1_2", suite, ["-no_etm"],
                        SIDES[1:], 20000, 2000, 0.002)
for sides in SIDES[1:]:
    text = f"server {sides[0]}, client {sides[1]}"
    consumer.result(f"a session ticket of TLS 1.2, {text}", ticket, "-tls1_2", *sides)
    consumer.result(f"a session ticket of TLS 1.3, {text}", ticket, "-tls1_3", *sides)
    for name, cipher in (("ECDHE-RSA-AES256-SHA384", "AES-256-CBC"),
                         ("ECDHE-RSA-AES128-GCM-SHA256", "AES-128-GCM")):
        consumer.result(f"renegotiation with {name}, {text}", commands, "-tls1_2", "RRR", ["-cipher", name],
                        cipher, *sides)
    for name in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_AES_128_CCM_SHA256"):
        cipher = "-".join(name.split("_")[1:4])
        consumer.result(f"key update with {name}, {text}", commands, "-tls1_3", "kKkK", ["-ciphersuites", name],
                        cipher, *sides)
consumer.end()
