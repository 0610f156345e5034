# SPDX-License-Identifier: BSD-2-Clause
"""Tests languages whose cryptography is the system's libcrypto: Ruby, PHP, Python's ssl and Debian's
python3-cryptography send and encrypt in streams and messages. With --measure: the CPU seconds for
each GB."""

import os
import subprocess

from harness import Consumer
from harness_gains import MEASURING, Command, Gain

consumer = Consumer("languages", limit=1500 if MEASURING else 120, needs={
    "ruby": "ruby", "php": "php-cli", "python3": "python3", "openssl": "openssl"})
if subprocess.run([consumer.program["python3"], "-c", "import cryptography"], stderr=subprocess.DEVNULL).returncode:
    consumer.skip_all("not installed: Python's cryptography (package python3-cryptography)")
SIZE = (2 << 30) if MEASURING else (8 << 20)

RUBY = """
require "openssl"
mode, size = ARGV[0], ARGV[1].to_i
piece = "x" * 65536
cipher = OpenSSL::Cipher.new("aes-#{mode}")
ARGV[2] == "decrypt" ? cipher.decrypt : cipher.encrypt
cipher.key = "k" * cipher.key_len
cipher.iv = "i" * cipher.iv_len
out = String.new
(size / piece.size).times { cipher.update(piece, out) }
"""

PHP = """<?php
$size = (int)$argv[2];
$piece = str_repeat("x", 1 << 20);
$key = str_repeat("k", 32);
$iv = str_repeat("i", openssl_cipher_iv_length($argv[1]));
for ($done = 0; $done < $size; $done += 1 << 20) {
    $out = openssl_encrypt($piece, $argv[1], $key, OPENSSL_RAW_DATA, $iv, $tag);
}
"""

PYTHON = """
import ssl, sys, threading
version, size = getattr(ssl.TLSVersion, sys.argv[1]), int(sys.argv[2])
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain("rsa.pem", "rsa.key")
client = ssl.create_default_context(cafile="rsa.pem")
for context in (server, client):
    context.minimum_version = context.maximum_version = version
if version == ssl.TLSVersion.TLSv1_2:
    client.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")
elif hasattr(client, "set_ciphersuites"):
    client.set_ciphersuites("TLS_AES_256_GCM_SHA384")
sides = [ssl.MemoryBIO(), ssl.MemoryBIO()]
a = client.wrap_bio(sides[0], sides[1], server_hostname="localhost")
b = server.wrap_bio(sides[1], sides[0], server_side=True)
while True:
    waiting = 0
    for one in (a, b):
        try:
            one.do_handshake()
        except ssl.SSLWantReadError:
            waiting += 1
    if not waiting:
        break
piece = bytes(1 << 20)
for _ in range(size >> 20):
    a.write(piece)
    sides[1].read()
assert "GCM" in a.cipher()[0], a.cipher()
"""

# The distribution's package; the wheel of the same library bundles an OpenSSL.
CRYPTOGRAPHY = """
import sys
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
what, size, call, rooms = sys.argv[1], *map(int, sys.argv[2:])
piece = bytes(call)
if what == "messages":
    aead = AESGCM(bytes(32))
    for number in range(size // call):
        aead.encrypt(number.to_bytes(12, "big"), piece, None)
else:
    mode = modes.CTR(bytes(16)) if what == "ctr" else modes.GCM(bytes(12))
    context = Cipher(algorithms.AES(bytes(32)), mode).encryptor()
    buffers = [bytearray(call + 15) for _ in range(rooms)]
    for number in range(size // call):
        context.update_into(piece, buffers[number % rooms])
"""

consumer.write("work.rb", RUBY)
consumer.write("cryptography_work.py", CRYPTOGRAPHY)
consumer.write("work.php", PHP)
consumer.write("work.py", PYTHON)
consumer.certificates()
for mode, cipher, direction in (("256-gcm", "AES-256-GCM", "encrypt"), ("128-gcm", "AES-128-GCM", "encrypt"),
                                ("256-ctr", "AES-256-CTR", "encrypt"), ("128-cbc", "AES-128-CBC", "decrypt")):
    Gain(consumer, "Ruby", f"Cipher, {cipher}, {direction}, 64 KiB pieces", cipher, "ruby3.?", direction=direction,
         call=65536).result(Command(["ruby", "work.rb", mode, SIZE, direction], SIZE))
for mode, cipher in (("aes-256-gcm", "AES-256-GCM"), ("aes-256-ctr", "AES-256-CTR")):
    Gain(consumer, "PHP", f"openssl_encrypt, {cipher}, 1 MiB messages", cipher, "php8.?-cli", call=1 << 20).result(
        Command(["php", "work.php", mode, SIZE], SIZE))
for version, cipher in (("TLSv1_3", "AES-256-GCM"), ("TLSv1_2", "AES-128-GCM")):
    Gain(consumer, "Python ssl", f"send 1 MiB, TLS {version[4:].replace('_', '.')}, {cipher}", cipher,
         "libpython3.*-stdlib").result(Command(["python3", "work.py", version, SIZE], SIZE))
# The last row shows what cold buffers take from the gain: it writes to 64 MiB by turns.
for what, cipher, text, call, rooms in (
        ("messages", "AES-256-GCM", "AESGCM.encrypt, AES-256-GCM, 1 MiB messages", 1 << 20, 1),
        ("messages", "AES-256-GCM", "AESGCM.encrypt, AES-256-GCM, 16 KiB messages", 16384, 1),
        ("ctr", "AES-256-CTR", "update_into, AES-256-CTR, 64 KiB pieces", 65536, 1),
        ("gcm", "AES-256-GCM", "update_into, AES-256-GCM, 16 KiB pieces", 16384, 1),
        ("gcm", "AES-256-GCM", "update_into 4096 buffers, AES-256-GCM, 16 KiB pieces", 16384, 4096)):
    Gain(consumer, "python3-cryptography", text, cipher, "python3-cryptography", call=call).result(
        Command(["python3", "cryptography_work.py", what, SIZE, call, rooms], SIZE))
consumer.end()
