# SPDX-License-Identifier: BSD-2-Clause
"""Runs OpenVPN's self-test (--test-crypto), which encrypts and decrypts packets of every length, and a
TCP stream through a tunnel (root only). With --measure instead: the CPU seconds of one end of the
tunnel for each GB."""

import re
from subprocess import DEVNULL

from harness import Consumer, check
from harness_gains import MEASURING, Gain, Server
from harness_netns import HERE, OUTER, THERE, namespaces, refusal, send, within

consumer = Consumer("openvpn", limit=900 if MEASURING else 300, needs={
    "openvpn": "openvpn", "ip": "iproute2", "openssl": "openssl"})
SIZE = (100 if MEASURING else 4) << 20


def self_test(cipher):
    """OpenVPN reports success as its exit status and in this line."""
    said = {}
    for side in ("plain", "ours"):
        said[side] = consumer.run(side, ["openvpn", "--test-crypto", "--secret", "static.key", "--cipher", cipher,
                                         "--auth", "SHA256", "--verb", "4"], limit=100).decode()
        check("crypto self-test mode SUCCEEDED" in said[side], f"{side}: {said[side][-2000:]}")
    # Both runs must have tried the same lengths.
    tried = {side: re.findall(r"TESTING ENCRYPT/DECRYPT of packet length=(\d+)", text) for side, text in said.items()}
    check(tried["plain"] == tried["ours"] and tried["ours"], f"tried {tried}")
    return f"{len(tried['ours'])} packets; " + consumer.demand(cipher, sum(map(int, tried["ours"])), 2)


def endpoint(side, namespace, addresses, role, cipher):
    log = f"{namespace}.log"
    process = consumer.start(side, within(
        namespace, consumer.program["openvpn"], "--dev", "tun0", "--dev-type", "tun", "--disable-dco", "--proto", "udp",
        "--local", addresses[0], "--remote", addresses[1], "--ifconfig", *addresses[2:], *role, "--cert", "rsa.pem",
        "--key", "rsa.key", "--peer-fingerprint", FINGERPRINT, "--data-ciphers", cipher, "--ping", "10", "--verb", "4"),
        stdin=DEVNULL, stdout=open(consumer.path(log), "wb"), stderr=DEVNULL)
    return process, log


def tunnel(side, cipher):
    """The first end is measured. The second runs without tenrounds."""
    pair = namespaces(consumer, side)
    ends = [endpoint(side, pair[0], (*OUTER, HERE, THERE), ["--tls-server", "--dh", "none"], cipher),
            endpoint("plain", pair[1], (*OUTER[::-1], THERE, HERE), ["--tls-client"], cipher)]
    for process, log in ends:
        consumer.until(lambda: b"Initialization Sequence Completed" in consumer.read(log), "the tunnel", of=process)
        check(f"Data Channel: cipher '{cipher}'".encode() in consumer.read(log), f"another cipher than {cipher}")
    return ends[0][0], pair


if MEASURING and refusal():
    consumer.skip_all(refusal(), refused=True)
if not refusal():
    consumer.certificates()
    said = consumer.run("plain", ["openssl", "x509", "-in", "rsa.pem", "-noout", "-fingerprint", "-sha256"]).decode()
    FINGERPRINT = said.strip().split("=")[1]
    for cipher in ("AES-128-GCM", "AES-256-GCM"):
        Gain(consumer, "OpenVPN", f"one end sends a TCP stream, {cipher}", cipher, "openvpn", call=1400).result(
            Server(lambda side: tunnel(side, cipher), lambda pair: send(consumer, pair, SIZE)))
else:
    consumer.say(f"no tunnel: {refusal()}")
if MEASURING:
    consumer.end()
consumer.run("plain", ["openvpn", "--genkey", "secret", "static.key"])
listed = consumer.run("plain", ["openvpn", "--show-ciphers"]).decode()
for cipher in re.findall(r"^(AES-\d+-(?:CBC|CFB|OFB))\b", listed, re.M):
    consumer.result(f"openvpn --test-crypto --cipher {cipher}", self_test, cipher)
consumer.end()
