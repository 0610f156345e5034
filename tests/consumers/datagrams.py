# SPDX-License-Identifier: BSD-2-Clause
"""Tests SRTP by libsrtp and DTLS by libssl: srtp.c and dtls.c send small messages and receive them.
With --measure: the CPU seconds of both ends for each GB of payload. Debian's libsrtp uses NSS, so
scripts/fetch builds Debian's source with OpenSSL."""

from harness import Consumer
from harness_gains import MEASURING, Command, Gain

consumer = Consumer("datagrams", limit=900 if MEASURING else 120, needs={"cc": "gcc", "openssl": "openssl"})
# Both ends do the AES of each byte.
BOTH = 1.8


class SrtpGain(Gain):
    def version(self):
        return consumer.fetched("libsrtp").rpartition("-")[2]


libsrtp = consumer.fetched("libsrtp")
srtp = consumer.compiled("srtp", f"-I{libsrtp}/include", f"-I{libsrtp}/crypto/include", f"{libsrtp}/libsrtp2.a", "-lcrypto")
dtls = consumer.compiled("dtls", "-lssl", "-lcrypto")
consumer.certificates()
for policy, cipher, mode in (("gcm-128", "AES-128-GCM", "GCM"), ("gcm-256", "AES-256-GCM", "GCM"),
                             ("cm", "AES-128-CTR", "CM with HMAC-SHA1")):
    for payload in (160, 1200):
        packets = 1_000_000 if MEASURING else 20_000
        name = f"{cipher[:8]}{mode}"
        SrtpGain(consumer, "libsrtp", f"send and receive {payload} B, {name}", cipher, "libsrtp2-1",
                 call=payload, least=BOTH).result(Command([srtp, policy, payload, packets], packets * payload))
for size, cipher in ((100, "AES-128-GCM"), (1350, "AES-128-GCM"), (1350, "AES-256-GCM")):
    records = 100_000 if MEASURING else 10_000
    suite = "ECDHE-RSA-AES128-GCM-SHA256" if cipher == "AES-128-GCM" else "ECDHE-RSA-AES256-GCM-SHA384"
    Gain(consumer, "libssl", f"send and receive {size} B by UDP, DTLS 1.2, {cipher}", cipher, "libssl3*",
         call=size, least=BOTH).result(Command([dtls, suite, size, records], records * size))
consumer.end()
