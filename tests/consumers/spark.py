# SPDX-License-Identifier: BSD-2-Clause
"""Tests examples/spark: a cluster of JVMs with the Java provider encrypts its network, its shuffle
files and Parquet. A JVM without tenrounds reads the Parquet, and has to find the same rows. With
--measure: the CPU seconds of all processes for each GB of rows, with the PKCS#11 module behind
SunPKCS11, and what the cluster spends its time on."""

import collections
import json
import os
import re
import subprocess

from harness import ROOT, Consumer, check
from harness_gains import MEASURING, JavaGain, Sampler, Server, Tracer, tree

consumer = Consumer("spark", limit=1900 if MEASURING else 300, needs={
    "python3": "python3", "java": "default-jdk-headless", "javac": "default-jdk-headless"})
EXAMPLE = os.path.join(ROOT, "examples", "spark")
MIB = 96 if MEASURING else 8
# Does the work of each line of standard input.
DRIVER = """
import sys
import tempfile
import encrypted

mib = int(sys.argv[1])
with tempfile.TemporaryDirectory() as directory:
    spark = encrypted.cluster(directory, "13" * 16, mib)  # Parquet refuses a key of zeros
    for line in sys.stdin:
        if line.strip() == "sort":
            encrypted.sort(spark, mib)
        else:
            encrypted.write(spark, mib, directory + "/table")
        print("done", flush=True)
    encrypted.end(spark)
"""
# What a sample belongs to: the first pattern that matches "THREAD;FUNCTION;FILE".
PARTS = (("the JVM's compilers", r"^C[12] "), ("garbage collection", r"^(GC |G1 )"),
         ("the kernel", r";\[(guest\.)?kernel"), ("LZ4", r";[^;]*jpountz|liblz4"),
         ("AES, CRC and copies (the JVM's stubs)", r";StubRoutines"),
         ("javax.crypto and commons-crypto", r";(javax\.crypto|com\.sun\.crypto|org\.apache\.commons\.crypto)"),
         ("Parquet", r";(shaded\.)?(org\.apache\.)?parquet|;org\.apache\.spark\.sql\.execution\.datasources\.parquet"),
         ("Netty and Spark's network code", r";(io\.netty|org\.apache\.spark\.network)"),
         ("generated code and Spark", r";(org\.apache\.spark|scala)"), ("interpreted code", r";Interpreter"),
         ("other Java code", r";(java|jdk|sun|org|com)\."), ("the JVM", r"libjvm"),
         ("code without a name", r";\[unknown\];"))


class ClusterSampler(Tracer):
    """Also samples with perf, and says what the cluster spends its time on."""

    def attach(self, pid):
        super().attach(pid)
        self.pid, self.perf = pid, Sampler(consumer)
        self.perf.attach(pid)

    def detach(self):
        self.perf.detach()
        for pid in filter(is_jvm, tree(self.pid)):
            # The names of compiled methods, in /tmp/perf-PID.map. jcmd sends SIGQUIT, which ends others.
            subprocess.run(["jcmd", str(pid), "Compiler.perfmap"], capture_output=True, check=True)
        super().detach()

    def share(self):
        said = subprocess.run(["perf", "script", "-i", self.perf.data, "-F", "comm,ip,sym,dso"], capture_output=True,
                              check=True).stdout.decode(errors="replace")
        parts = collections.Counter(map(part, filter(str.strip, said.splitlines())))
        for pid in tree(self.pid):
            if os.path.exists(f"/tmp/perf-{pid}.map"):
                os.remove(f"/tmp/perf-{pid}.map")
        for name, samples in parts.most_common():
            consumer.say(f"{100 * samples / parts.total():5.1f} %  {name}")
        return super().share()


def is_jvm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read() == "java\n"
    except FileNotFoundError:  # it has ended
        return False


def part(line):
    match = re.match(r"\s*(.*?)\s+[0-9a-f]{6,}\s+(.*)\s+\((.*)\)$", line)
    thread, function, file = match.groups() if match else (line, "", "")
    method = re.search(r"(\S+)\(", function)  # the JVM's names begin with the type of the result
    subject = f"{thread};{method[1] if method else function};{file}"
    return next((name for name, pattern in PARTS if re.search(pattern, subject)), "the rest")


class SparkGain(JavaGain):
    sampler = ClusterSampler

    def version(self):
        with open(os.path.join(spark, "pyspark", "version.py")) as file:
            return re.search(r"^__version__.*'(.*)'", file.read(), re.M)[1]


class Cluster(Server):
    """A cluster on each side that has done the work before, so that the JVM has compiled it."""

    def __init__(self, work):
        super().__init__(self.begin, self.do)
        self.work = work

    def begin(self, side):
        process = consumer.start("java" if side == "ours" else side, ["python3", "driver.py", MIB], env=environment,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(4):
            self.do(process)
        return process, process

    def do(self, process):
        process.stdin.write(f"{self.work}\n".encode())
        process.stdin.flush()
        check(process.stdout.readline() == b"done\n", "Spark is not done")
        return MIB << 20

    def close(self):
        for process, _ in self.running.values():
            process.stdin.close()
            process.wait(60)


def same():
    """Both executors have the provider."""
    said = json.loads(consumer.run("jar", ["python3", f"{EXAMPLE}/encrypted.py", "--mib", MIB], limit=200,
                                   env=environment))
    check(said["sort"] == said["read"] == said["parquet"] == said["made"] and said["made"]["rows"] == said["bytes"] // 96, f"{said}")
    check(said["providers"] and all(str(name).startswith("tenrounds version") for name in said["providers"]), f"{said}")
    return f"{said['cpu_seconds']} s of processors"


spark = consumer.fetched("pyspark")
environment = {**consumer.environment, "PYTHONPATH": f"{spark}:{EXAMPLE}", "PYTHONDONTWRITEBYTECODE": "1"}
if not MEASURING:
    # The JVMs of the test end before their best compiler would pay.
    environment["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1"
if MEASURING:
    consumer.write("driver.py", DRIVER)
    for work, text, cipher in (("sort", "shuffle and sort rows, AES-128-CTR", "AES-128-CTR"),
                               ("write", "write Parquet, AES-128-GCM", "AES-128-GCM")):
        SparkGain(consumer, "Spark", f"warm, 2 executors {text}", cipher, "pyspark").result(Cluster(work))
else:
    consumer.result("Spark, 2 executors with encryption of network, files and Parquet", same)
consumer.end()
