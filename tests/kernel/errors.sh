# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Bad input gives the same errno as the kernel's own driver, writes only the output and leaks no
# memory (errors/).
# guest: plain
# modules: aesni-intel gcm ccm ctr algif_skcipher algif_aead

check 'the module loads' load
check 'modprobe aesni-intel' modprobe aesni-intel
for module in ccm algif_skcipher algif_aead; do
    check "modprobe $module" modprobe $module
done
check 'bad input, and memory that runs out' insmod /tests/errors.ko "backend=$backend"
dmesg | sed -n 's/^.*errors: /# /p'
parameters=/sys/module/errors/parameters
same 'differences' "$(cat $parameters/differences)" 0
check "$(cat $parameters/cases) cases" test "$(cat $parameters/cases)" -gt 5000
check 'the test unloads' rmmod errors

# AF_ALG checks some arguments itself, by what the driver declares (sizes of key, IV and tag). These
# checks are compared, too.
while read -r type ours theirs key_bytes iv_bytes; do
    check "AF_ALG: $ours" "$bin/afalg-errors" "$type" "$(driver "$ours")" "$theirs" "$key_bytes" "$iv_bytes" &&
        quote "$output"
done <<END
skcipher ecb ecb-aes-aesni 16 0
skcipher cbc cbc-aes-aesni 24 16
skcipher cts-cbc cts-cbc-aes-aesni 16 16
skcipher ctr ctr-aes-aesni 32 16
skcipher xctr xctr-aes-aesni 32 16
skcipher xts xts-aes-aesni 64 16
aead gcm generic-gcm-aesni 16 12
aead rfc4106-gcm rfc4106-gcm-aesni 20 8
aead ccm ccm_base(ctr-aes-aesni,cbcmac(aes-aesni)) 32 16
END
check 'and unloads' unload

# Makes each of the first allocations fail while the module loads: the module's own, and those of
# the first algorithm's registration. If a later one fails, the kernel unregisters algorithms whose
# self-test is still pending, and 6.12 warns of that.
starving=/sys/module/errors/parameters
check 'the test loads again' insmod /tests/errors.ko
for nth in 1 2 3; do
    echo $nth >$starving/starve_load
    echo 0 >$starving/starved
    refused "no memory while loading ($nth)" insmod /tests/tenrounds.ko
    cp "$output" /tmp/said
    check "no memory while loading ($nth): insmod says so" grep "Cannot allocate memory" /tmp/said
    same "no memory while loading ($nth): that was it" "$(cat $starving/starved)" Y
    refused "no memory while loading ($nth): no drivers" grep tenrounds /proc/crypto
    refused "no memory while loading ($nth): no counters" test -e /sys/kernel/debug/tenrounds
done
echo 0 >$starving/starve_load
check 'after that it loads' load
check 'the test unloads again' rmmod errors
check 'and the module' unload
