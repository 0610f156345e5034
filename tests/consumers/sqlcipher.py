# SPDX-License-Identifier: BSD-2-Clause
"""Tests SQLCipher: a table is scanned, page by page. With --measure: the CPU seconds for each GB."""

from harness import Consumer
from harness_gains import MEASURING, Command, Gain

consumer = Consumer("sqlcipher", limit=900 if MEASURING else 120, needs={"sqlcipher": "sqlcipher", "openssl": "openssl"})
ROWS, TIMES = (100_000, 4) if MEASURING else (2_000, 1)
PRAGMAS = "PRAGMA key = \"x'" + "2d" * 32 + "'\";\nPRAGMA cipher_page_size = 16384;\n"

consumer.run("plain", ["sqlcipher", "data.db"], limit=300, input=(PRAGMAS + f"""
CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
INSERT INTO t SELECT i, randomblob(2000) FROM n;
""").encode())
# length() alone would skip the overflow pages, and a cache of 2 MB keeps few pages.
scan = "SELECT sum(instr(v, x'00')) FROM t;\n" * TIMES
consumer.write("scan.sql", PRAGMAS + scan)
size = ROWS * 2000 * TIMES
Gain(consumer, "SQLCipher", "scan, 16 KiB pages, AES-256-CBC", "AES-256-CBC", "libsqlcipher?", direction="decrypt").result(
    Command(["sqlcipher", "-init", "scan.sql", "data.db", ".quit"], size))
consumer.end()
