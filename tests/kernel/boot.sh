# SPDX-License-Identifier: BSD-2-Clause
# Checks the guest itself, on which the other tests rely.
# guest: plain
# modules: algif_skcipher algif_aead

same 'the kernel is the one that was asked for' "$(uname -r)" "$(cat /tests/release)"
check 'debugfs' test -d /sys/kernel/debug/tracing
check 'AF_ALG for ciphers' modprobe algif_skcipher
check 'AF_ALG for authenticated ciphers' modprobe algif_aead
refused 'the processor has no VAES, which QEMU 7 gets wrong' flag vaes
