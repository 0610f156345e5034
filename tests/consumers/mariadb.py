# SPDX-License-Identifier: BSD-2-Clause
"""Tests MariaDB's encrypted tables and redo log (file_key_management): a cold scan, inserts until
all pages are written, and small rows, whose log is encrypted in pieces of about 100 bytes. With
--measure: the server's CPU seconds for each GB of the column."""

import functools
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
SMALL, SMALL_ROWS = 100, 200_000 if MEASURING else 4_000
TABLE = "CREATE OR REPLACE TABLE {name} (id INT PRIMARY KEY, v VARBINARY({width})) ENCRYPTED=YES;\n"
FILL = "INSERT INTO {name} SELECT seq, LEFT(REPEAT(MD5(seq), {width} / 32 + 1), {width}) FROM seq_1_to_{rows};\n"
# Each INSERT is a transaction of its own.
COMMITS = """DELIMITER //
BEGIN NOT ATOMIC
    DECLARE at INT DEFAULT 0;
    WHILE at < {rows} DO
        INSERT INTO {name} VALUES (at, REPEAT('x', {width}));
        SET at = at + 1;
    END WHILE;
END//
"""


def serve(side, mode, data):
    socket = consumer.path(f"{data}.sock")
    server = consumer.start(side, [
        "mariadbd", "--no-defaults", f"--datadir={consumer.path(data)}", f"--socket={socket}", "--skip-networking",
        f"--pid-file={consumer.path(data)}.pid", "--plugin-load-add=file_key_management",
        f"--file-key-management-filename={consumer.path('keys')}", f"--file-key-management-encryption-algorithm=AES_{mode}",
        "--innodb-encrypt-tables=ON", "--innodb-encrypt-log=ON", "--innodb-flush-log-at-trx-commit=2",
        f"--innodb-buffer-pool-size={POOL}",
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
    query(socket, TABLE.format(name="w", width=WIDTH) + FILL.format(name="w", width=WIDTH, rows=rows)
          + "FLUSH TABLES w FOR EXPORT;\nUNLOCK TABLES;\n")
    return rows * WIDTH


def insert_small(text, socket):
    query(socket, TABLE.format(name="s", width=SMALL) + text.format(name="s", width=SMALL, rows=SMALL_ROWS))
    return SMALL_ROWS * SMALL


@functools.lru_cache(1)
def prepare(mode):
    """A directory for each side, with the table, which a server without tenrounds encrypted."""
    server, socket = serve("plain", mode, "data")
    query(socket, TABLE.format(name="t", width=WIDTH) + FILL.format(name="t", width=WIDTH, rows=ROWS))
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
for mode, workload, direction, call, load in (
        ("CTR", "cold scan, rows of 3.5 KB", "decrypt", 16384, scan),
        ("CTR", "insert and flush, rows of 3.5 KB", "encrypt", 16384, insert),
        ("CTR", "insert, rows of 100 B", "encrypt", 128, functools.partial(insert_small, FILL)),
        ("CTR", "insert, rows of 100 B, a transaction each", "encrypt", 128, functools.partial(insert_small, COMMITS)),
        ("CBC", "cold scan, rows of 3.5 KB", "decrypt", 16384, scan),
        ("CBC", "insert and flush, rows of 3.5 KB", "encrypt", 16384, insert)):
    def serve_prepared(side):
        prepare(mode)
        return serve(side, mode, side)

    Gain(consumer, "MariaDB", f"{workload}, AES-256-{mode}", f"AES-256-{mode}", "mariadb-server", direction=direction,
         call=call).result(Server(serve_prepared, load))
consumer.end()
