# SPDX-License-Identifier: BSD-2-Clause
"""Compiles the AES core and the extension module with the C compiler alone."""

import re
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

CORE = Path("core")
# Free-threaded Python has no stable ABI before 3.15: its wheels are for one version.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")


def sources():
    """The extension's sources, and the core's as its meson.build lists them."""
    names = re.findall(r"^  '(\S+\.c)',$", (CORE / "meson.build").read_text(), re.MULTILINE)
    return [str(CORE / name) for name in names] + sorted(map(str, Path("src/ext").glob("*.c")))


def version():
    header = (CORE / "include/tenrounds.h").read_text()
    return re.search(r'TR_VERSION_STRING "(.*)"', header).group(1)


# An empty TR_API hides the core's functions: two copies in a process never call each other.
macros = [("TR_API", "")] + [("Py_LIMITED_API", "0x030B0000")] * STABLE
flags = ["-std=c11", "-O3", "-g0", "-fvisibility=hidden", "-Wno-psabi"]
if "aarch64" in sysconfig.get_platform():
    flags.append("-mno-outline-atomics")

setup(
    version=version(),
    ext_modules=[
        Extension(
            "tenrounds._ext",
            sources(),
            include_dirs=[str(CORE), str(CORE / "include")],
            define_macros=macros,
            extra_compile_args=flags,
            py_limited_api=STABLE,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
