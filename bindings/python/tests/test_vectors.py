# SPDX-License-Identifier: BSD-2-Clause
"""Vectors of Project Wycheproof and RFC 7253. Each line has a number, the verdict, key, nonce,
associated data, plaintext, ciphertext and tag (tests/vectors/README.md)."""

from pathlib import Path

import pytest
import tenrounds
from tenrounds.aead import AESCCM, AESGCM, AESGCMSIV, AESOCB3, AESSIV

FOLDER = Path(__file__).resolve().parents[3] / "tests/vectors"


def decoded(field):
    return b"" if field == "-" else bytes.fromhex(field)


def cases(name):
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        if not line.startswith("#"):
            _, verdict, key, nonce, aad, plaintext, ciphertext, tag = line.split()
            yield (
                verdict == "valid",
                decoded(key),
                decoded(nonce),
                [decoded(part) for part in aad.split(",")],
                decoded(plaintext),
                decoded(ciphertext),
                decoded(tag),
            )


def key_of(cls, key, tag):
    return cls(key, len(tag)) if cls is AESCCM else cls(key)


@pytest.mark.parametrize(
    ("cls", "name", "fewest"),
    [
        (AESGCM, "wycheproof/aes_gcm", 280),
        (AESCCM, "wycheproof/aes_ccm", 440),
        (AESGCMSIV, "wycheproof/aes_gcm_siv", 200),
        (AESOCB3, "rfc7253/appendix-a", 15),
        (AESOCB3, "rfc7253/nonce-104", 10),
        (AESOCB3, "rfc7253/nonce-112", 10),
        (AESOCB3, "rfc7253/nonce-120", 10),
    ],
)
def test_nonce(cls, name, fewest):
    done = 0
    for valid, key, nonce, aad, plaintext, ciphertext, tag in cases(name):
        aad = b"".join(aad)
        try:
            cipher = key_of(cls, key, tag)
            opened = cipher.decrypt(nonce, ciphertext + tag, aad)
        except tenrounds.InvalidTag:
            assert not valid
        except ValueError:  # a length that the class does not take
            assert not valid or not 8 <= len(nonce) <= 128 or len(tag) != 16
            continue
        else:
            assert valid or len(tag) != 16
            assert opened == plaintext
            assert cipher.encrypt(nonce, plaintext, aad) == ciphertext + tag
        done += 1
    assert done >= fewest


@pytest.mark.parametrize("name", ["aes_siv_cmac", "aead_aes_siv_cmac"])
def test_siv(name):
    done = 0
    for valid, key, _, aad, plaintext, ciphertext, tag in cases(f"wycheproof/{name}"):
        cipher = AESSIV(key)
        aad = aad if name == "aes_siv_cmac" or aad != [b""] else []
        if valid:
            assert cipher.encrypt(plaintext, aad) == tag + ciphertext
            assert cipher.decrypt(tag + ciphertext, aad) == plaintext
        else:
            with pytest.raises(tenrounds.InvalidTag):
                cipher.decrypt(tag + ciphertext, aad)
        done += 1
    assert done > 400


def test_xts():
    done = 0
    for valid, key, nonce, _, plaintext, ciphertext, _ in cases("wycheproof/aes_xts"):
        tweak = nonce.ljust(16, b"\0")
        if not valid:
            with pytest.raises(ValueError):
                tenrounds.aes_xts_decrypt(key, tweak, ciphertext)
            continue
        assert tenrounds.aes_xts_encrypt(key, tweak, plaintext) == ciphertext
        assert tenrounds.aes_xts_decrypt(key, tweak, ciphertext) == plaintext
        done += 1
    assert done > 60


def test_cbc():
    done = 0
    for valid, key, iv, _, plaintext, ciphertext, _ in cases("wycheproof/aes_cbc_pkcs5"):
        if valid:
            padding = 16 - len(plaintext) % 16
            padded = plaintext + bytes([padding]) * padding
            assert tenrounds.aes_cbc_decrypt(key, iv, ciphertext) == padded
            assert tenrounds.aes_cbc_encrypt(key, iv, padded) == ciphertext
            done += 1
    assert done > 60
