# SPDX-License-Identifier: BSD-2-Clause
# Tests the VAES backend on QEMU. Versions before 10 compute VAES wrongly: known-answer tests have
# to detect that, and the module falls back to the next backend. With newer versions the VAES
# backend has to pass. No version emulates VPCLMULQDQ, which vaes512 and vaes256 need, so the mask
# noclmul selects their form without VPCLMULQDQ.
# guest: vaes

check 'the processor has VAES' flag vaes
check 'the module loads' load mask=noclmul
if dmesg | grep -q 'known-answer tests failed, not used: vaes256-noclmul'; then
    same 'QEMU computes VAES wrongly here, so the backend is aesni-noclmul' "$backend" aesni-noclmul
    passed aesni-noclmul 250
else
    same 'the backend is vaes256-noclmul' "$backend" vaes256-noclmul
    passed vaes256-noclmul 450
fi
unload
