# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of real programs share. A Consumer runs the distribution's programs plainly and
under `tenrounds run --count` and reports results as TAP. At the end it removes all processes and
files.

A test is a script: `consumer = Consumer(...)`, a function for each result, `consumer.end()`. The
sides are "plain", "ours" (with tenrounds) and "java" (with its PKCS#11 module in JVMs), "jar" (with its Java provider). Uses
Python's standard library only.
"""

import atexit
import json
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIST = os.path.abspath(os.environ.get("TENROUNDS_DIST", os.path.join(ROOT, "build", "dist")))
MUST_RUN = "TENROUNDS_MUST_RUN" in os.environ
SKIPPED = 77  # the exit status for a skip, as in automake and Meson
# The time limits are for an idle machine. On a loaded one a test may take a multiple of them.
PATIENCE = 5
# Where free_port() looks: below the ports that Linux gives to clients, of which one may take a
# port before the server does.
PORTS = range(15000, 32000)

# The bulk operations that show that a mode ran. GCM and CCM can be composed of other operations.
OPERATIONS = {
    "CBC": ("cbc_encrypt", "cbc_decrypt"),
    "ECB": ("ecb_encrypt", "ecb_decrypt"),
    "CFB": ("cfb_encrypt", "cfb_decrypt"),
    "CFB1": ("ecb_encrypt",),
    "CFB8": ("ecb_encrypt",),
    "OFB": ("ofb",),
    "CTR": ("ctr",),
    "GCM": ("gcm_seal", "gcm_open", "gcm_encrypt", "gcm_decrypt", "ctr"),
    "CCM": ("ccm_encrypt", "ccm_decrypt", "ctr"),
}


class Failed(Exception):
    """A wrong result; the text says what was found."""


def check(good, why):
    if not good:
        raise Failed(why)


def free_port():
    """Returns an unused port, for TCP and UDP."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("", port))
                udp.bind(("", port))
                return port
            except OSError:
                pass


def find(program):
    """Finds the distribution's program, in the sbin directories, too."""
    return shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin")


class Process(subprocess.Popen):
    """A program in its own session, which ends with this script at the latest."""

    def stop(self, how=signal.SIGTERM, limit=20):
        """Asks the program to end and waits. The program writes its counts as it ends."""
        if self.poll() is None:
            os.kill(self.pid, how)
        try:
            return self.wait(limit * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise Failed(f"{self.args} did not end within {limit * PATIENCE} seconds of signal {int(how)}")

    def kill_all(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.wait()


class Consumer:
    def __init__(self, name, limit, needs):
        """limit: seconds, PATIENCE times unless it measures; needs: the distribution's programs, with
        the package of each."""
        self.name, self.limit = name, limit if "--measure" in sys.argv else limit * PATIENCE
        self.results = self.failures = 0
        self.processes, self.counts = [], []
        self.directory = tempfile.mkdtemp(prefix=f"tenrounds-{name}-")
        atexit.register(self.clean)
        signal.signal(signal.SIGALRM, self.too_long)
        for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(ending, lambda number, frame: sys.exit(128 + number))
        signal.alarm(self.limit)
        self.program = {program: find(program) for program in needs}
        missing = [f"{program} (package {needs[program]})" for program in needs if not self.program[program]]
        if missing:
            self.skip_all("not installed: " + ", ".join(missing))
        # A copy that every user can read, because some servers do not run as root.
        self.dist = self.path("dist")
        shutil.copytree(DIST, self.dist)
        os.chmod(self.directory, 0o755)
        self.user = None
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("OPENSSL_", "SSL_", "XDG_", "TENROUNDS_"))}
        self.environment.update(HOME=self.directory, TMPDIR=self.directory, LC_ALL="C")
        for inherited in ("TENROUNDS_MASK",):
            if inherited in os.environ:
                self.environment[inherited] = os.environ[inherited]
        self.offered = self.ask_offered()

    # ---- Results ----

    def say(self, text):
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def result(self, text, function, *arguments):
        """Calls a function; prints a line of TAP, which is "not ok" if it raises Failed."""
        self.results += 1
        self.counts = []
        begin = time.monotonic()
        try:
            note = function(*arguments)
            print(f"ok {self.results} - {text}{f': {note}' if note else ''}", flush=True)
        except (Failed, OSError, subprocess.SubprocessError) as why:
            self.failures += 1
            print(f"not ok {self.results} - {text}", flush=True)
            self.say(f"after {time.monotonic() - begin:.1f} s: {why}")
            if not isinstance(why, Failed):
                self.say(traceback.format_exc())
        finally:
            for process in self.processes:
                process.kill_all()
            self.processes = []

    def skip_all(self, reason, refused=False):
        """Ends this test without a result. refused: the kernel or the container does not permit
        it, which no package can change; with TENROUNDS_MUST_RUN the others are failures."""
        if "TENROUNDS_SKIPPED" in os.environ:  # scripts/consumers repeats the reason at its end
            with open(os.environ["TENROUNDS_SKIPPED"], "w") as file:
                file.write(reason)
        if MUST_RUN and not refused:
            print(f"1..1\nnot ok 1 - {self.name}: skipped, but has to run here (TENROUNDS_MUST_RUN): {reason}")
            sys.exit(1)
        print(f"1..0 # SKIP {self.name}: {reason}")
        sys.exit(SKIPPED)

    def fetched(self, name):
        """Where scripts/fetch has put a program of others."""
        made = subprocess.run([f"{ROOT}/scripts/fetch", name], capture_output=True, text=True)
        if made.returncode != 0:
            self.skip_all(f"scripts/fetch {name} failed: {made.stderr.strip()}")
        return made.stdout.strip()

    def compiled(self, name, *words):
        """Compiles the C program of this name beside this file, and returns its path."""
        source = os.path.join(ROOT, "tests", "consumers", f"{name}.c")
        made = subprocess.run(["cc", "-O2", "-Wall", "-Wextra", source, "-o", self.path(name), *words],
                              capture_output=True, text=True)
        if made.returncode != 0:
            self.skip_all(f"cc cannot compile {name}.c: {made.stderr.strip()}")
        return self.path(name)

    def too_long(self, *_):
        self.results += 1
        print(f"not ok {self.results} - {self.name} did not end within its limit of {self.limit} seconds")
        sys.exit(1)

    def end(self):
        print(f"1..{self.results}")
        sys.exit(1 if self.failures or not self.results else 0)

    def clean(self):
        signal.alarm(0)
        for process in self.processes:
            process.kill_all()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- Files ----

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    # ---- Programs ----

    def as_user(self, user):
        """If run as root, starts later programs as this user and gives it the directory."""
        if os.geteuid() == 0:
            self.user = user
            for directory, _, files in os.walk(self.directory):
                for name in [directory] + [os.path.join(directory, file) for file in files]:
                    shutil.chown(name, user)

    def line(self, side, argv):
        line = [self.program.get(argv[0]) or find(argv[0]) or argv[0]] + [str(a) for a in argv[1:]]
        if side != "plain":
            counts = self.path(f"counts-{len(self.counts)}-{self.results}.json")
            self.counts.append(counts)
            how = ["--java"] if side == "jar" else []
            how += ["--", "env", self.sunpkcs11(line[0])] if side == "java" else ["--"]
            line = [os.path.join(self.dist, "bin", "tenrounds"), "run", "--count", "--json", "--output", counts, *how] + line
        if self.user:
            owner = pwd.getpwnam(self.user)
            line = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"] + line
        return line

    def sunpkcs11(self, program):
        """A variable that puts the PKCS#11 module before the providers of a JDK (docs/pkcs11.md)."""
        java = program if program.endswith("/bin/java") else self.program["java"]
        with open(os.path.join(os.path.dirname(os.path.realpath(java)), "..", "conf/security/java.security")) as file:
            theirs = re.findall(r"^security\.provider\.\d+=(.*)", file.read(), re.M)
        module = os.path.join(self.dist, "lib/pkcs11/tenrounds-pkcs11.so")
        config = self.write("sunpkcs11.cfg", f"name = tenrounds\nlibrary = {module}\nslot = 0\n"
                                             "disabledMechanisms = {\n  SecureRandom\n}\n")
        lines = (f"security.provider.{n}={name}\n" for n, name in enumerate([f"SunPKCS11 {config}", *theirs], 1))
        return f"JAVA_TOOL_OPTIONS=-Djava.security.properties={self.write('sunpkcs11.security', ''.join(lines))}"

    def start(self, side, argv, **how):
        """Starts a program in the background; it ends with the result at the latest."""
        how.setdefault("env", self.environment)
        how.setdefault("cwd", self.directory)
        process = Process(self.line(side, argv), start_new_session=True, **how)
        self.processes.append(process)
        return process

    def run(self, side, argv, limit=60, good=(0,), **how):
        """Runs a program and returns its standard output. Raises Failed on a bad exit status."""
        given = how.pop("input", b"")
        process = self.start(side, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **how)
        try:
            out, err = process.communicate(given, limit * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill_all()
            raise Failed(f"{side} {argv} did not end within {limit * PATIENCE} seconds")
        if process.returncode not in good:
            raise Failed(f"{side}: {' '.join(map(str, argv))}\nstatus {process.returncode}\n"
                         f"{(out[-2000:] + err[-4000:]).decode(errors='replace')}")
        return out

    def until(self, condition, what, limit=20, of=None):
        """Waits until a condition is true; `of` is the process that must stay alive meanwhile."""
        end = time.monotonic() + limit * PATIENCE
        while time.monotonic() < end:
            ended = of is not None and of.poll() is not None
            if condition():
                return
            if ended:
                raise Failed(f"{of.args} ended with status {of.returncode}, before {what}")
            time.sleep(0.02)
        raise Failed(f"no {what} within {limit * PATIENCE} seconds")

    def listening(self, port, process):
        """Waits until a process listens on a loopback TCP port, without connecting to it."""
        pattern = re.compile(rf"^ *\d+: [0-9A-F]*:{port:04X} \S+ 0A ", re.M)

        def there():
            for table in ("/proc/net/tcp", "/proc/net/tcp6"):
                if os.path.exists(table):
                    with open(table) as file:
                        if pattern.search(file.read()):
                            return True
            return False
        self.until(there, f"listening on port {port}", of=process)

    def accepting(self, path, process):
        """Waits until a process accepts connections on a Unix socket. Its file appears earlier."""
        def connected():
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(path) == 0
        self.until(connected, f"a connection to {path}", of=process)

    def certificates(self, kinds=("rsa",)):
        """Makes kind.pem and kind.key for this result, for localhost and 127.0.0.1."""
        how = {"rsa": ["-newkey", "rsa:2048"],
               "ecdsa": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]}
        self.write("req.cnf", "[req]\ndistinguished_name = n\n[n]\n")
        for kind in kinds:
            new = how.get(kind)
            if new is None:
                self.run("plain", ["openssl", "dsaparam", "-out", "dsa.param", "1024"], limit=120)
                new = ["-newkey", "dsa:" + self.path("dsa.param")]
            self.run("plain", ["openssl", "req", "-config", "req.cnf", "-x509", "-nodes", "-days", "2", *new, "-subj",
                               "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                               "-keyout", f"{kind}.key", "-out", f"{kind}.pem"])

    # ---- What ran ----

    def ask_offered(self):
        """The names of all ciphers that the provider offers to this OpenSSL."""
        said = self.run("plain", ["openssl", "list", "-cipher-algorithms", "-provider-path",
                                  os.path.join(self.dist, "lib", "ossl-modules"), "-provider", "tenrounds"])
        names = re.findall(rb"^ *\{? ?(.*?) ?\}? @ tenrounds$", said, re.M)
        offered = {name.strip().upper() for line in names for name in line.decode().split(",")}
        check("AES-128-CBC" in offered, f"the provider offers no AES-128-CBC: {said.decode()}")
        return offered

    def finished(self):
        """What `tenrounds run --count` wrote of each finished program of this result."""
        for counts in filter(os.path.exists, self.counts):
            with open(counts) as file:
                yield json.load(file)["run"]

    def executed(self, operations, hosts=("provider", "engine", "pkcs11")):
        """Bytes that tenrounds processed in these operations in finished programs."""
        lines = (line for run in self.finished() for line in run["executed"])
        return sum(line["bytes"] for line in lines if line["operation"] in operations and line["host"] in hosts)

    def demand(self, cipher, least, times=1):
        """Demands that tenrounds processed this many bytes in the cipher's mode, if the provider
        offers it, and returns a note of it. 1 % may be missing, because partial blocks at the ends
        of messages are not counted."""
        if cipher.upper() not in self.offered:
            return f"{cipher} is not among ours"
        mode = next(m for m in OPERATIONS if m in cipher.upper().split("-"))
        done = self.executed(OPERATIONS[mode])
        wanted = least * times * 99 // 100
        check(done >= wanted, f"of {cipher} our code did {done} bytes, and should have done {wanted} in "
              + ", ".join(OPERATIONS[mode]))
        return f"{done} bytes by our {mode}"
