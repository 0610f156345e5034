#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sorts rows on a Spark cluster that encrypts its network, its shuffle files and its Parquet files.

    encrypted.py [--executors N] [--mib MIB]

Sorts random rows, writes them as Parquet, and reads them, also in a JVM without tenrounds. Prints one
line of JSON: the bytes of the rows, digests of the rows as made, sorted and read, and the CPU seconds of
all processes. Run it as it is, and with `tenrounds run --java -- encrypted.py`. Also prints the
version of the provider in the executors.
"""

import argparse
import json
import os
import resource
import secrets
import subprocess
import tempfile

import pyspark
from pyspark import SparkContext
from pyspark.sql import Observation, SparkSession
from pyspark.sql.functions import count, expr, lit

HERE = os.path.dirname(os.path.abspath(__file__))
# The class of commons-crypto that calls Java. Its other class for AES calls an OpenSSL before 3.0.
JCE = "org.apache.commons.crypto.cipher.JceCipher"
COLUMNS = [f"c{at}" for at in range(12)]  # of 8 bytes each


def home(directory):
    """Makes a folder that stands for Spark's, because executors write their logs below it."""
    path = os.path.join(directory, "home")
    os.mkdir(path)
    for part in ("bin", "jars"):
        os.symlink(os.path.join(os.path.dirname(os.path.abspath(pyspark.__file__)), part), os.path.join(path, part))
    return path


def session(settings):
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def parquet(directory, key):
    """Settings of Parquet: AES-GCM, with the master key `key`, which Keys.java supplies."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraClassPath": directory,
        "spark.executor.extraClassPath": directory,
        "spark.hadoop.parquet.crypto.factory.class":
            "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
        "spark.hadoop.parquet.encryption.kms.client.class": "Keys",
        "spark.hadoop.example.keys.table": key,
    }


def cluster(directory, key, mib, executors=2):
    """A session on a cluster whose executors are JVMs of their own, with all encryption on."""
    os.environ["SPARK_HOME"] = home(directory)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    subprocess.run(["javac", "-proc:none", "-cp", os.path.join(directory, "home", "jars", "*"), "-d", directory,
                    os.path.join(HERE, "Keys.java")], check=True)
    partitions = 2 * executors
    return session({
        **parquet(directory, key),
        # Each executor has one core and 1024 MiB.
        "spark.master": f"local-cluster[{executors},1,1024]",
        "spark.local.dir": directory,
        # The network: AES-CTR.
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(32),
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.config.cipher.classes": JCE,
        # By default, executors on one machine read each other's files without the network.
        "spark.shuffle.readHostLocalDisk": "false",
        # Shuffle and spill files: AES-CTR.
        "spark.io.encryption.enabled": "true",
        "spark.io.encryption.commons.config.cipher.classes": JCE,
        # The rows fit in memory, so a limit on their number makes each sort spill.
        "spark.shuffle.spill.numElementsForceSpillThreshold": str(number_of_rows(mib) // partitions // 3),
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.default.parallelism": str(partitions),
    })


def number_of_rows(mib):
    return (mib << 20) // (8 * len(COLUMNS))


def rows(spark, mib):
    """Rows of 96 random bytes."""
    columns = (f"xxhash64(id, {at}) as {name}" for at, name in enumerate(COLUMNS))
    return spark.range(number_of_rows(mib)).selectExpr(*columns)


def digest():
    """Columns that are the same for the same rows in any order."""
    return count(lit(1)).alias("rows"), expr(f"bit_xor(xxhash64({', '.join(COLUMNS)}))").alias("digest")


def sort(spark, mib):
    """Sorts rows, and returns a digest of them."""
    seen = Observation()
    ordered = rows(spark, mib).repartition("c0").sortWithinPartitions("c0").observe(seen, *digest())
    ordered.write.format("noop").mode("overwrite").save()
    return seen.get


def providers(spark, executors):
    """What the executors say of the provider; None if one has none."""
    ask = "reflect('java.security.Security', 'getProvider', 'tenrounds') as said"
    found = spark.range(0, 100 * executors, 1, 10 * executors).selectExpr(ask).distinct().collect()
    return [row.said for row in found]


def write(spark, mib, path):
    """Writes rows as encrypted Parquet."""
    (rows(spark, mib).write.mode("overwrite").option("parquet.encryption.uniform.key", "table")
     .option("compression", "none").parquet(path))


def digest_of(frame):
    return frame.agg(*digest()).first().asDict()


def read(directory, key, mib, path):
    """Reads encrypted Parquet. Returns digests of its rows and of the same rows made again. Runs in
    a JVM without tenrounds, so that SunJCE has to decrypt what tenrounds encrypted."""
    os.environ.pop("JAVA_TOOL_OPTIONS", None)
    spark = session({**parquet(directory, key), "spark.master": "local[1]"})
    found = {"parquet": digest_of(spark.read.parquet(path)), "made": digest_of(rows(spark, mib))}
    end(spark)
    return found


def end(spark):
    """Ends all JVMs and waits for them, so that their CPU time is known."""
    spark.stop()
    jvm = SparkContext._gateway.proc
    SparkContext._gateway.shutdown()
    jvm.stdin.close()
    jvm.wait()
    SparkContext._gateway = SparkContext._jvm = None  # so that another session starts another JVM


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--mib", type=int, default=256, help="MiB of rows")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        key, table = secrets.token_hex(16), os.path.join(directory, "table")
        spark = cluster(directory, key, args.mib, args.executors)
        results = {"providers": providers(spark, args.executors), "sort": sort(spark, args.mib)}
        write(spark, args.mib, table)
        results["read"] = digest_of(spark.read.parquet(table))
        end(spark)
        results.update(read(directory, key, args.mib, table))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"bytes": args.mib << 20, "executors": args.executors, **results,
                      "cpu_seconds": round(used.ru_utime + used.ru_stime, 3)}))


if __name__ == "__main__":
    main()
