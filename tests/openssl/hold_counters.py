#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a script with counters files on descriptors 8 and 9: hold_counters.py SCRIPT [ARGUMENT...]

They are memfds as `tenrounds run --count` makes them: TRCOUNT0 and zeros, sealed against shrinking.
"""
import fcntl
import os
import sys

for number in (8, 9):
    memfd = os.memfd_create("tenrounds-counters", os.MFD_ALLOW_SEALING)
    os.ftruncate(memfd, 65536)
    os.pwrite(memfd, b"TRCOUNT0", 0)
    fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    os.dup2(memfd, number)
    os.close(memfd)
os.environ["COUNTERS_HELD"] = "1"
os.execv(sys.argv[1], sys.argv[1:])
