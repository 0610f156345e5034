# SPDX-License-Identifier: BSD-2-Clause
# On an early x86-64 processor, with no vector extension beyond SSE2, the module selects bitslice
# and never requests vector registers.
# guest: nossse3
# modules: algif_skcipher

modprobe algif_skcipher
refused 'the processor has no SSSE3' flag ssse3
refused 'the processor has no AVX' flag avx
check 'the module loads' load
same 'the backend is bitslice' "$backend" bitslice
passed bitslice 90
check 'the module encrypts' $bin/alg encrypt skcipher "$(driver xts)" 65536 10
same 'no request holds vector registers' "$(counter holds)" 0
unload
