# SPDX-License-Identifier: BSD-2-Clause
"""Runs OpenVPN's self-test (--test-crypto), which encrypts and decrypts packets of every length."""

import re

from harness import Consumer, check

consumer = Consumer("openvpn", limit=300, needs={"openvpn": "openvpn"})


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


consumer.run("plain", ["openvpn", "--genkey", "secret", "static.key"])
listed = consumer.run("plain", ["openvpn", "--show-ciphers"]).decode()
for cipher in re.findall(r"^(AES-\d+-(?:CBC|CFB|OFB))\b", listed, re.M):
    consumer.result(f"openvpn --test-crypto --cipher {cipher}", self_test, cipher)
consumer.end()
