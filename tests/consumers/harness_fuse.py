# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of encrypted FUSE file systems share: mounts with and without tenrounds, and one large
file that is written and read. The CPU time is that of the file system's process."""

import atexit
import os
import subprocess
from subprocess import DEVNULL

from harness import check
from harness_gains import MEASURING, Server

SIZE = (256 << 20) if MEASURING else (8 << 20)
MIB = 1 << 20


class Mounts:
    """`argv(folder, mount)` is the command line that mounts a folder and stays in the foreground."""

    def __init__(self, consumer, argv):
        self.consumer, self.argv, self.piece = consumer, argv, os.urandom(MIB)
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            consumer.skip_all("/dev/fuse cannot be opened", refused=True)

    def start(self, side, folder, mount):
        return self.consumer.start(side, self.argv(folder, mount), stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)

    def serve(self, side, of=None):
        """Mounts the folder of a side with the program of a side."""
        folder, mount = self.consumer.path(f"{of or side}-folder"), self.consumer.path(f"{side}-mount")
        os.makedirs(mount, exist_ok=True)
        process = self.start(side, folder, mount)
        atexit.register(subprocess.run, ["fusermount", "-u", "-q", "-z", mount])
        self.consumer.until(lambda: os.path.ismount(mount), "the mount", of=process)
        return process, os.path.join(mount, "file")

    def write(self, path):
        with open(path, "wb", buffering=0) as file:
            for _ in range(SIZE // MIB):
                check(file.write(self.piece) == MIB, "a short write")
        return SIZE

    def read(self, path):
        """Reads the file. The kernel drops its copy of it when it is opened."""
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            for _ in range(SIZE // MIB):
                check(file.read(MIB) == self.piece, "other bytes than those that were written")
        return SIZE

    def rows(self, cipher, gain):
        """Rows for writing and for reading, which gain(workload, cipher, direction=...) makes."""
        gain(f"write a file, {cipher}", cipher, direction="encrypt").result(Server(self.serve, self.write))
        gain(f"read a file, {cipher}", cipher, direction="decrypt").result(Server(self.serve, self.read))
