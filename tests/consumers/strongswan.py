# SPDX-License-Identifier: BSD-2-Clause
"""Tests strongSwan's ESP in user space (kernel-libipsec) with its openssl plugin: a TCP stream through a
tunnel. With --measure: the CPU seconds of the sending end for each GB. Root only.

Without kernel-libipsec the kernel encrypts ESP, and OpenSSL's AES does no more than a few packets of IKE."""

import os
from subprocess import DEVNULL

from harness import Consumer, check
from harness_gains import MEASURING, Gain, Server
from harness_netns import HERE, OUTER, THERE, namespaces, refusal, send, within

consumer = Consumer("strongswan", limit=900 if MEASURING else 120, needs={
    "charon-systemd": "charon-systemd", "swanctl": "strongswan-swanctl", "ip": "iproute2"})
SIZE = (100 if MEASURING else 4) << 20
SETTINGS = """
charon-systemd {{
    load = random nonce openssl kdf pem kernel-libipsec kernel-netlink socket-default updown vici
    plugins {{ vici {{ socket = unix://{socket} }} }}
}}
swanctl {{
    load = pem pkcs1 openssl
}}
"""
CONNECTION = """
connections {{
    tunnel {{
        version = 2
        proposals = aes256gcm16-prfsha256-ecp256
        local_addrs = {outer[0]}
        remote_addrs = {outer[1]}
        local {{ auth = psk
            id = {outer[0]} }}
        remote {{ auth = psk
            id = {outer[1]} }}
        children {{
            tunnel {{
                local_ts = {inner[0]}/32
                remote_ts = {inner[1]}/32
                esp_proposals = {esp}
            }}
        }}
    }}
}}
secrets {{ ike-tunnel {{ secret = secret }} }}
"""


def control(namespace, *words):
    return consumer.run("plain", ["swanctl", *words, "--uri", f"unix://{consumer.path(namespace)}.sock"], env={
        **consumer.environment, "STRONGSWAN_CONF": consumer.path(f"{namespace}.conf")})


def endpoint(side, namespace, outer, inner, esp):
    socket = consumer.path(f"{namespace}.sock")
    settings = consumer.write(f"{namespace}.conf", SETTINGS.format(socket=socket))
    connection = consumer.write(f"{namespace}.swanctl", CONNECTION.format(outer=outer, inner=inner, esp=esp))
    consumer.run("plain", ["ip", "-n", namespace, "link", "set", "lo", "up"])
    consumer.run("plain", ["ip", "-n", namespace, "address", "add", f"{inner[0]}/32", "dev", "lo"])
    process = consumer.start(side, within(namespace, consumer.program["charon-systemd"]), stdin=DEVNULL, stdout=DEVNULL,
                             stderr=open(consumer.path(f"{namespace}.log"), "wb"),
                             env={**consumer.environment, "STRONGSWAN_CONF": settings})
    consumer.accepting(socket, process)
    control(namespace, "--load-all", "--file", connection)
    return process


def tunnel(side, cipher, esp):
    """The first end is measured. The second runs without tenrounds."""
    pair = namespaces(consumer, side)
    process = endpoint(side, pair[0], OUTER, (HERE, THERE), esp)
    endpoint("plain", pair[1], OUTER[::-1], (THERE, HERE), esp)
    control(pair[0], "--initiate", "--child", "tunnel")
    said = control(pair[0], "--list-sas").decode()
    check(f"ESP:{cipher}".replace("AES-256-GCM", "AES_GCM_16-256").replace("AES-128-GCM", "AES_GCM_16-128") in said, said)
    return process, pair


for plugin, package in (("openssl", "libstrongswan-standard-plugins"), ("kernel-libipsec", "libcharon-extra-plugins")):
    if not os.path.exists(f"/usr/lib/ipsec/plugins/libstrongswan-{plugin}.so"):
        consumer.skip_all(f"not installed: strongSwan's plugin {plugin} (package {package})")
if refusal():
    consumer.skip_all(refusal(), refused=True)
for cipher, esp in (("AES-128-GCM", "aes128gcm16"), ("AES-256-GCM", "aes256gcm16")):
    Gain(consumer, "strongSwan libipsec", f"one end sends a TCP stream, {cipher}", cipher, "strongswan-libcharon",
         call=1400).result(Server(lambda side: tunnel(side, cipher, esp), lambda pair: send(consumer, pair, SIZE)))
consumer.end()
