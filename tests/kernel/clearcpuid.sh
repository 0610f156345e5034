# SPDX-License-Identifier: BSD-2-Clause
# The module honours clearcpuid=aes: CPUID reports AES instructions, but the kernel must not use
# them.
# guest: clearcpuid

check 'the processor has AES instructions' $bin/cpuid aes
refused 'which the kernel does not use' flag aes
check 'loads' load
same 'the backend' "$backend" vperm
passed vperm 90
unload
