# SPDX-License-Identifier: BSD-2-Clause
"""Tests programs that bundle or statically link OpenSSL, which tenrounds may not reach. They work
as without tenrounds, and `tenrounds run` names them when it starts them (docs/reach.md). A static
libcrypto of the distribution reads configuration and loads modules, so tenrounds reaches it. A
libcrypto that reads no configuration, as bundles may have, is not reached."""

import os
from subprocess import PIPE

from harness import PATIENCE, Consumer, check

consumer = Consumer("unreached", limit=120, needs={"cc": "gcc", "openssl": "openssl"})
PROGRAM = r"""
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argv;
    static unsigned char key[16] = {1}, iv[16] = {2}, text[4096], out[4096];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int len = 0;
    if (argc > 1) /* as a library that has its configuration elsewhere */
        OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    if (EVP_EncryptInit_ex(ctx, EVP_aes_128_ctr(), NULL, key, iv) != 1 ||
        EVP_EncryptUpdate(ctx, out, &len, text, sizeof(text)) != 1)
        return 1;
    return fwrite(out, 1, (size_t)len, stdout) == sizeof(out) ? 0 : 1;
}
"""


def encrypts(name, *words):
    """Returns standard error and the bytes that tenrounds processed. Standard output must be
    the same as without tenrounds."""
    out, err = {}, {}
    for side in ("plain", "ours"):
        process = consumer.start(side, [consumer.path(name), *words], stdout=PIPE, stderr=PIPE)
        out[side], err[side] = process.communicate(timeout=60 * PATIENCE)
        check(process.returncode == 0, f"{side}: status {process.returncode}: {err[side].decode()}")
    check(out["plain"] == out["ours"] and len(out["ours"]) == 4096, "other bytes than without us")
    return err["ours"].decode(), consumer.executed(("ctr",))


def named(name, text, *words):
    _, done = encrypts(name, *words)
    # With --count, which the harness adds, the counts tell.
    tool = os.path.join(consumer.dist, "bin", "tenrounds")
    process = consumer.start("plain", [tool, "run", "--", consumer.path(name), *words], stdout=PIPE, stderr=PIPE)
    said = process.communicate(timeout=60 * PATIENCE)[1].decode()
    check(f"/{name} {text}" in said, f"run did not name it: {said}")
    check(not (words and done), f"{done} bytes by our code, without a configuration")
    return f"run says that it {text}...; {done} bytes by our CTR"


def shared():
    said, done = encrypts("shared")
    check("tenrounds: /" not in said and done >= 4096, f"{done} bytes by our code, and run said: {said}")
    return f"{done} bytes by our CTR"


consumer.write("program.c", PROGRAM)
for name, how in (("static", ["-static", "-lcrypto"]), ("bundled", ["-l:libcrypto.a"]), ("shared", ["-lcrypto"])):
    consumer.run("plain", ["cc", "-Wall", "-Wextra", "-o", name, "program.c", *how])
consumer.result("the same program with the system's OpenSSL", shared)
for name, text in (("static", "is statically linked with OpenSSL"), ("bundled", "brings its own cryptography (OpenSSL")):
    consumer.result(f"{name}", named, name, text)
    consumer.result(f"{name}, without a configuration", named, name, text, "none")
consumer.end()
