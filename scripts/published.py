# SPDX-License-Identifier: BSD-2-Clause
"""A run of tenrounds-bench that `make bench` has published, for scripts/pictures and scripts/tables."""
import json
import os
import re
import sys

# The modes of the picture of README.md, as its text names them.
MODES = [("ctr", "CTR"), ("gcm-encrypt", "GCM"), ("xts-encrypt", "XTS"), ("cbc-decrypt", "CBC decryption"),
         ("cfb-decrypt", "CFB decryption")]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fail(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def processor_of(host):
    cpu = host["cpu"]
    return f"{cpu['brand']} (family {cpu['family']} model {cpu['model']})"


def identity(row):
    """What a program is called on every system. Its version may name another OpenSSL than the system's."""
    return ", ".join([row["program"], *row["version"].split(", ")[1:]])


def system_name(system):
    """The name and number of a system: "Debian GNU/Linux 13 (trixie)" is Debian 13."""
    return re.sub(r"^(\w+)\D*(\d+)?.*", r"\1 \2", system).strip()


def title(run):
    return f"{system_name(run['system'])}, {run['openssl']}"


def gain(row):
    return row["ratio"]["median"]


def best(runs):
    """Of each program the rows of the first system that has it, those with the largest gain first."""
    found = {}
    for run in runs:
        newer = set(found)
        for row in sorted(run["rows"], key=gain, reverse=True):
            if identity(row) not in newer:
                found.setdefault(identity(row), []).append(row)
    return found


class Run:
    def __init__(self, path, openssl=None):
        """The stock OpenSSL is that of the subject 'evp', or one of this version."""
        self.path, self.all = path, json.loads(read(path))
        if self.all.get("schema") != "tenrounds-bench-3":
            fail(f"{path} is no run of tenrounds-bench")
        titles = {subject["id"]: subject["title"] for subject in self.all["subjects"]}
        same = [id for id, title in titles.items()
                if id.startswith(f"openssl-{openssl}." if openssl else "openssl") and
                (openssl or titles.get("evp", "").endswith(title))]
        if not same:
            fail(f"{path} has not measured OpenSSL {openssl or 'of the subject evp'}")
        self.stock, self.openssl = same[0], titles[same[0]]

    def find(self, way, key_bits, bytes, subject):
        """GB/s, and the fraction of the limit; None if it was not measured."""
        wanted = [way, key_bits, bytes, "throughput", 1, "plain"]
        for cell in self.all["cells"]:
            what = [cell[name] for name in ("way", "key_bits", "bytes", "kind", "threads", "environment")]
            if what == wanted and subject in cell["figures"]:
                rate, limit, _, _ = cell["figures"][subject]
                return rate, 1.0 if limit is None else limit
        return None

    def row(self, *what):
        return self.find(*what) or fail(f"{self.path} has no row of {what}")

    def gain(self, way, key_bits, bytes):
        """GB/s of stock OpenSSL and tenrounds, their ratio, and the fraction of the limit. Both are
        measured against the limit of their rounds, so in the ratio of the fractions the clock
        cancels out."""
        (stock, of_limit), (ours, limit) = (self.row(way, key_bits, bytes, who) for who in (self.stock, "evp"))
        return stock, ours, limit / of_limit, limit

    def rounds(self, width):
        """Bytes per second through one AES round on registers of this width."""
        return next((l["bytes_per_second"] for l in self.all["limits"] if l["name"] == width), 0)

    def about(self):
        """Processor, machine, versions and date, in one line."""
        rows = sum(len(cell["figures"]) for cell in self.all["cells"])
        effort, host = self.all["effort"], self.all["host"]
        windows = effort["rounds"] * rows
        busy = effort["repeated"] > 0.1 * windows or effort["doubtful"] > 0.001 * windows
        machine = f"virtual machine ({host['hypervisor']})" if host["hypervisor"] else "machine" if busy else None
        machine = machine and ("busy " if busy else "") + machine
        parts = [processor_of(host), machine, self.openssl, f"tenrounds {self.all['version']}", self.all["date"]]
        return " · ".join(part for part in parts if part)


def gigabytes(rate):
    return f"{rate:.1f}" if rate >= 9.995 else f"{rate:.2f}"


def times(ratio):
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}"
