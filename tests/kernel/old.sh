# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# A processor without AES instructions and without SSSE3: bitslice, below what the kernel has itself.
# guest: old

refused 'the processor has no AES instructions' flag aes
check 'the module loads' load
same 'the backend' "$backend" bitslice
for mode in ecb cbc cts-cbc ctr xctr xts gcm rfc4106-gcm ccm; do
    same "$mode: priority" "$(crypto "$(driver $mode)" priority)" 90
    same "$mode: self-test" "$(crypto "$(driver $mode)" selftest)" passed
done
same 'vector registers taken' "$(counter holds)" 0
check 'and unloads' unload
