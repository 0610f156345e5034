# SPDX-License-Identifier: BSD-2-Clause
"""Rows of servers in Java whose TLS is the JDK's: stock is SunJCE, ours the Java provider. Each row
first shows which provider served TLS."""

import collections
import glob
import re
import subprocess

from harness import ROOT, check
from harness_gains import MEASURING, JavaGain, Server, cpu_of_tree, tree

# The JVM writes a line for each Cipher.init(), with the provider. TLS calls it for each record.
SHOWING = "-Djava.security.debug=provider"
# Threads that compile stay until the JVM ends, so that their CPU time can be read.
LASTING = "-XX:-UseDynamicNumberOfCompilerThreads"
PROVIDERS = {"plain": "SunJCE", "ours": "tenrounds"}


def start(consumer, side, argv, shows, **how):
    """Starts a JVM, on our side with the Java provider. With `shows`, it writes what serves to a file."""
    with open(consumer.path(f"{side}.log"), "w") as log:
        return consumer.start("jar" if side == "ours" else side,
                              [argv[0], LASTING, *([SHOWING] if shows else []), *argv[1:]], stdin=subprocess.DEVNULL,
                              stderr=log if shows else subprocess.DEVNULL, **how)


def records(consumer, side):
    """How many messages of AES-GCM each provider has begun on this side: {(mode, provider): number}."""
    with open(consumer.path(f"{side}.log")) as file:
        return collections.Counter(re.findall(r"Cipher\.AES/GCM/NoPadding, mode: (\w+), algorithm from: (\w+)",
                                              file.read()))


def compiled(consumer, folder, jars, name):
    """Compiles the program of this name into the directory of the consumer."""
    consumer.run("plain", ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", consumer.directory,
                           f"{ROOT}/tests/consumers/{folder}/{name}.java"], limit=100)


def compiling(pid):
    """CPU seconds of the threads that compile, of a JVM below this process."""
    total, found = 0, 0
    for task in (task for process in tree(pid) for task in glob.glob(f"/proc/{process}/task/*")):
        try:
            with open(f"{task}/comm") as name, open(f"{task}/schedstat") as time:
                if re.match("C[12] Compiler", name.read()):
                    total += int(time.read().split()[0])
                    found += 1
        except OSError:
            continue  # another thread, which has ended
    check(found >= 2, f"{found} threads compile")
    return total / 1e9


class JavaServer(Server):
    """A server whose compilers are not counted. For the first gigabytes they take half of the CPU
    time, more in some JVMs than in others. They take less the longer a server runs."""

    WARM = 8  # loads at most

    def open(self, gain):
        super().open(gain)
        for side in self.running:
            for _ in range(self.WARM):
                if self.settled(side):
                    break

    def settled(self, side):
        """Loads the server, and returns whether its compilers took less than a tenth of the time."""
        process, _ = self.running[side]
        before = compiling(process.pid)
        others, _ = self.window(side)
        return compiling(process.pid) - before < others / 10

    def cpu(self, pid):
        return cpu_of_tree(pid) - compiling(pid)


class ServerGain(JavaGain):
    """A row of a server from the jars in a folder. `serve(side, shows)` starts it; `load(state, size)`
    makes it encrypt or decrypt so many bytes, as `direction` says. `size` is that of a window."""

    def __init__(self, jars, serve, load, size, *words, **more):
        super().__init__(*words, **more)
        self.jars, self.serve, self.load, self.size = jars, serve, load, size

    def version(self):
        [jar] = glob.glob(f"{self.jars}/{self.package}-[0-9]*.jar")
        return re.search(r"-([0-9.]+[0-9])[^-]*\.jar$", jar)[1]

    def add(self):
        # New JVMs for each pair, because each compiles in its own way.
        self.result(JavaServer(lambda side: self.serve(side, False), lambda state: self.load(state, self.size), True))

    def small(self, subject):
        return self.shown()

    def measure(self, subject):
        self.consumer.say(self.shown())
        return super().measure(subject)

    def demanded(self, counted):
        return None  # shown before

    def row(self, *measured):
        return {**super().row(*measured), "changed": "`run --java`"}

    def shown(self):
        """Does some work on each side. All records are of the provider of the side, and as many as the
        work needs."""
        notes = []
        for side, provider in PROVIDERS.items():
            process, state = self.serve(side, True)
            size = 8 << 20
            self.load(state, size)
            process.stop()
            found = records(self.consumer, side)
            check({name for _, name in found} == {provider}, f"AES-GCM of {side} is served by {found}")
            done = found[f"{self.direction}ion", provider]
            check(done >= size // 16384, f"{side}: {size} bytes in {done} records")
            notes.append(f"{done} records by {provider}")
        return ", ".join(notes)
