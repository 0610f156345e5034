# SPDX-License-Identifier: BSD-2-Clause
# A processor of the first years of x86-64, which has SSE2 and nothing else: bitslice, and no vector registers are asked for.
# guest: nossse3
# modules: algif_skcipher

modprobe algif_skcipher
refused 'the processor has no SSSE3' flag ssse3
refused 'nor AVX' flag avx
check 'loads' load
same 'the backend' "$backend" bitslice
passed bitslice 90
check 'requests' $bin/alg encrypt skcipher "$(driver xts)" 65536 10
same 'take no vector registers' "$(counter holds)" 0
unload
