# SPDX-License-Identifier: BSD-2-Clause
"""Tests BorgBackup: an archive is created. With --measure: the CPU seconds for each GB."""

import os
import shutil

from harness import Consumer
from harness_gains import MEASURING, Command, Gain

consumer = Consumer("borgbackup", limit=1500 if MEASURING else 120, needs={"borg": "borgbackup", "openssl": "openssl"})
SIZE = (256 << 20) if MEASURING else (8 << 20)
ENVIRONMENT = {"BORG_PASSPHRASE": "x", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
               "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes", "BORG_BASE_DIR": consumer.path("borg")}

os.mkdir(consumer.path("files"))
for at in range(SIZE >> 22):
    consumer.write(f"files/{at}", os.urandom(4 << 20))


def fresh(_):
    """An empty repository, so that nothing is deduplicated."""
    shutil.rmtree(consumer.path("repository"), ignore_errors=True)
    shutil.rmtree(consumer.path("borg"), ignore_errors=True)
    consumer.run("plain", ["borg", "init", "--encryption", "repokey-blake2", "repository"],
                 env={**consumer.environment, **ENVIRONMENT})


Gain(consumer, "BorgBackup", "create, AES-256-CTR, BLAKE2", "AES-256-CTR", "borgbackup", call=1 << 20).result(
    Command(["borg", "create", "--compression", "none", "repository::a", "files"], SIZE, ENVIRONMENT, fresh))
consumer.end()
