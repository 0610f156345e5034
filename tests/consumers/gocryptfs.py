# SPDX-License-Identifier: BSD-2-Clause
"""Tests gocryptfs with -openssl=true: a file is written and read. With --measure: its CPU seconds for
each GB. Without that option it uses Go's AES, which tenrounds cannot reach."""

from harness import Consumer
from harness_fuse import Mounts
from harness_gains import MEASURING

consumer = Consumer("gocryptfs", limit=900 if MEASURING else 60,
                    needs={"gocryptfs": "gocryptfs", "fusermount": "fuse3"})
consumer.write("password", "secret\n")
for side in ("plain", "ours"):
    consumer.run("plain", ["mkdir", f"{side}-folder"])
    consumer.run("plain", ["gocryptfs", "-init", "-q", "-scryptn", 10, "-passfile", "password", f"{side}-folder"])
Mounts(consumer, lambda folder, mount: ["gocryptfs", "-fg", "-q", "-openssl=true", "-passfile", "password", folder,
                                        mount]).rows("gocryptfs -openssl=true", "AES-256-GCM", "gocryptfs", 4096)
consumer.end()
