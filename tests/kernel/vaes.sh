# SPDX-License-Identifier: BSD-2-Clause
# An emulated VAES. QEMU before 10 computes it wrongly: our known answers have to see it, and the next backend does the
# work; with a newer one the backend for VAES has to pass. (None emulates
# VPCLMULQDQ, which vaes512 and vaes256 proper need: carry-less multiplication is masked, so that theirs without it is chosen.)
# guest: vaes

check 'the processor has VAES' flag vaes
check 'loads' load mask=noclmul
if dmesg | grep -q 'wrong known answers, not used: vaes256-noclmul'; then
    same 'VAES is computed wrongly here; the backend' "$backend" aesni-noclmul
    passed aesni-noclmul 250
else
    same 'the backend' "$backend" vaes256-noclmul
    passed vaes256-noclmul 450
fi
unload
