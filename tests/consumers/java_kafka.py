# SPDX-License-Identifier: BSD-2-Clause
"""Tests a broker of Kafka with TLS, and the Java provider in its JVM: it receives records and sends
them. With --measure: the broker's CPU seconds for each GB, with SunJCE and with the Java provider."""

import itertools
import shutil
import subprocess

from harness import Consumer, check, free_port
from harness_gains import MEASURING
from harness_java import ServerGain, compiled, start

consumer = Consumer("java_kafka", limit=6000 if MEASURING else 300, needs={
    "java": "default-jdk-headless", "javac": "default-jdk-headless", "openssl": "openssl"})
MIB = 1 << 20
WINDOW = 64 * MIB  # the bytes of a window
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=SSL://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,SSL:SSL
inter.broker.listener.name=SSL
ssl.keystore.type=PEM
ssl.keystore.location={directory}/both.pem
ssl.truststore.type=PEM
ssl.truststore.location={directory}/ecdsa.pem
log.dirs={directory}/log-{port}
offsets.topic.replication.factor=1
num.network.threads=1
num.io.threads=2
log.segment.delete.delay.ms=0
"""
MEMORY = ["-Xms256m", "-Xmx256m"]
topics = (f"topic{number}" for number in itertools.count())


class Broker:
    """A broker with clients, which do what load() writes to them."""

    def __init__(self, side, shows):
        self.port, self.filled = free_port(), None
        self.properties = consumer.write(f"{side}.properties", PROPERTIES.format(
            port=self.port, controller=free_port(), directory=consumer.directory))
        consumer.run("plain", ["java", "-cp", classes, "kafka.tools.StorageTool", "format", "-t",
                               "AAAAAAAAAAAAAAAAAAAAAQ", "-c", self.properties], limit=60)
        self.process = start(consumer, side, ["java", *MEMORY, "-cp", classes, "kafka.Kafka", self.properties], shows,
                             stdout=subprocess.DEVNULL)
        consumer.listening(self.port, self.process)
        self.clients = consumer.start("plain", ["java", *MEMORY, "-cp", classes, "Clients", self.port,
                                                consumer.path("ecdsa.pem")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        self.pid = self.process.pid

    def stop(self):
        self.clients.kill_all()
        self.process.kill_all()
        shutil.rmtree(consumer.path(f"log-{self.port}"))

    def ask(self, word, topic, size):
        self.clients.stdin.write(f"{word} {topic} {size}\n".encode())
        self.clients.stdin.flush()
        check(self.clients.stdout.readline() == b"done\n", f"the clients cannot {word} {topic}")

    def produce(self, size):
        """Fills a new topic, and removes it."""
        topic = next(topics)
        self.ask("produce", topic, size)
        self.ask("delete", topic, size)
        return size

    def consume(self, size):
        """Reads a topic that it fills at first."""
        if not self.filled:
            self.filled = next(topics)
            self.ask("produce", self.filled, size)
        self.ask("consume", self.filled, size)
        return size


def row(work, text, direction):
    def serve(side, shows):
        broker = Broker(side, shows)
        return broker, broker

    ServerGain(jars, serve, getattr(Broker, work), WINDOW, consumer, "Kafka",
               f"warm, {text} records of 1 KiB, TLS 1.3, AES-256-GCM", "AES-256-GCM", "kafka_2.13",
               direction=direction).add()


jars = consumer.fetched("java-kafka")
classes = f"{jars}/*:{consumer.directory}"
compiled(consumer, "java_kafka", jars, "Clients")
consumer.certificates(("ecdsa",))
consumer.write("both.pem", consumer.read("ecdsa.key") + consumer.read("ecdsa.pem"))
row("produce", "receive", "decrypt")
row("consume", "send", "encrypt")
consumer.end()
