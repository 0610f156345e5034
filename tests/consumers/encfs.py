# SPDX-License-Identifier: BSD-2-Clause
"""Tests EncFS in its standard configuration: a file is written and read. With --measure: its CPU seconds
for each GB."""

from harness import Consumer
from harness_fuse import Mounts
from harness_gains import MEASURING, Gain

consumer = Consumer("encfs", limit=900 if MEASURING else 60,
                    needs={"encfs": "encfs", "fusermount": "fuse3"})
consumer.write("password", "secret\n")
for side in ("plain", "ours"):
    consumer.run("plain", ["mkdir", f"{side}-folder"])
Mounts(consumer, lambda folder, mount: ["encfs", "-f", "--standard", f"--extpass=cat {consumer.path('password')}", folder,
                                        mount]).rows(
    "AES-192-CBC", lambda *row, **more: Gain(consumer, "EncFS", *row, "encfs", call=1024, **more))
consumer.end()
