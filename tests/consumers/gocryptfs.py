# SPDX-License-Identifier: BSD-2-Clause
"""Tests gocryptfs: a file is written and read. Debian's package uses OpenSSL, with -openssl=true. A
newer version is built from source with the Go module, and plainly: each side reads what the other one
wrote. The module has a core for amd64 alone. With --measure: their CPU seconds for each GB."""

import os
import subprocess
from subprocess import DEVNULL

from harness import Consumer
from harness_fuse import Mounts
from harness_gains import MEASURING, SIDES, Gain
from harness_go import GoGain, Program

consumer = Consumer("gocryptfs", limit=900 if MEASURING else 300,
                    needs={"gocryptfs": "gocryptfs", "fusermount": "fuse3"})
OPTIONS = ["-fg", "-q", "-passfile", "password"]


class GoMounts(Mounts):
    """Mounts with the program that was built for a side. It is killed: after SIGTERM it waits until the
    kernel has no mount any more, which may last if another program has copied the mount namespace."""

    def start(self, side, folder, mount):
        process = consumer.start("plain", [program.binary(side), *OPTIONS, folder, mount], stdin=DEVNULL, stdout=DEVNULL,
                                 stderr=DEVNULL)

        def stop():
            subprocess.run(["fusermount", "-u", "-z", consumer.path(mount)], check=True)
            process.kill_all()
        process.stop = stop
        return process


def exchanged():
    for side, other in zip(SIDES, SIDES[::-1]):
        process, path = mounts.serve(side, other)
        mounts.read(path)
        process.stop()


consumer.write("password", "secret\n")
for side in SIDES:
    consumer.run("plain", ["mkdir", f"{side}-folder"])
    consumer.run("plain", ["gocryptfs", "-init", "-q", "-scryptn", 10, "-passfile", "password", f"{side}-folder"])
Mounts(consumer, lambda folder, mount: ["gocryptfs", "-openssl=true", *OPTIONS, folder, mount]).rows(
    "AES-256-GCM", lambda *row, **more: Gain(consumer, "gocryptfs -openssl=true", *row, "gocryptfs", call=4096, **more))
if os.uname().machine == "x86_64":
    program = Program(consumer, "gocryptfs", "github.com/rfjakob/gocryptfs/v2", "2.6.1",
                      "h1:yyhDLsJM+KGuIoafppjPoIOFZQSZqxMjQkVuhKxsVKA=", tags="without_openssl")
    mounts = GoMounts(consumer, None)
    mounts.rows("AES-256-GCM", lambda *row, **more: GoGain(program, "gocryptfs", *row, changed="the overlay", **more))
    consumer.result("gocryptfs: each side reads what the other one wrote", exchanged)
else:
    consumer.say(f"gocryptfs is not built with the Go module, which has no core for {os.uname().machine}")
consumer.end()
