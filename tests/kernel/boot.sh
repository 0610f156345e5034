# SPDX-License-Identifier: BSD-2-Clause
# Checks the guest itself, on which the other tests rely.
# guest: plain
# modules: algif_skcipher algif_aead

same 'the kernel has the requested version' "$(uname -r)" "$(cat /tests/release)"
check 'debugfs is mounted and has tracing' test -d /sys/kernel/debug/tracing
check 'AF_ALG for ciphers loads' modprobe algif_skcipher
check 'AF_ALG for authenticated ciphers loads' modprobe algif_aead
refused 'the processor has no VAES, which QEMU before 10 computes wrongly' flag vaes
