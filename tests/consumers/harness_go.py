# SPDX-License-Identifier: BSD-2-Clause
"""Programs in Go that are built twice from one source, plainly and with the module in bindings/go and
its overlay."""

import json
import os
import shutil
import subprocess
import time
from subprocess import DEVNULL

from harness import ROOT, check
from harness_gains import SIDES, Command, OwnGain, SymbolSampler

MODULE = "example.org/tenrounds/bindings/go"
BUILD = os.path.join(ROOT, "build")
# Without the core the program ends, so that no row compares a program with itself.
ADDED = f"""package main

import "{MODULE}/stdlib"

func init() {{
	if !stdlib.Active() {{
		panic("this program does not use tenrounds")
	}}
}}
"""


def go(*words, cwd=None):
    """Runs the go command that scripts/go finds, in a folder or in bindings/go."""
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}
    root = subprocess.run([f"{ROOT}/scripts/go", "run", "env", "GOROOT"], capture_output=True, text=True, check=True)
    tool = os.path.join(root.stdout.strip(), "bin", "go")
    environment["PATH"] = f"{os.path.dirname(tool)}:{environment['PATH']}"
    for pause in (5, 15, 30, None):  # a download may fail; what else fails does so again
        made = subprocess.run([tool, *words], cwd=cwd or f"{ROOT}/bindings/go", env=environment, capture_output=True,
                              text=True)
        if made.returncode == 0 or pause is None:
            break
        time.sleep(pause)
    check(made.returncode == 0, f"go {' '.join(words)}: {made.stdout[-2000:]}{made.stderr[-4000:]}")
    return made.stdout.strip()


class Program:
    """A program of the module proxy: `path`, version and checksum of its module, and its package.
    `imports` is the file whose import of crypto/aes becomes ours, if the program needs more than GCM."""

    def __init__(self, consumer, name, module, version, checksum, package=".", imports=None, tags=""):
        self.consumer, self.name, self.module, self.version = consumer, name, module, version
        subprocess.run([f"{ROOT}/scripts/go", "generate", BUILD], check=True, stdout=DEVNULL)
        told = json.loads(go("mod", "download", "-json", f"{module}@v{version}"))
        check(told["Sum"] == checksum, f"{module} {version} has the checksum {told['Sum']}")
        source = self.binary("source")
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(told["Dir"], source)
        subprocess.run(["chmod", "-R", "u+w", source], check=True)
        go("mod", "edit", "-require", f"{MODULE}@v0.0.0", "-replace", f"{MODULE}={ROOT}/bindings/go", cwd=source)
        build = lambda side, *options: go("build", "-mod=mod", "-trimpath", "-tags", tags, "-o", self.binary(side),
                                          *options, f"./{package}", cwd=source)
        build("plain")
        with open(os.path.join(source, package, "tenrounds.go"), "w") as file:
            file.write(ADDED)
        if imports:
            path = os.path.join(source, imports)
            with open(path) as file:
                text = file.read()
            check(text.count('"crypto/aes"') == 1, f"{imports} does not import crypto/aes once")
            with open(path, "w") as file:
                file.write(text.replace('"crypto/aes"', f'aes "{MODULE}"'))
        build("ours", "-overlay", go("run", "./overlay"))

    def binary(self, side):
        return os.path.join(BUILD, "go-programs", f"{self.name}-{side}")


class GoSampler(SymbolSampler):
    names = rf"crypto/internal/fips140/aes|crypto/aes|{MODULE}\.core"


class GoCommand(Command):
    """A Command with another file for each side. {side} in a word is the name of the side."""

    def open(self, gain):
        self.gain = gain
        self.environment = {side: {**gain.consumer.environment, **self.env} for side in SIDES}

    def window(self, side, argv=None):
        words = [word.replace("{side}", side) if isinstance(word, str) else word for word in argv or self.argv]
        return super().window(side, words)

    def counted(self):
        return 0


class GoGain(OwnGain):
    sampler = GoSampler

    def __init__(self, program, title, workload, cipher, **more):
        super().__init__(program.consumer, title, program.version, workload, cipher, program.module, **more)
