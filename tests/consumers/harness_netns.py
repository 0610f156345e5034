# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of tunnels share: pairs of network namespaces, and a TCP stream between them. Root only.
The tunnel joins HERE and THERE; OUTER has the addresses of the link below it."""

import atexit
import os
import subprocess

from harness import PATIENCE, check

HERE, THERE = "10.9.0.1", "10.9.0.2"
OUTER = "10.8.0.1", "10.8.0.2"
RECEIVER = """
import socket, sys
listener = socket.create_server((sys.argv[1], 9), backlog=1)
print("listening", flush=True)
connection, _ = listener.accept()
received = 0
while piece := connection.recv(1 << 20):
    received += len(piece)
print(received)
"""
SENDER = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 9))
piece = bytes(1 << 20)
for _ in range(int(sys.argv[2]) >> 20):
    connection.sendall(piece)
"""


def within(namespace, *argv):
    return ["ip", "netns", "exec", namespace, *argv]


def refusal():
    """Why there can be no tunnel here, or None."""
    if os.geteuid() != 0:
        return "a tunnel needs root"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun cannot be opened"
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], stderr=subprocess.PIPE)
    return tried.stderr.decode().strip() or None


def namespaces(consumer, side):
    """Two namespaces, joined by a pair of virtual interfaces."""
    pair = [f"tenrounds-{os.getpid()}-{consumer.results}-{side}-{end}" for end in (1, 2)]
    for namespace in pair:
        consumer.run("plain", ["ip", "netns", "add", namespace])
        atexit.register(subprocess.run, ["ip", "netns", "del", namespace])
    consumer.run("plain", ["ip", "-n", pair[0], "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns",
                           pair[1]])
    for namespace, address in zip(pair, OUTER):
        consumer.run("plain", ["ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "veth0"])
        consumer.run("plain", ["ip", "-n", namespace, "link", "set", "veth0", "up"])
    return pair


def send(consumer, pair, size):
    """One TCP stream from the first end to the second."""
    receiver = consumer.start("plain", within(pair[1], "python3", "-c", RECEIVER, THERE), stdout=subprocess.PIPE)
    receiver.stdout.readline()
    consumer.run("plain", within(pair[0], "python3", "-c", SENDER, THERE, size), limit=120)
    received = int(receiver.communicate(timeout=60 * PATIENCE)[0])
    check(received == size, f"{received} bytes arrived")
    return received
