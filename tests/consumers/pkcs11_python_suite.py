# SPDX-License-Identifier: BSD-2-Clause
"""Runs python-pkcs11's own tests, without a PIN. Those that need a mechanism that the module does
not offer skip themselves; EXCLUDED has the others that cannot pass, each with its reason.
"""

import json
import os

from harness_pkcs11 import ModuleConsumer, check

consumer = ModuleConsumer("python-pkcs11-suite", limit=240, needs={"python3": "python3"})
EXCLUDED = {
    "test_sessions.SessionTests.test_seed_random":
        "the operating system's random numbers take no seed (CKR_RANDOM_SEED_NOT_SUPPORTED)",
    "test_slots_and_tokens.SlotsAndTokensTests.test_get_mechanism_info": "it asks for RSA-OAEP",
    "test_slots_and_tokens.SlotsAndTokensTests.test_get_mechanism_info_ec": "it asks for keys of elliptic curves",
    "test_slots_and_tokens.SlotsAndTokensTests.test_get_mechanisms": "it asks for RSA",
    "test_public_key_external": "it imports a library for public keys, and the module has none",
    "test_x509": "it imports a library for public keys, and the module has none",
}
# As many tests passed when the list was made: a suite that skips everything has not passed.
LEAST = 69
RUNNER = """
import json
import sys
import unittest

excluded = json.loads(sys.argv[1])
names, outcomes = [], {"passed": 0, "failed": {}, "skipped": {}}


def tests(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests(one)
        else:
            yield one


def name(test):
    # A module that cannot be imported is a test of that name.
    return test.id().removeprefix("unittest.loader._FailedTest.").removeprefix("tests.")


class Result(unittest.TestResult):
    def addSuccess(self, test):
        outcomes["passed"] += 1

    def addSkip(self, test, why):
        outcomes["skipped"][name(test)] = why

    def addFailure(self, test, error):
        outcomes["failed"][name(test)] = self._exc_info_to_string(error, test)

    addError = addFailure


    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addFailure(test, error)


chosen = unittest.TestSuite()
for test in tests(unittest.defaultTestLoader.discover("tests", top_level_dir=".")):
    names.append(name(test))
    if name(test) not in excluded:
        chosen.addTest(test)
chosen.run(Result())
outcomes["missing"] = sorted(set(excluded) - set(names))
json.dump(outcomes, open("outcomes.json", "w"))
"""


def suite(python):
    os.symlink(os.path.join(os.path.dirname(os.path.dirname(python)), "suite", "tests"), consumer.path("tests"))
    consumer.environment.update(PKCS11_MODULE=consumer.module, PKCS11_TOKEN_LABEL="tenrounds",
                                PYTHONDONTWRITEBYTECODE="1")
    consumer.python("runner.py", json.dumps(sorted(EXCLUDED)), python=python, limit=200)
    outcomes = json.loads(consumer.read("outcomes.json"))
    for name, why in EXCLUDED.items():
        consumer.say(f"excluded: {name}: {why}")
    reasons = sorted(set(outcomes["skipped"].values()))
    consumer.say(f"skipped by the suite: {len(outcomes['skipped'])}: " + "; ".join(reasons))
    check(not outcomes["failed"], "\n".join(f"{name}\n{why}" for name, why in outcomes["failed"].items()))
    check(not outcomes["missing"], f"the suite has no such tests, which EXCLUDED names: {outcomes['missing']}")
    check(outcomes["passed"] >= LEAST, f"only {outcomes['passed']} tests passed, and should be {LEAST}")
    return f"{outcomes['passed']} tests passed, {consumer.demand_module(('cbc_encrypt',), 16)}"


consumer.write("runner.py", RUNNER)
consumer.result("python-pkcs11's own tests", suite, consumer.fetched("python-pkcs11"))
consumer.end()
