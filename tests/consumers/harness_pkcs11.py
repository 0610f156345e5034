# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of programs that speak PKCS#11 share. Each program loads the module by its path, or
through p11-kit, and its results have to be those of the openssl command without tenrounds.

The programs run on the side "ours", so that the module counts what it does; `demand_module` says
whether our code ran. A token of SoftHSM keeps keys for those tests that need one.
"""

import glob
import os
import re
import sys

from harness import ROOT, Consumer, check

KEY = bytes(range(32))
NONCE = bytes(range(100, 112))
PIN = "1234"  # of the user of SoftHSM's token
MESSAGE = bytes(i * 167 % 251 for i in range(300000))


class ModuleConsumer(Consumer):
    def __init__(self, name, limit, needs):
        super().__init__(name, limit, {"openssl": "openssl", **needs})
        self.module = os.path.join(self.dist, "lib", "pkcs11", "tenrounds-pkcs11.so")
        detected = self.run("plain", [os.path.join(self.dist, "bin", "tenrounds"), "status", "--json"]).decode()
        self.backends = sorted(set(re.findall(r'"backend": "([a-z0-9-]+)"', detected)))
        self.write("message", MESSAGE)

    def library(self, name, package):
        """The path of a shared library or module of the distribution."""
        found = sorted(glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib64/{name}"))
        if not found:
            self.skip_all(f"not installed: {name} (package {package})")
        return found[0]

    def openssl(self, cipher, key=KEY, message=MESSAGE, iv=None):
        """What the openssl command encrypts, without tenrounds and without padding."""
        words = ["enc", f"-{cipher}", "-nopad", "-K", key.hex()] + (["-iv", iv.hex()] if iv else [])
        return self.run("plain", ["openssl", *words], input=message)

    def token(self, said):
        """Demands that a program's text about the token names our backend; returns a note."""
        text = said.decode(errors="replace")
        check("tenrounds" in text, f"the program does not see the token: {text}")
        models = [name for name in self.backends if name in text]
        check(models, f"the token's model is none of {self.backends}, which run here: {text}")
        return f"on {models[0]}"

    def demand_module(self, operations=(), least=0):
        """Demands that the module was loaded in finished programs of this result, and that it
        processed so many bytes in these operations together; returns a note."""
        loaded = [host for run in self.finished() for host in run["hosts"] if host["host"] == "pkcs11"]
        check(loaded, "no program loaded the module")
        done = self.executed(operations, hosts=("pkcs11",))
        check(done >= least, f"the module did {done} bytes, and should have done {least}, in {operations}: "
              + str([run["executed"] for run in self.finished()]))
        return f"{done} bytes by the module" if least else "the module was loaded"

    def tool(self, *words, **how):
        return self.run("plain", [os.path.join(self.dist, "bin", "tenrounds"), *words], **how)

    def make_softhsm_token(self, label):
        """Makes a token of SoftHSM in a private folder, for this test alone."""
        os.mkdir(self.path("softhsm"))
        self.write("softhsm.conf", f"directories.tokendir = {self.path('softhsm')}\nobjectstore.backend = file\n")
        self.environment["SOFTHSM2_CONF"] = self.path("softhsm.conf")
        self.run("plain", ["softhsm2-util", "--init-token", "--free", "--label", label, "--pin", PIN, "--so-pin", "officer"])

    def python(self, script, *words, python=None, **how):
        """Runs a Python script of this test in a process of its own, counted."""
        return self.run("ours", [python or sys.executable, script, *words], **how)


__all__ = ["KEY", "MESSAGE", "NONCE", "PIN", "ROOT", "ModuleConsumer", "check"]
