# SPDX-License-Identifier: BSD-2-Clause
"""Random numbers with a seed, which each run prints and TENROUNDS_SEED sets."""

import os
import random

import pytest
import tenrounds

SEED = int(os.environ.get("TENROUNDS_SEED") or int.from_bytes(os.urandom(4), "big"))


def pytest_report_header():
    return f"TENROUNDS_SEED={SEED}, backend {tenrounds.backend()}"


@pytest.fixture
def rng(request):
    return random.Random(f"{SEED} {request.node.name}")
