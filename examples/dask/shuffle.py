#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Moves data between Dask workers over TLS, and prints what that cost.

    shuffle.py [--workers N] [--mib MIB] [--rounds N]

Each worker makes blocks of random bytes, and each block is then hashed on another worker. Prints
one line of JSON: the bytes that moved, a digest over all hashes, and the CPU seconds of all
processes. Run it as it is, and with `tenrounds run --count -- shuffle.py`, whose counters sum up
all workers.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import tempfile

from distributed import Client, LocalCluster
from distributed.security import Security


def certificates(directory):
    """A key and a self-signed certificate, which all processes trust."""
    key, certificate = os.path.join(directory, "key.pem"), os.path.join(directory, "certificate.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dask",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    sides = {f"tls_{side}_{what}": path for side in ("client", "scheduler", "worker")
             for what, path in (("key", key), ("cert", certificate))}
    return Security(tls_ca_file=certificate, require_encryption=True, **sides)


def make(seed, size):
    """Bytes that depend on the seed alone."""
    return hashlib.shake_128(b"%d" % seed).digest(1 << 16) * (size >> 16)


def hashed(block):
    return hashlib.blake2b(block, digest_size=16).hexdigest()


def shuffle(client, blocks, size):
    """Returns the hashes of all blocks, each computed on the worker after the one that made it."""
    workers = sorted(client.scheduler_info()["workers"])
    place = [workers[at % len(workers)] for at in range(blocks)]
    following = {worker: workers[(at + 1) % len(workers)] for at, worker in enumerate(workers)}
    made = [client.submit(make, at, size, workers=[place[at]], pure=False) for at in range(blocks)]
    hashes = [client.submit(hashed, block, workers=[following[place[at]]], pure=False)
              for at, block in enumerate(made)]
    return client.gather(hashes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--mib", type=int, default=64, help="MiB that move in a round")
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    block = 4 << 20
    blocks = max(args.workers, (args.mib << 20) // block)
    digests = []
    with tempfile.TemporaryDirectory() as directory:
        security = certificates(directory)
        with LocalCluster(n_workers=args.workers, threads_per_worker=1, processes=True, protocol="tls://",
                          security=security, dashboard_address=None, local_directory=directory) as cluster, \
                Client(cluster, security=security) as client:
            for _ in range(args.rounds):
                digests += shuffle(client, blocks, block)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"bytes": args.rounds * blocks * block, "workers": args.workers,
                      "digest": hashlib.sha256("".join(digests).encode()).hexdigest(),
                      "cpu_seconds": round(sum(one.ru_utime + one.ru_stime for one in used), 3)}))


if __name__ == "__main__":
    main()
