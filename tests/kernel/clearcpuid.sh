# SPDX-License-Identifier: BSD-2-Clause
# A processor with AES instructions, and a kernel that was told to do without them (clearcpuid=): CPUID says yes, the kernel no.
# guest: clearcpuid

check 'the processor has AES instructions' $bin/cpuid aes
refused 'which the kernel does not use' flag aes
check 'loads' load
same 'the backend' "$backend" vperm
passed vperm 90
unload
