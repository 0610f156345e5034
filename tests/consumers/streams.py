# SPDX-License-Identifier: BSD-2-Clause
"""Tests `openssl enc` and `openssl cms` on a file. With --measure: the CPU seconds for each GB."""

import os

from harness import Consumer
from harness_gains import MEASURING, Command, Gain

consumer = Consumer("streams", limit=1500 if MEASURING else 120, needs={"openssl": "openssl"})
SIZE = (512 << 20) if MEASURING else (8 << 20)
KEY = ["-K", "00" * 32, "-iv", "00" * 16]
KEY_128 = ["-K", "00" * 16, "-iv", "00" * 16]

with open(consumer.path("text"), "wb") as file:
    piece = os.urandom(1 << 20)
    for _ in range(SIZE >> 20):
        file.write(piece)
consumer.certificates()
for name, key, cipher in (("aes-256-ctr", KEY, "AES-256-CTR"), ("aes-128-cbc", KEY_128, "AES-128-CBC")):
    Gain(consumer, "openssl enc", f"{cipher}, encrypt", cipher, "openssl", call=8192).result(
        Command(["openssl", "enc", f"-{name}", *key, "-in", "text", "-out", "/dev/null"], SIZE))
Gain(consumer, "openssl enc", "AES-128-CBC, decrypt", "AES-128-CBC", "openssl", direction="decrypt", call=8192).result(
    Command(["openssl", "enc", "-d", "-nopad", "-aes-128-cbc", *KEY_128, "-in", "text", "-out", "/dev/null"], SIZE))
Gain(consumer, "openssl cms", "AES-256-GCM, encrypt a stream", "AES-256-GCM", "openssl", call=4096).result(
    Command(["openssl", "cms", "-encrypt", "-binary", "-stream", "-outform", "DER", "-aes-256-gcm", "-in", "text",
             "-out", "/dev/null", "rsa.pem"], SIZE))
consumer.end()
