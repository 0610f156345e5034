# SPDX-License-Identifier: BSD-2-Clause
# On a processor without AES instructions the module selects vperm.
# guest: noaes

refused 'the processor has no AES instructions' flag aes
check 'the processor has SSSE3' flag ssse3
check 'the module loads' load
same 'the backend is vperm' "$backend" vperm
passed vperm 90
unload
