# SPDX-License-Identifier: BSD-2-Clause
"""Tests PostgreSQL: TLS connections, and pgcrypto's encrypt() and pgp_sym_encrypt(). With --measure
instead: the server's CPU seconds for each GB over TLS and in pgcrypto."""

import functools
import glob
import os
import shutil
import signal
from subprocess import DEVNULL

import harness
from harness import Consumer, check, free_port
from harness_gains import MEASURING, Gain, Server

# Debian installs them outside PATH, by version.
PLACES = sorted(glob.glob("/usr/lib/postgresql/*/bin")) + ["/usr/bin"]
harness.find = lambda program: shutil.which(program, path=":".join(reversed(PLACES)) + ":/usr/sbin:/bin:/sbin")

consumer = Consumer("postgresql", limit=900 if MEASURING else 200, needs={
    "postgres": "postgresql", "initdb": "postgresql", "psql": "postgresql-client", "openssl": "openssl",
    "setpriv": "util-linux"})
ROW = 1 << 20
PGCRYPTO = """
CREATE EXTENSION IF NOT EXISTS pgcrypto;
SELECT md5(encrypt(convert_to(repeat('0123456789abcdef', 65536), 'UTF8'), decode(repeat('0a', {bytes}), 'hex'),
                   'aes-{mode}/pad:pkcs'));
SELECT md5(decrypt(encrypt(convert_to(repeat('0123456789abcdef', 65536), 'UTF8'), decode(repeat('0a', {bytes}), 'hex'),
                           'aes-{mode}'), decode(repeat('0a', {bytes}), 'hex'), 'aes-{mode}'));
"""
PGP = """
CREATE EXTENSION IF NOT EXISTS pgcrypto;
SELECT md5(pgp_sym_decrypt(pgp_sym_encrypt(repeat('0123456789abcdef', 65536), 'secret',
                                           'cipher-algo=aes{bits}, compress-algo=0'), 'secret'));
"""


def serve(side, extra=(), data="data"):
    port = free_port()
    settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": consumer.directory,
                "ssl": "on", "ssl_cert_file": consumer.path("rsa.pem"), "ssl_key_file": consumer.path("rsa.key"),
                "fsync": "off", **dict(extra)}
    server = consumer.start(side, ["postgres", "-D", consumer.path(data),
                                   *(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))],
                            stdin=DEVNULL, stdout=DEVNULL, stderr=open(consumer.path("postgres.err"), "wb"))
    try:
        consumer.listening(port, server)
        # The server listens before it is ready, and refuses connections until then.
        consumer.until(lambda: b"ready to accept connections" in consumer.read("postgres.err"),
                       "readiness of PostgreSQL", of=server)
    except harness.Failed as why:
        raise harness.Failed(f"{why}\n" + consumer.read("postgres.err").decode()[-1500:]) from None
    return server, port


def query(side, port, text, mode="verify-full"):
    return consumer.run(side, ["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1",
                               f"host=127.0.0.1 port={port} dbname=postgres user=tester sslmode={mode} "
                               f"sslrootcert={consumer.path('rsa.pem')}"], input=text.encode())


def tls(settings, suite, cipher):
    text = ("SELECT version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid();\n"
            f"SELECT repeat('0123456789abcdef', {ROW // 16});\n")
    said = []
    for server_side, client_side in (("plain", "plain"), ("ours", "ours"), ("ours", "plain"), ("plain", "ours")):
        consumer.counts = []
        server, port = serve(server_side, settings)
        said.append(query(client_side, port, text))
        server.stop(signal.SIGINT)
        check(said[-1] == said[0] and suite.encode() in said[0][:200], f"psql was given other rows, or not {suite}: "
              f"{said[-1][:300]}")
        ours = (server_side == "ours") + (client_side == "ours")
        note = consumer.demand(cipher, ROW, ours) if ours else ""
    return note


def same(text, cipher, least):
    said = []
    for side in ("plain", "ours"):
        server, port = serve(side)
        said.append(query("plain", port, text, "disable"))
        server.stop(signal.SIGINT)
    check(said[0] == said[1] and len(said[0]) > 32, f"other results: {said}")
    return consumer.demand(cipher, least)


consumer.certificates()
consumer.as_user("nobody")
os.chmod(consumer.path("rsa.key"), 0o600)
consumer.run("plain", ["initdb", "-D", consumer.path("data"), "-U", "tester", "--auth=trust", "--no-sync",
                       "--locale=C", "--encoding=UTF8"])


def pull(port):
    """Reads values of 1 MiB."""
    values = 256
    got = query("plain", port, f"SELECT repeat('0123456789abcdef', {ROW // 16}) FROM generate_series(1, {values});\n")
    check(len(got) == values * (ROW + 1), f"{len(got)} bytes")
    return len(got)


def pgcrypto(function, width, port):
    """pgcrypto encrypts or decrypts one value again and again, as it would the rows of a table."""
    times, key = min(2048 * ROW // width, 400_000), f"decode('{'0a' * 32}', 'hex')"
    value = f"convert_to(repeat('0', {width}), 'UTF8')"
    given = value if function == "encrypt" else f"encrypt({value}, {key}, 'aes-cbc')"
    made = width if function == "decrypt" else width // 16 * 16 + 16  # padded
    said = query("plain", port, f"""
WITH given AS MATERIALIZED (SELECT {given} AS value)
SELECT sum(length({function}(value, {key}, 'aes-cbc'))) FROM given, generate_series(1, {times});
""", "disable")
    check(said.strip() == b"%d" % (times * made), f"pgcrypto made {said} bytes")
    return times * width


def pgp(port):
    """pgp_sym_encrypt() of the same message; a small work factor of the password leaves the cipher."""
    times = 64
    said = query("plain", port, f"""
SELECT sum(length(pgp_sym_encrypt(repeat('0123456789abcdef', {ROW // 16}), 'secret' || number,
                                  'cipher-algo=aes256, compress-algo=0, s2k-mode=1')))
FROM generate_series(1, {times}) AS number;
""", "disable")
    check(int(said) >= times * ROW, f"pgcrypto made {said} bytes")
    return times * ROW


if MEASURING:
    # Two servers cannot share a directory.
    shutil.copytree(consumer.path("data"), consumer.path("data-ours"), symlinks=True)
    consumer.as_user("nobody")

    def serve_own(side):
        return serve(side, data="data-ours" if side == "ours" else "data")

    def serve_with_pgcrypto(side):
        server, port = serve_own(side)
        query("plain", port, "CREATE EXTENSION IF NOT EXISTS pgcrypto;", "disable")
        return server, port

    Gain(consumer, "PostgreSQL", "SELECT, 1 MiB values, TLS 1.3, AES-256-GCM", "AES-256-GCM", "postgresql-1?").result(
        Server(serve_own, pull))
    # psql's load has no TLS here.
    for function, width in (("decrypt", ROW), ("decrypt", 200), ("encrypt", 200), ("decrypt", 50), ("encrypt", 50)):
        text = f"{width} B" if width < ROW else "1 MiB"
        Gain(consumer, "PostgreSQL pgcrypto", f"{function}(), {text} values, AES-256-CBC", "AES-256-CBC", "postgresql-1?",
             direction=function, call=-(-width // 16) * 16).result(
                 Server(serve_with_pgcrypto, functools.partial(pgcrypto, function, width)))
    # It composes CFB from single ECB blocks.
    Gain(consumer, "PostgreSQL pgcrypto", "pgp_sym_encrypt(), 1 MiB values, AES-256", "AES-256-ECB", "postgresql-1?",
         call=16).result(Server(serve_with_pgcrypto, pgp))
    consumer.end()
for name, cipher in (("TLS_AES_256_GCM_SHA384", "AES-256-GCM"), ("ECDHE-RSA-AES128-GCM-SHA256", "AES-128-GCM"),
                     ("ECDHE-RSA-AES256-SHA384", "AES-256-CBC")):
    settings = {} if name.startswith("TLS") else {"ssl_max_protocol_version": "TLSv1.2", "ssl_ciphers": name}
    consumer.result(f"PostgreSQL and psql, {name}", tls, settings.items(), name, cipher)
for bits in (128, 192, 256):
    for mode in ("cbc", "ecb"):
        consumer.result(f"pgcrypto, encrypt() with AES-{bits}-{mode.upper()}", same,
                        PGCRYPTO.format(bytes=bits // 8, mode=mode), f"AES-{bits}-{mode.upper()}", 3 * ROW)
    # pgcrypto composes CFB from single ECB blocks.
    consumer.result(f"pgcrypto, pgp_sym_encrypt() with AES-{bits}", same, PGP.format(bits=bits), f"AES-{bits}-ECB",
                    2 * ROW)
consumer.end()
