# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of encrypted FUSE file systems share: mounts with and without tenrounds, and one large
file that is written and read. The CPU time is that of the file system's process."""

import atexit
import os
import subprocess
from subprocess import DEVNULL

from harness import check
from harness_gains import MEASURING, Gain, Server

SIZE = (256 << 20) if MEASURING else (8 << 20)
MIB = 1 << 20


class Mounts:
    """`argv(folder, mount)` is the command line that mounts a folder and stays in the foreground."""

    def __init__(self, consumer, argv):
        self.consumer, self.argv = consumer, argv
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            consumer.skip_all("/dev/fuse cannot be opened", refused=True)

    def serve(self, side):
        folder, mount = self.consumer.path(f"{side}-folder"), self.consumer.path(f"{side}-mount")
        os.makedirs(mount, exist_ok=True)
        process = self.consumer.start(side, self.argv(folder, mount), stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        atexit.register(subprocess.run, ["fusermount", "-u", "-q", "-z", mount])
        self.consumer.until(lambda: os.path.ismount(mount), "the mount", of=process)
        return process, os.path.join(mount, "file")

    def rows(self, program, cipher, package, call):
        """Rows for writing and for reading. The kernel drops its copy of the file when it is opened."""
        piece = os.urandom(MIB)

        def write(path):
            with open(path, "wb", buffering=0) as file:
                for _ in range(SIZE // MIB):
                    check(file.write(piece) == MIB, "a short write")
            return SIZE

        def read(path):
            with open(path, "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                for _ in range(SIZE // MIB):
                    check(file.read(MIB) == piece, "other bytes than those that were written")
            return SIZE

        Gain(self.consumer, program, f"write a file, {cipher}", cipher, package, call=call).result(
            Server(self.serve, write))
        Gain(self.consumer, program, f"read a file, {cipher}", cipher, package, direction="decrypt", call=call).result(
            Server(self.serve, read))
