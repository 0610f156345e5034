# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Bad input gives the same errno as the kernel's own driver, writes only the output and leaks no
# memory (errors/).
# guest: plain
# modules: aesni-intel gcm ccm ctr cmac xcbc algif_skcipher algif_aead

check 'the module loads' load
check 'modprobe aesni-intel' modprobe aesni-intel
for module in ccm cmac xcbc algif_skcipher algif_aead; do
    check "modprobe $module" modprobe $module
done
check 'errors.ko runs with bad input and failing allocations' \
    insmod /tests/errors.ko "backend=$backend"
dmesg | sed -n 's/^.*errors: /# /p'
parameters=/sys/module/errors/parameters
same 'errors.ko counts no differences' "$(cat $parameters/differences)" 0
check "errors.ko runs more than 5000 cases ($(cat $parameters/cases))" \
    test "$(cat $parameters/cases)" -gt 5000
check 'errors.ko unloads' rmmod errors

# AF_ALG itself checks some arguments against the sizes of key, IV and tag that the driver declares.
# Compares these checks, too.
while read -r type ours theirs key_bytes iv_bytes; do
    check "AF_ALG gives the same errors with $ours and $theirs" "$bin/afalg-errors" "$type" "$(driver "$ours")" "$theirs" "$key_bytes" "$iv_bytes" &&
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
check 'the module unloads' unload

# Makes each of the first allocations fail while the module loads: the module's own, and those of
# the first algorithm's registration. If a later allocation fails, the kernel unregisters algorithms
# whose self-test is still pending, and 6.12 warns of that.
starving=/sys/module/errors/parameters
check 'errors.ko loads again' insmod /tests/errors.ko
for nth in 1 2 3; do
    echo $nth >$starving/starve_load
    echo 0 >$starving/starved
    refused "allocation $nth fails: the module does not load" insmod /tests/tenrounds.ko
    cp "$output" /tmp/said
    check "allocation $nth fails: insmod names the reason" grep "Cannot allocate memory" /tmp/said
    same "allocation $nth fails: errors.ko made it fail" "$(cat $starving/starved)" Y
    refused "allocation $nth fails: no drivers are left" grep tenrounds /proc/crypto
    refused "allocation $nth fails: no counters are left" test -e /sys/kernel/debug/tenrounds
done
echo 0 >$starving/starve_load
check 'the module loads afterwards' load
check 'errors.ko unloads again' rmmod errors
check 'the module unloads again' unload
