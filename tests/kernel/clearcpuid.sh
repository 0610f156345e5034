# SPDX-License-Identifier: BSD-2-Clause
# The module honours clearcpuid=aes: CPUID reports AES instructions, but the kernel must not use
# them.
# guest: clearcpuid

check 'the processor has AES instructions' $bin/cpuid aes
refused 'the kernel does not use the AES instructions' flag aes
check 'the module loads' load
same 'the backend is vperm' "$backend" vperm
passed vperm 90
unload
