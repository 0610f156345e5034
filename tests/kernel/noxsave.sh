# SPDX-License-Identifier: BSD-2-Clause
# A kernel that saves no more than the registers of SSE (noxsave), on a processor with AVX and an emulated VAES (vaes.sh): what
# needs AVX is not even tried.
# guest: noxsave

check 'the processor has VAES' $bin/cpuid vaes
refused 'the kernel does not use it' flag vaes
refused 'nor AVX' flag avx
check 'loads' load mask=noclmul
same 'the backend' "$backend" aesni-noclmul
since >/tmp/since
refused 'no other was tried' grep 'not used:' /tmp/since
passed aesni-noclmul 250
unload
