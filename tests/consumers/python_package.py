# SPDX-License-Identifier: BSD-2-Clause
"""Tests jobs in Python that use the wheel of bindings/python instead of cryptography: both give the
same. With --measure: their CPU seconds for each GB."""

import os
import subprocess
from subprocess import DEVNULL, PIPE

from harness import ROOT, Consumer, check
from harness_gains import MEASURING, SIDES, OwnGain, Sampler, UncountedServer

consumer = Consumer("python_package", limit=1200 if MEASURING else 120, needs={"openssl": "openssl"})
ROWS = 1_000_000 if MEASURING else 20_000
PYTHON = consumer.fetched("python-tests")
PROGRAM = f"{ROOT}/bindings/python/bench/jobs.py"
# For each job the change and the workload.
JOBS = {"fields": ("`encrypt_many`", "encrypt a column of 50 to 200 B, AES-256-GCM, as Python's bytes"),
        "packed": ("`encrypt_many_into`", "encrypt a column of 50 to 200 B, AES-256-GCM, in Arrow's buffers"),
        "pages": ("the import", "encrypt pages of 64 KiB, AES-256-GCM, as in Parquet")}


class PythonSampler(Sampler):
    libraries = r"/_rust\.abi3\.so|/_ext\.abi3\.so"


class PythonGain(OwnGain):
    sampler = PythonSampler


def serve(job):
    """Starts a process that has done the job once. Its first line is a digest of the result."""
    def started(side):
        process = consumer.start("plain", [PYTHON, PROGRAM, job, side, "column"], stdin=PIPE, stdout=PIPE)
        process.digest = process.stdout.readline()
        check(len(process.digest) == 65, f"{job}, {side}: no digest")
        return process, process
    return started


def load(process):
    process.stdin.write(b"\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def same(job):
    digests = [serve(job)(side)[0].digest for side in SIDES]
    check(digests[0] == digests[1], f"the results differ: {digests}")


subprocess.run([f"{ROOT}/scripts/wheel", "build", f"{ROOT}/build/consumers"], check=True, stdout=DEVNULL)
consumer.environment["PYTHONPATH"] = f"{ROOT}/build/consumers/wheel/site"
theirs = consumer.run("plain", [PYTHON, "-c", "import cryptography; print(cryptography.__version__)"]).decode().strip()
consumer.run("plain", [PYTHON, PROGRAM, "write", "column", ROWS])
for job, (changed, workload) in JOBS.items():
    consumer.result(f"{job}: both sides give the same", same, job)
    PythonGain(consumer, "wheel cryptography", theirs, workload, "AES-256-GCM", "cryptography", changed).result(
        UncountedServer(serve(job), load))
consumer.end()
