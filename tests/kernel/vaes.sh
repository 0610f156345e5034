# SPDX-License-Identifier: BSD-2-Clause
# VAES as QEMU emulates it. Versions before 10 compute it wrongly: known-answer tests have to detect
# that, and the module falls back to the next backend. With newer versions the VAES backend has to
# pass. No version emulates VPCLMULQDQ, which vaes512 and vaes256 need, so the mask noclmul selects
# their form without it.
# guest: vaes

check 'the processor has VAES' flag vaes
check 'loads' load mask=noclmul
if dmesg | grep -q 'known-answer tests failed, not used: vaes256-noclmul'; then
    same 'VAES is computed wrongly here; the backend' "$backend" aesni-noclmul
    passed aesni-noclmul 250
else
    same 'the backend' "$backend" vaes256-noclmul
    passed vaes256-noclmul 450
fi
unload
