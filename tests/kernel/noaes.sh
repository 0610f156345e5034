# SPDX-License-Identifier: BSD-2-Clause
# A processor without AES instructions: vperm, without being told.
# guest: noaes

refused 'the processor has no AES instructions' flag aes
check 'it has SSSE3' flag ssse3
check 'loads' load
same 'the backend' "$backend" vperm
passed vperm 90
unload
