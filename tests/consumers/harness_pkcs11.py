# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of programs that speak PKCS#11 share. Each program loads the module by its path, or
through p11-kit, and its results have to be those of the openssl command without tenrounds.

`token` and `counted` say whether our code ran. A key of the module's slot never leaves the process,
so equal ciphertext shows it. The model of the token names the backend.
"""

import glob
import json
import os
import re
import sys

from harness import ROOT, Consumer, Failed, check

KEY = bytes(range(32))
NONCE = bytes(range(100, 112))
MESSAGE = bytes(i * 167 % 251 for i in range(300000))


class TokenConsumer(Consumer):
    def __init__(self, name, limit, needs):
        super().__init__(name, limit, {"openssl": "openssl", **needs})
        self.module = os.path.join(self.dist, "lib", "pkcs11", "tenrounds-pkcs11.so")
        detected = self.run("plain", [os.path.join(self.dist, "bin", "tenrounds"), "detect", "--json"]).decode()
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

    def counted(self, words, operations, least, **how):
        """Runs a program under 'tenrounds run --count'. Demands that the module processed so many
        bytes in these operations together; returns a note."""
        tool = os.path.join(self.dist, "bin", "tenrounds")
        self.run("plain", [tool, "run", "--count=counts", "--json", "--", *words], **how)
        lines = json.loads(self.read("counts"))["run"]["executed"]
        ours = [line for line in lines if line["host"] == "pkcs11" and line["operation"] in operations]
        check(sum(line["bytes"] for line in ours) >= least, f"the module's {operations} are not among {lines}")
        return f"on {ours[0]['backend']}"

    def python(self, script, *words, python=None, **how):
        """Runs a Python script of this test in a process of its own."""
        return self.run("plain", [python or sys.executable, script, *words], **how)


__all__ = ["KEY", "MESSAGE", "NONCE", "ROOT", "Failed", "TokenConsumer", "check"]
