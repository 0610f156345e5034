# SPDX-License-Identifier: BSD-2-Clause
"""Measures what programs gain: CPU seconds for each GB with stock OpenSSL and with tenrounds, in
pairs that alternate; the share of AES in the stock program's CPU time, by sampling; and the gain
that this share allows.

A subject is a Command, which runs to its end, or a Server, which is loaded from outside. `Gain`
measures it with --measure. Without, it does the work once on each side, and demands that tenrounds did the AES of its own.
`Latency` measures how long requests take.

TENROUNDS_GAINS_ROUNDS is the number of pairs. TENROUNDS_GAINS_ONLY is a regular expression: only rows
whose program and workload ("nginx, 1 KiB responses, ...") match it are measured.
"""

import bisect
import functools
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

from harness import OPERATIONS, check

MEASURING = "--measure" in sys.argv
# The name of the file to which rows are appended, as lines of JSON.
ROWS = os.environ.get("TENROUNDS_GAINS")
ROUNDS = int(os.environ.get("TENROUNDS_GAINS_ROUNDS", "9"))
ONLY = re.compile(os.environ.get("TENROUNDS_GAINS_ONLY", ""))
SIDES = ("plain", "ours")


def median_and_quartiles(numbers):
    low, middle, high = statistics.quantiles(numbers, n=4)
    return {"median": middle, "quartiles": [low, high]}


def ratios(numbers):
    """The ratios of neighbouring pairs, stock divided by tenrounds."""
    return median_and_quartiles([plain / ours for plain, ours in zip(numbers["plain"], numbers["ours"])])


def append(row):
    if ROWS:
        with open(ROWS, "a") as file:
            file.write(json.dumps(row) + "\n")


# ---- CPU time --------------------------------------------------------------------------------------


def tree(pid):
    """A process and its descendants."""
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as file:
                    found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def cpu_of_tree(pid):
    """CPU seconds of a process and its descendants, with threads and children that have ended."""
    total = 0.0
    for process in tree(pid):
        try:
            # The process's CPU clock (MAKE_PROCESS_CPUCLOCK of linux/posix-timers.h), in ns.
            total += time.clock_gettime(~process << 3 | 2)
            with open(f"/proc/{process}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            total += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            pass
    return total


# ---- The share of AES ------------------------------------------------------------------------------


@functools.lru_cache(None)
def aes_code(library):
    """The file offsets of AES and GHASH code: pieces of code between two returns that have AES or
    carry-less multiplication instructions. Distributions strip the functions' names."""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, check=True)
    segments = subprocess.run(["readelf", "-lW", library], capture_output=True, check=True).stdout.decode()
    code = next(line.split() for line in segments.splitlines() if line.strip().startswith("LOAD") and " R E " in line)
    shift = int(code[2], 16) - int(code[1], 16)  # from file offsets to addresses
    pieces, begin, has_aes, last = [], None, False, 0
    wanted = re.compile(rb"\t(v?aes(enc|dec)|v?pclmul)")
    line_form = re.compile(rb"^ *([0-9a-f]+):\t(\S+)")
    for line in said.stdout.splitlines():
        match = line_form.match(line)
        if not match:
            continue
        last = int(match.group(1), 16)
        begin = last if begin is None else begin
        has_aes = has_aes or bool(wanted.search(line))
        if match.group(2) in (b"ret", b"retq", b"repz"):
            if has_aes:
                pieces.append((begin - shift, last + 1 - shift))
            begin, has_aes = None, False
    return pieces


class Sampler:
    """Samples the CPU time of processes with perf while the work is done. `libraries` have AES code."""

    sides = SIDES
    libraries = r"libcrypto\.so\.[34]|tenrounds\.so"

    def __init__(self, consumer):
        self.data = consumer.path("perf.data")
        self.process = None

    def command(self, argv):
        return ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", self.data, "--", *argv]

    def attach(self, pid):
        for _ in range(5):  # perf gives up if one of the processes ends before it is attached
            pids = ",".join(map(str, tree(pid)))
            self.process = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", self.data,
                                             "-p", pids], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.5)
            if self.process.poll() is None:
                return
        check(False, f"perf ends with status {self.process.returncode}")

    def detach(self):
        self.process.send_signal(2)
        self.process.wait(30)

    def share(self):
        """The share of samples in AES code of libcrypto or tenrounds, and the number of samples."""
        said = subprocess.run(["perf", "script", "-i", self.data, "--show-mmap-events", "-F", "pid,ip,dso"],
                              stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
        maps, inside, all_samples = {}, 0, 0
        for line in said.splitlines():
            mapped = re.search(r"PERF_RECORD_MMAP2? (-?\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+)"
                               rf".* (\S*(?:{self.libraries}))$", line)
            if mapped:
                pid, begin, size, offset = (int(mapped.group(i), 10 if i == 1 else 16) for i in (1, 2, 3, 4))
                maps.setdefault(pid, []).append((begin, begin + size, offset, os.path.realpath(mapped.group(5))))
                continue
            sample = re.match(r"\s*(\d+)\s+([0-9a-f]+)\s+\((.*)\)", line)
            if not sample:
                continue
            all_samples += 1
            pid, address = int(sample.group(1)), int(sample.group(2), 16)
            places = maps.get(pid) or [place for known in maps.values() for place in known]
            for begin, end, offset, library in places if re.search(self.libraries, sample.group(3)) else ():
                if begin <= address < end:
                    pieces = aes_code(library)
                    at = bisect.bisect(pieces, (address - begin + offset, 1 << 62)) - 1
                    inside += at >= 0 and pieces[at][0] <= address - begin + offset < pieces[at][1]
                    break
        check(all_samples > 200, f"only {all_samples} samples")
        return inside / all_samples, all_samples


class SymbolSampler(Sampler):
    """Samples programs that contain their AES, and finds it by the names of functions."""

    names = ""

    def share(self):
        said = subprocess.run(["perf", "script", "-i", self.data, "-F", "ip,sym"], stdout=subprocess.PIPE, check=True)
        samples = said.stdout.decode(errors="replace").splitlines()
        check(len(samples) > 200, f"only {len(samples)} samples")
        return sum(bool(re.search(self.names, sample)) for sample in samples) / len(samples), len(samples)


class Tracer:
    """Samples with `tenrounds trace`, because a JVM writes its AES code at run time."""

    sides = SIDES[:1]

    def __init__(self, consumer):
        self.tool, self.report = os.path.join(consumer.dist, "bin", "tenrounds"), consumer.path("trace.json")

    def attach(self, pid):
        pids = ",".join(map(str, tree(pid)))
        self.process = subprocess.Popen([self.tool, "trace", "--rate", "1999", "--seconds", "600", "--json", "--output",
                                         self.report, "-p", pids])
        time.sleep(1)

    def detach(self):
        self.process.send_signal(2)
        self.process.wait(60)

    def share(self):
        with open(self.report) as file:
            trace = json.load(file)["trace"]
        check(trace["samples"] > 200, f"only {trace['samples']} samples")
        return trace["aes_share"], trace["samples"]


# ---- Subjects --------------------------------------------------------------------------------------


class Command:
    """A program that runs to its end. `argv` is its command line, `size` the bytes of the work."""

    def __init__(self, argv, size, env=None, before=None):
        self.argv, self.size, self.env, self.before = argv, size, env or {}, before

    def open(self, gain):
        self.gain = gain
        self.environment = {side: {**gain.consumer.environment, **self.env} for side in SIDES}
        self.environment["ours"].update(gain.preferring())

    def window(self, side, argv=None):
        consumer = self.gain.consumer
        argv = argv or self.argv
        if self.before:
            self.before(side)
        line = [consumer.program.get(argv[0]) or argv[0], *map(str, argv[1:])]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(line, env=self.environment[side], cwd=consumer.directory, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        check(done.returncode == 0, f"{line}: status {done.returncode}: {done.stderr.decode()[-2000:]}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, self.size

    def sampled(self, sampler, side):
        argv = [self.gain.consumer.program.get(self.argv[0]) or self.argv[0], *map(str, self.argv[1:])]
        self.window(side, sampler.command(argv))

    def counted(self):
        """Runs it once more, counted. Returns the bytes of what was counted."""
        if self.before:
            self.before("ours")
        self.gain.consumer.run("ours", self.argv, limit=600, env={**self.gain.consumer.environment, **self.env})
        return self.size

    def renew(self):
        pass  # each window is a new process

    def close(self):
        pass


class Server:
    """A server and its load. `serve(side)` starts it and returns (process, state); `load(state)` does
    the work from outside, with stock OpenSSL, and returns its bytes. With `renewed`, each pair of
    windows has new servers, which have done the work once: where its memory lay made a server up to
    12 % slower or faster, until it ended."""

    def __init__(self, serve, load, renewed=False):
        self.serve, self.load, self.renewed = serve, load, renewed
        self.served = 0  # by servers on our side, in bytes

    def open(self, gain):
        self.gain = gain
        self.running = {side: self.serve(side) for side in SIDES}

    def renew(self):
        if self.renewed:
            self.close()
            self.open(self.gain)
            for side, (_, state) in self.running.items():
                size = self.load(state)
                self.served += size if side == "ours" else 0

    def window(self, side):
        process, state = self.running[side]
        before = self.cpu(process.pid)
        size = self.load(state)
        self.served += size if side == "ours" else 0
        return self.cpu(process.pid) - before, size

    def cpu(self, pid):
        return cpu_of_tree(pid)

    def sampled(self, sampler, side):
        process, state = self.running[side]
        sampler.attach(process.pid)
        for _ in range(3):
            self.load(state)
        sampler.detach()

    def counted(self):
        return self.served  # the server on our side was counted all the time

    def close(self):
        for process, _ in self.running.values():
            process.stop()


class Gain:
    """One row: a program, its workload, and the cipher that the workload uses."""

    sampler = Sampler

    def __init__(self, consumer, program, workload, cipher, package, *, direction="encrypt", call=16384, least=0.9):
        self.consumer, self.program, self.workload, self.cipher = consumer, program, workload, cipher
        self.package, self.direction, self.call, self.least = package, direction, call, least

    def preferring(self):
        """The variable that makes a program prefer tenrounds, as `tenrounds run` sets it."""
        said = self.consumer.run("plain", [os.path.join(self.consumer.dist, "bin", "tenrounds"), "run", "--", "env"])
        conf = re.search(rb"^OPENSSL_CONF=(.*)$", said, re.M).group(1).decode()
        return {"OPENSSL_CONF": conf}

    def installed(self):
        """The package and its version. The name may be a pattern, because releases name them differently."""
        said = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", self.package], capture_output=True,
                              text=True)
        lines = [line.split() for line in said.stdout.splitlines()]
        return next((line for line in lines if len(line) == 2), (self.package, "unknown"))

    def version(self):
        return self.installed()[1]

    def result(self, subject):
        """Measures the subject, or does its work once on each side."""
        text = f"{self.program}, {self.workload}"
        if MEASURING and not ONLY.search(text):
            return
        self.consumer.result(text + (", measured" if MEASURING else ""), self.measure if MEASURING else self.small,
                             subject)

    def small(self, subject):
        subject.open(self)
        for side in SIDES:
            subject.window(side)
        counted = subject.counted()
        subject.close()
        return self.consumer.demand(self.cipher, int(counted * self.least))

    def measure(self, subject):
        for program, package in (("perf", "linux-perf"), ("objdump", "binutils")):
            check(shutil.which(program), f"measuring needs {program} (package {package})")
        subject.open(self)
        costs = {side: [] for side in SIDES}
        for at in range(ROUNDS + 1):
            if at:
                subject.renew()
            for side in SIDES if at % 2 else SIDES[::-1]:
                seconds, size = subject.window(side)
                if at:  # the first pair warms up
                    costs[side].append(seconds / (size / 1e9))
            if sys.stderr.isatty():
                print(f"\r{at} of {ROUNDS}", end="\r", file=sys.stderr)
        sampled = {}
        for side in self.sampler.sides:
            sampler = self.sampler(self.consumer)
            subject.sampled(sampler, side)
            sampled[side] = sampler.share()
        counted = subject.counted()
        subject.close()
        executed = self.demanded(counted)
        row = self.row(costs, sampled, executed, size)
        append(row)
        ratio = row["ratio"]
        inside = "".join(f"; {text} {row[name]:.2f}" for name, text in (("isolated", "AES alone"), ("inside", "in the program"))
                         if row[name])
        self.consumer.say(f"CPU s/GB {row['stock']['median']:.3f} -> {row['ours']['median']:.3f}; ratio "
                          f"{ratio['median']:.3f} [{ratio['quartiles'][0]:.3f} to {ratio['quartiles'][1]:.3f}]; AES "
                          f"{100 * (row['share'] or 0):.1f} % of {row['samples']} samples{inside}")
        return f"{ratio['median']:.3f} times"

    def demanded(self, counted):
        """The bytes that tenrounds processed. They must be those of the work."""
        executed = self.consumer.executed(OPERATIONS[next(m for m in OPERATIONS if m in self.cipher.split("-"))])
        check(executed >= counted * self.least, f"our code did {executed} bytes of {counted}")
        return executed

    def row(self, costs, sampled, executed, size):
        isolated = self.isolated()
        share, samples = sampled["plain"]
        share = share or None  # both sides do AES, so without a sample in it the sampler does not know its code
        ours_share = sampled.get("ours", (None,))[0]
        # The time in AES code of both sides: the gain of the cipher on the program's own buffers.
        inside = share * statistics.median(costs["plain"]) / (ours_share * statistics.median(costs["ours"])) \
            if share and ours_share else None
        return {"program": self.program, "version": self.version(), "package": self.installed()[0],
                "workload": self.workload, "cipher": self.cipher, "direction": self.direction, "call": self.call,
                "stock": median_and_quartiles(costs["plain"]), "ours": median_and_quartiles(costs["ours"]),
                "ratio": ratios(costs), "rounds": len(costs["plain"]), "bytes": size,
                "share": share, "ours_share": ours_share, "samples": samples, "isolated": isolated, "inside": inside,
                "executed": executed}

    def isolated(self):
        """The gain of the cipher alone at the size of the program's calls. None if the program's stock
        AES is not OpenSSL's."""
        name = self.cipher.lower()
        said = self.consumer.run("plain", [os.path.join(self.consumer.dist, "bin", "tenrounds"), "bench", name, "--bytes",
                                           self.call, "--seconds", "4", "--json"], limit=120)
        direction = "encrypt" if name.endswith("ctr") else self.direction  # the same work, named once
        rates = {m["implementation"]: m["bytes_per_second"] for m in json.loads(said)["results"]
                 if m["algorithm"] == name and m["direction"] == direction}
        return rates["tenrounds"] / rates["openssl"]


class Latency(Gain):
    """A row of how long requests take that one connection makes one after the other. `load(state)` of
    its Server returns a list of their microseconds. Each pair of windows has new servers, which are
    warm."""

    def result(self, subject):
        text = f"{self.program}, {self.workload}, latency"
        if MEASURING and ONLY.search(text):
            self.consumer.result(text, self.measure, subject)

    def measure(self, subject):
        found = {side: {"p50": [], "p99": []} for side in SIDES}
        for at in range(ROUNDS + 1):
            running = {side: subject.serve(side) for side in SIDES}
            for _, state in running.values():
                subject.load(state)
            for side in SIDES if at % 2 else SIDES[::-1]:
                took = subject.load(running[side][1])
                percentiles = statistics.quantiles(took, n=100)
                if at:
                    found[side]["p50"].append(percentiles[49])
                    found[side]["p99"].append(percentiles[98])
            for process, _ in running.values():
                process.stop()
        executed = self.consumer.executed(OPERATIONS[self.cipher.split("-")[-1]])
        wanted = 2 * (ROUNDS + 1) * len(took) * self.call
        check(executed >= wanted * self.least, f"our code did {executed} bytes of {wanted}")
        row = {"program": self.program, "version": self.version(), "package": self.installed()[0],
               "workload": self.workload, "cipher": self.cipher, "rounds": ROUNDS, "requests": len(took),
               "executed": executed}
        for name in ("p50", "p99"):
            numbers = {side: found[side][name] for side in SIDES}
            row[name] = {"stock": median_and_quartiles(numbers["plain"]), "ours": median_and_quartiles(numbers["ours"]),
                         "ratio": ratios(numbers)}
        append(row)
        return "; ".join(f"{name} {row[name]['stock']['median']:.1f} -> {row[name]['ours']['median']:.1f} µs, "
                         f"{row[name]['ratio']['median']:.3f} times" for name in ("p50", "p99"))


def h2load(consumer, requests, *words):
    """Runs h2load with four connections. All requests must succeed. Returns the cipher suite."""
    said = consumer.run("plain", ["h2load", "--requests", requests, "--clients", 4, "--threads", 1, *words],
                        limit=120).decode()
    check(f" {requests} succeeded, 0 failed, 0 errored" in said, f"h2load: {said}")
    return re.search(r"^Cipher: (\S+)", said, re.M)[1]


def h2load_latencies(consumer, *words):
    """Runs h2load with one connection; returns the microseconds of each request."""
    log = consumer.path("h2load.log")
    if os.path.exists(log):
        os.remove(log)
    said = consumer.run("plain", ["h2load", "--clients", 1, "--threads", 1, "--max-concurrent-streams", 1,
                                  f"--log-file={log}", *words], limit=120).decode()
    check(" 0 failed, 0 errored" in said, said)
    with open(log) as file:
        lines = [line.split() for line in file]
    check(lines and all(status == "200" for _, status, _ in lines), f"h2load's log: {lines[:3]}")
    return [int(took) for _, _, took in lines]


class JavaGain(Gain):
    """A row of a program whose stock AES is the JVM's."""

    sampler = Tracer

    def isolated(self):
        return None


class UncountedServer(Server):
    def counted(self):
        return 0


class OwnGain(Gain):
    """A row of a program that has tenrounds inside, without counters, on our side. Its stock AES is not
    that of libcrypto. The measured program has to check that it uses the core. `changed` is what a
    user changes in the program."""

    def __init__(self, consumer, program, version, workload, cipher, package, changed=None, **more):
        super().__init__(consumer, program, workload, cipher, package, **more)
        self.versioned, self.changed = version, changed

    def version(self):
        return self.versioned

    def isolated(self):
        return None

    def demanded(self, counted):
        return None

    def row(self, *measured):
        return {**super().row(*measured), **({"changed": self.changed} if self.changed else {})}

    def small(self, subject):
        subject.open(self)
        for side in SIDES:
            subject.window(side)
        subject.close()
