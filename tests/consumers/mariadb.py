# SPDX-License-Identifier: BSD-2-Clause
"""Tests MariaDB's encrypted tables and redo log (file_key_management): a cold scan, and inserts until
all pages are written. With --measure: the server's CPU seconds for each GB of the column."""

import os
import shutil
import signal
from subprocess import DEVNULL

from harness import Consumer, check
from harness_gains import MEASURING, Gain, Server

consumer = Consumer("mariadb", limit=1500 if MEASURING else 200, needs={
    "mariadbd": "mariadb-server", "mariadb-install-db": "mariadb-server", "mariadb": "mariadb-client",
    "setpriv": "util-linux", "openssl": "openssl"})
# Four rows fill a page of 16 KiB. The pool holds a tenth of the table.
WIDTH, ROWS = 3500, 60_000 if MEASURING else 4_000
POOL = "24M" if MEASURING else "6M"
TABLE = "CREATE OR REPLACE TABLE {name} (id INT PRIMARY KEY, v VARBINARY({width})) ENCRYPTED=YES;\n"
FILL = f"INSERT INTO {{name}} SELECT seq, LEFT(REPEAT(MD5(seq), {WIDTH // 32 + 1}), {WIDTH}) FROM seq_1_to_{{rows}};\n"


def serve(side, mode, data):
    socket = consumer.path(f"{data}.sock")
    server = consumer.start(side, [
        "mariadbd", "--no-defaults", f"--datadir={consumer.path(data)}", f"--socket={socket}", "--skip-networking",
        f"--pid-file={consumer.path(data)}.pid", "--plugin-load-add=file_key_management",
        f"--file-key-management-filename={consumer.path('keys')}", f"--file-key-management-encryption-algorithm=AES_{mode}",
        "--innodb-encrypt-tables=ON", "--innodb-encrypt-log=ON", f"--innodb-buffer-pool-size={POOL}",
        "--innodb-buffer-pool-load-at-startup=OFF", "--innodb-buffer-pool-dump-at-shutdown=OFF"],
        stdin=DEVNULL, stdout=DEVNULL, stderr=open(consumer.path(f"{data}.err"), "wb"))
    consumer.until(lambda: b"ready for connections" in consumer.read(f"{data}.err"), "readiness of MariaDB", of=server)
    return server, socket


def query(socket, text):
    return consumer.run("plain", ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--batch",
                                  "--skip-column-names", "test"], limit=300, input=text.encode()).decode()


def scan(socket):
    said = query(socket, "SELECT SUM(LENGTH(v)), BIT_XOR(CRC32(v)) FROM t;\n").split()
    check(int(said[0]) == ROWS * WIDTH, f"the table has {said}")
    return ROWS * WIDTH


def insert(socket):
    """FOR EXPORT writes all pages of the table."""
    rows = ROWS // 2
    query(socket, TABLE.format(name="w", width=WIDTH) + FILL.format(name="w", rows=rows)
          + "FLUSH TABLES w FOR EXPORT;\nUNLOCK TABLES;\n")
    return rows * WIDTH


def prepare(mode):
    """A directory for each side, with the table, which a server without tenrounds encrypted."""
    server, socket = serve("plain", mode, "data")
    query(socket, TABLE.format(name="t", width=WIDTH) + FILL.format(name="t", rows=ROWS))
    server.stop(signal.SIGTERM, limit=60)
    for side in ("plain", "ours"):
        shutil.rmtree(consumer.path(side), ignore_errors=True)
        shutil.copytree(consumer.path("data"), consumer.path(side))
    consumer.as_user("nobody")


consumer.write("keys", "1;" + "2d" * 32 + "\n")
consumer.as_user("nobody")
os.chmod(consumer.path("keys"), 0o600)
consumer.run("plain", ["mariadb-install-db", "--no-defaults", f"--datadir={consumer.path('data')}",
                       "--auth-root-authentication-method=normal"])
for mode in ("CTR", "CBC"):
    prepare(mode)
    cipher = f"AES-256-{mode}"
    for workload, direction, load in (("cold scan", "decrypt", scan), ("insert and flush", "encrypt", insert)):
        Gain(consumer, "MariaDB", f"{workload}, rows of 3.5 KB, {cipher}", cipher, "mariadb-server",
             direction=direction).result(Server(lambda side: serve(side, mode, side), load))
consumer.end()
