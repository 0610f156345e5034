# SPDX-License-Identifier: BSD-2-Clause
"""Tests examples/dask: workers exchange data over TLS, and the results are the same. With --measure:
the CPU seconds of all processes for each GB that moves."""

import json
import os

from harness import ROOT, Consumer, check
from harness_gains import MEASURING, Command, Gain

consumer = Consumer("dask", limit=1500 if MEASURING else 120, needs={
    "python3": "python3", "dask-worker": "python3-distributed", "openssl": "openssl"})
EXAMPLE = os.path.join(ROOT, "examples", "dask", "shuffle.py")
MIB, ROUNDS = (256, 2) if MEASURING else (16, 1)
COMMAND = ["python3", EXAMPLE, "--workers", 2, "--mib", MIB, "--rounds", ROUNDS]


def same():
    said = {side: json.loads(consumer.run(side, COMMAND, limit=100)) for side in ("plain", "ours")}
    check(said["plain"]["digest"] == said["ours"]["digest"], f"{said}")
    # One worker encrypts what another decrypts.
    return consumer.demand("AES-256-GCM", 2 * said["ours"]["bytes"])


if MEASURING:
    Gain(consumer, "Dask", "2 workers shuffle 4 MiB blocks, TLS 1.3, AES-256-GCM", "AES-256-GCM", "python3-distributed",
         call=65536).result(Command(COMMAND, MIB * ROUNDS << 20))
else:
    consumer.result("Dask, workers with TLS 1.3", same)
consumer.end()
