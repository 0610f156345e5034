#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Encrypts by a library until it is killed. For the corpus of `tenrounds trace`.

library.py gcrypt CIPHER MODE [FEATURE...]  numbers of libgcrypt; it does without the features
library.py nettle                           AES-128 in ECB
"""
import ctypes
import signal
import sys

signal.alarm(600)  # should nobody kill it
SIZE = 65536
data = ctypes.create_string_buffer(SIZE)
key = bytes(range(16))

if sys.argv[1] == "gcrypt":
    cipher, mode = int(sys.argv[2]), int(sys.argv[3])
    gcrypt = ctypes.CDLL("libgcrypt.so.20")
    DISABLE_HWF = 63
    for feature in sys.argv[4:]:
        if gcrypt.gcry_control(DISABLE_HWF, feature.encode(), None):
            sys.exit(f"libgcrypt knows no feature {feature}")
    gcrypt.gcry_check_version.restype = ctypes.c_char_p
    gcrypt.gcry_check_version(None)
    handle = ctypes.c_void_p()
    if gcrypt.gcry_cipher_open(ctypes.byref(handle), cipher, mode, 0):
        sys.exit(f"libgcrypt has no cipher {cipher} in mode {mode}")
    assert gcrypt.gcry_cipher_setkey(handle, key, len(key)) == 0
    print("ready", flush=True)
    while gcrypt.gcry_cipher_encrypt(handle, data, SIZE, None, 0) == 0:
        pass
else:
    nettle = ctypes.CDLL("libnettle.so.8")
    context = ctypes.create_string_buffer(1024)
    nettle.nettle_aes128_set_encrypt_key(context, key)
    print("ready", flush=True)
    while True:
        nettle.nettle_aes128_encrypt(context, SIZE, data, data)
