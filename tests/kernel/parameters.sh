# SPDX-License-Identifier: BSD-2-Clause
# Tests the module's parameters, counters and log lines, and unloading while a driver is in use.
# guest: values
# modules: algif_skcipher algif_aead algif_hash aesni-intel xts ctr ccm
# files: tests/vectors/cavp/xts tests/vectors/cavp/ccm tests/vectors/cavp/CBCMMT256.rsp

modprobe -a algif_skcipher algif_aead algif_hash aesni-intel xts ctr ccm
said() {
    since >/tmp/since
    check "the log says: $1" grep -F "tenrounds: $1" /tmp/since
}

# ---- Counters: exact values ----

# count NAME TYPE BYTES TIMES STEPS ALGORITHM: makes TIMES requests of BYTES bytes and checks the
# counters. STEPS is the expected number of steps per request.
count() {
    calls=$(counter "$1" calls)
    bytes=$(counter "$1" bytes)
    steps=$(counter "$1" steps)
    check "$1 encrypts $4 requests of $3 bytes" $bin/alg encrypt "$2" "$(driver "$6")" "$3" "$4"
    same "$1, $3 bytes: the counter of calls is right" $(($(counter "$1" calls) - calls)) "$4"
    same "$1, $3 bytes: the counter of bytes is right" \
        $(($(counter "$1" bytes) - bytes)) $(($3 * $4))
    same "$1, $3 bytes: the counter of steps is right" \
        $(($(counter "$1" steps) - steps)) $(($5 * $4))
}
load
check 'the self-tests are done' settled
for a in 'ecb(aes) ecb' 'cbc(aes) cbc' 'ctr(aes) ctr' 'xctr(aes) xctr' 'xts(aes) xts'; do
    count "${a% *}" skcipher 16 10 1 "${a#* }"
    # One step per page.
    count "${a% *}" skcipher 65536 3 16 "${a#* }"
done
# The last two blocks are a separate step.
count 'cts(cbc(aes))' skcipher 16 10 1 cts-cbc
count 'cts(cbc(aes))' skcipher 65536 3 17 cts-cbc
for a in 'gcm(aes) gcm' 'rfc4106(gcm(aes)) rfc4106-gcm' 'ccm(aes) ccm'; do
    count "${a% *}" aead 16 10 1 "${a#* }"
    # 16 bytes of AAD, which are not counted, come first, so the data begins and ends in mid-page.
    count "${a% *}" aead 65536 3 17 "${a#* }"
done
# A step has at most 4096 bytes here, too. AF_ALG passes up to 16 pages per update.
for a in cmac xcbc; do
    count "$a(aes)" hash 16 10 1 $a
    count "$a(aes)" hash 65536 3 16 $a
done
holds=$(counter holds)
check 'ECB encrypts two requests' $bin/alg encrypt skcipher "$(driver ecb)" 16 2
two=$(($(counter holds) - holds))
check 'ECB encrypts twelve requests' $bin/alg encrypt skcipher "$(driver ecb)" 16 12
same 'ten more requests take ten more holds of the vector registers' \
    $(($(counter holds) - holds - 2 * two)) 10
check 'no hold is timed without the parameter measure' [ -z "$(counter longest_hold_ns)" ]
echo 1 >/sys/module/tenrounds/parameters/measure
check 'XTS encrypts a request with measure=1' $bin/alg encrypt skcipher "$(driver xts)" 65536 1
check 'the longest hold was timed' [ "$(counter longest_hold_ns)" -gt 0 ]
unload

# ---- Refused vector registers ----

for every in 1 3; do
    load refuse=$every
    passed "$backend" 250
    holds=$(counter holds)
    refused=$(counter refused)
    check "refuse=$every: the XTS vectors are right" \
        $bin/vectors xts "$(driver xts)" 20 /tests/xts/XTSGenAES256-tweak.txt
    check "refuse=$every: the CBC vectors are right" \
        $bin/vectors cbc "$(driver cbc)" 1 /tests/CBCMMT256.rsp
    check "refuse=$every: the CCM vectors are right" \
        $bin/vectors ccm "$(driver ccm)" 4 /tests/ccm/VNT256.txt
    check "refuse=$every: GCM encrypts" $bin/alg encrypt aead "$(driver gcm)" 5000 20
    holds=$(($(counter holds) - holds))
    refused=$(($(counter refused) - refused))
    echo "# refuse=$every: $holds holds, $refused refused"
    check "refuse=$every: more than 50 holds were refused" [ $refused -gt 50 ]
    if [ $every -eq 1 ]; then
        same 'refuse=1: there were no holds' $holds 0
    else
        check 'refuse=3: at least one hold of three was refused' [ $((3 * refused)) -ge $((holds + refused - 3)) ] &&
            check 'refuse=3: at most one hold of three was refused' \
                [ $((3 * refused)) -le $((holds + refused + 3)) ]
    fi
    echo 0 >/sys/module/tenrounds/parameters/refuse
    refused=$(counter refused)
    check 'refuse=0, written later: GCM encrypts' $bin/alg encrypt aead "$(driver gcm)" 5000 20
    same 'refuse=0: no hold is refused any more' "$(counter refused)" "$refused"
    unload
done

# ---- A key set while the registers are refused: later requests use them, with equal results ----

for mask in '' noclmul noaes; do
    load ${mask:+"mask=$mask"}
    for a in $algorithms; do
        for bytes in 16 512 20480; do
            check "$backend, $a, $bytes bytes: a key set without registers uses them later" $bin/alg late "$(type_of "$a")" "$(driver "$a")" $bytes
        done
    done
    unload
done

# ---- Priority: which driver is selected ----

load priority=1234
for d in $(awk '$1 == "driver" && $3 ~ /tenrounds/ { print $3 }' /proc/crypto); do
    same "priority=1234: $d has this priority" "$(crypto "$d" priority)" 1234
done
calls=$(counter 'xts(aes)' calls)
check 'priority=1234: xts(aes) encrypts' $bin/alg encrypt skcipher 'xts(aes)' 512 1
same 'priority=1234: our driver served xts(aes)' "$(counter 'xts(aes)' calls)" $((calls + 1))
unload
load priority=7
calls=$(counter 'xts(aes)' calls)
check 'priority=7: xts(aes) encrypts' $bin/alg encrypt skcipher 'xts(aes)' 512 1
same 'priority=7: another driver served xts(aes)' "$(counter 'xts(aes)' calls)" "$calls"
unload

# ---- Sabotage: a backend that fails its known-answer tests is not used ----

tenrounds=/tests/tenrounds-faults.ko
mark
load sabotage=aesni
same 'sabotage=aesni selects aesni-noclmul' "$backend" aesni-noclmul
said 'backend aesni-noclmul (priority 250; known-answer tests failed, not used: aesni)'
refused 'sabotage=aesni: no driver of aesni is registered' grep -q 'tenrounds-aesni$' /proc/crypto
check 'sabotage=aesni: the XTS vectors are right' \
    $bin/vectors xts "$(driver xts)" 20 /tests/xts/XTSGenAES256-tweak.txt
unload
load sabotage=aesni,aesni-noclmul
same 'sabotage=aesni,aesni-noclmul selects vperm' "$backend" vperm
check 'sabotage=aesni,aesni-noclmul: the XTS vectors are right' $bin/vectors xts "$(driver xts)" 20 /tests/xts/XTSGenAES256-tweak.txt
unload

# ---- The module that users install cannot be sabotaged ----

tenrounds=/tests/tenrounds.ko
refused 'the installed module does not contain the parameter' grep -q sabotage $tenrounds
check 'the module for tests contains the parameter' grep -q sabotage /tests/tenrounds-faults.ko
mark
load sabotage=aesni
same 'the installed module with sabotage=aesni still selects aesni' "$backend" aesni
since >/tmp/since
check 'the kernel ignores the parameter' grep -E "unknown parameter .sabotage. ignored" /tmp/since
refused 'sysfs does not have the parameter' test -e /sys/module/tenrounds/parameters/sabotage
unload

# ---- Unloading ----

load
for a in xts:skcipher gcm:aead; do
    d=$(driver "${a%:*}")
    $bin/alg hold "${a#*:}" "$d" >/tmp/hold &
    holder=$!
    eventually test -s /tmp/hold
    same "$d is open" "$(cat /tmp/hold)" open
    refused "the module is not unloaded while $d is open" rmmod tenrounds
    same "$d is still registered and self-tested" "$(crypto "$d" selftest)" passed
    kill $holder
    wait $holder 2>/dev/null
done
check 'the module unloads after its last user' unload
refused 'no driver and no module is left' grep -q tenrounds /proc/crypto /proc/modules
