# SPDX-License-Identifier: BSD-2-Clause
# A kernel booted with noxsave saves only the SSE registers. The processor has AVX and an emulated
# VAES (vaes.sh). The module must not even run known-answer tests of backends that need AVX.
# guest: noxsave

check 'the processor has VAES' $bin/cpuid vaes
refused 'the kernel does not use VAES' flag vaes
refused 'the kernel does not use AVX' flag avx
check 'the module loads' load mask=noclmul
same 'the backend is aesni-noclmul' "$backend" aesni-noclmul
since >/tmp/since
refused 'no other backend was tried' grep 'not used:' /tmp/since
passed aesni-noclmul 250
unload
