# SPDX-License-Identifier: BSD-2-Clause
"""Tests openssl enc, cms, smime, pkcs12 and genpkey: one side decrypts what the other encrypts."""

from harness import Consumer, check

consumer = Consumer("openssl-command", limit=300, needs={"openssl": "openssl"})
SIZE = 300007
MESSAGE = consumer.write("message", bytes(i * 167 % 251 for i in range(SIZE)))
KEY, IV = "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff0", "f0" * 16


def openssl(side, *words):
    return consumer.run(side, ["openssl", *words])


def both_ways(encrypt, decrypt, cipher, least=SIZE):
    """encrypt(side) writes "sealed"; decrypt(side) writes "opened"."""
    for sealer, opener in (("plain", "ours"), ("ours", "plain"), ("ours", "ours")):
        encrypt(sealer)
        decrypt(opener)
        check(consumer.read("opened") == consumer.read("message"), f"sealed by {sealer}, opened by {opener}: differs")
    return consumer.demand(cipher, least, 4)


def enc(mode, bits):
    words = ["enc", f"-aes-{bits}-{mode}", "-K", KEY[:bits // 4]] + ([] if mode == "ecb" else ["-iv", IV])
    sealed = []
    for side in ("plain", "ours"):
        openssl(side, *words, "-in", MESSAGE, "-out", "sealed")
        sealed.append(consumer.read("sealed"))
    check(sealed[0] == sealed[1], "the two encrypted files differ")
    openssl("ours", *words, "-d", "-in", "sealed", "-out", "opened")
    check(consumer.read("opened") == consumer.read("message"), "decryption does not give the message back")
    return consumer.demand(f"AES-{bits}-{mode.upper()}", SIZE, 2)


def password(mode):
    words = ["enc", f"-aes-256-{mode}", "-pbkdf2", "-pass", "pass:secret"]
    return both_ways(lambda side: openssl(side, *words, "-in", MESSAGE, "-out", "sealed"),
                     lambda side: openssl(side, *words, "-d", "-in", "sealed", "-out", "opened"),
                     f"AES-256-{mode.upper()}")


def enveloped(command, cipher, kind):
    key = ["-recip", f"{kind}.pem", "-inkey", f"{kind}.key"]
    return both_ways(
        lambda side: openssl(side, command, "-encrypt", "-binary", f"-{cipher.lower()}", "-in", MESSAGE, "-outform",
                             "DER", "-out", "sealed", f"{kind}.pem"),
        lambda side: openssl(side, command, "-decrypt", "-binary", "-in", "sealed", "-inform", "DER", *key, "-out",
                             "opened"), cipher)


def by_secret_key(wrap_bits):
    """The content key is wrapped (RFC 3394) with a key that both sides have."""
    secret = ["-secretkey", KEY[:wrap_bits // 4], "-secretkeyid", "01"]
    return both_ways(
        lambda side: openssl(side, "cms", "-encrypt", "-binary", "-aes-256-cbc", "-in", MESSAGE, "-outform", "DER",
                             "-out", "sealed", *secret),
        lambda side: openssl(side, "cms", "-decrypt", "-binary", "-in", "sealed", "-inform", "DER", *secret, "-out",
                             "opened"), "AES-256-CBC")


def by_password():
    return both_ways(
        lambda side: openssl(side, "cms", "-encrypt", "-binary", "-aes-256-cbc", "-in", MESSAGE, "-outform", "DER",
                             "-out", "sealed", "-pwri_password", "secret"),
        lambda side: openssl(side, "cms", "-decrypt", "-binary", "-in", "sealed", "-inform", "DER", "-pwri_password",
                             "secret", "-out", "opened"), "AES-256-CBC")


def pkcs12(cipher):
    public = ["-in", "rsa.pem", "-inkey", "rsa.key"]
    for sealer, opener in (("plain", "ours"), ("ours", "plain"), ("ours", "ours")):
        openssl(sealer, "pkcs12", "-export", *public, "-keypbe", cipher, "-certpbe", cipher, "-passout",
                "pass:secret", "-out", "sealed")
        openssl(opener, "pkcs12", "-in", "sealed", "-nodes", "-passin", "pass:secret", "-out", "all.pem")
        key = openssl("plain", "pkey", "-in", "all.pem")
        check(key == openssl("plain", "pkey", "-in", "rsa.key"), f"sealed by {sealer}, opened by {opener}: other key")
        consumer.run("ours", ["openssl", "pkcs12", "-in", "sealed", "-nodes", "-passin", "pass:wrong"], good=(1,))
    return consumer.demand(cipher, 1000, 4)


def genpkey(bits):
    for sealer, opener in (("plain", "ours"), ("ours", "plain"), ("ours", "ours")):
        openssl(sealer, "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", f"-aes{bits}", "-pass",
                "pass:secret", "-out", "key.pem")
        check(b"ENCRYPTED" in consumer.read("key.pem"), "the key is not encrypted")
        openssl(opener, "pkey", "-in", "key.pem", "-passin", "pass:secret", "-check", "-noout")
        consumer.run("ours", ["openssl", "pkey", "-in", "key.pem", "-passin", "pass:wrong", "-noout"], good=(1,))
    return consumer.demand(f"AES-{bits}-CBC", 1000, 4)


consumer.certificates(("rsa", "ecdsa"))
for mode in ("ecb", "cbc", "cfb", "cfb1", "cfb8", "ofb", "ctr"):
    for bits in (128, 192, 256):
        if mode not in ("cfb1", "cfb8") or f"AES-{bits}-{mode.upper()}" in consumer.offered:
            consumer.result(f"enc -aes-{bits}-{mode}", enc, mode, bits)
for mode in ("cbc", "ctr"):
    consumer.result(f"enc -aes-256-{mode} by password", password, mode)
for bits in (128, 192, 256):
    for kind in ("rsa", "ecdsa"):
        consumer.result(f"cms -aes-{bits}-cbc, {kind}", enveloped, "cms", f"AES-{bits}-CBC", kind)
    consumer.result(f"smime -aes-{bits}-cbc", enveloped, "smime", f"AES-{bits}-CBC", "rsa")
    consumer.result(f"cms -aes-{bits}-gcm", enveloped, "cms", f"AES-{bits}-GCM", "rsa")
    consumer.result(f"cms with a secret key of {bits} bits", by_secret_key, bits)
    consumer.result(f"pkcs12 with AES-{bits}-CBC", pkcs12, f"AES-{bits}-CBC")
    consumer.result(f"genpkey -aes{bits}", genpkey, bits)
consumer.result("cms by password", by_password)
consumer.end()
