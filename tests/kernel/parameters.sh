# SPDX-License-Identifier: BSD-2-Clause
# The module's parameters, counters and log lines; unloading while a driver is in use.
# guest: plain
# modules: algif_skcipher algif_aead aesni-intel xts ctr ccm
# files: tests/vectors/cavp/xts tests/vectors/cavp/ccm tests/vectors/cavp/CBCMMT256.rsp

modprobe -a algif_skcipher algif_aead aesni-intel xts ctr ccm
said() {
    since >/tmp/since
    check "said in the log: $1" grep -F "tenrounds: $1" /tmp/since
}

# ---- Counters: exact values ----

# count NAME TYPE BYTES TIMES STEPS ALGORITHM
count() {
    calls=$(counter "$1" calls)
    bytes=$(counter "$1" bytes)
    steps=$(counter "$1" steps)
    check "$4 requests of $3 bytes of $1" $bin/alg encrypt "$2" "$(driver "$6")" "$3" "$4"
    same "$1, $3 bytes: calls" $(($(counter "$1" calls) - calls)) "$4"
    same "$1, $3 bytes: bytes" $(($(counter "$1" bytes) - bytes)) $(($3 * $4))
    same "$1, $3 bytes: steps" $(($(counter "$1" steps) - steps)) $(($5 * $4))
}
load
check 'the self-tests are done' settled
for a in 'ecb(aes) ecb' 'cbc(aes) cbc' 'ctr(aes) ctr' 'xctr(aes) xctr' 'xts(aes) xts'; do
    count "${a% *}" skcipher 16 10 1 "${a#* }"
    # One step per page.
    count "${a% *}" skcipher 65536 3 16 "${a#* }"
done
# The last two blocks are a step of their own.
count 'cts(cbc(aes))' skcipher 16 10 1 cts-cbc
count 'cts(cbc(aes))' skcipher 65536 3 17 cts-cbc
for a in 'gcm(aes) gcm' 'rfc4106(gcm(aes)) rfc4106-gcm' 'ccm(aes) ccm'; do
    count "${a% *}" aead 16 10 1 "${a#* }"
    # 16 bytes of AAD, which are not counted, come first, so the data begins and ends in mid-page.
    count "${a% *}" aead 65536 3 17 "${a#* }"
done
holds=$(counter holds)
check 'two requests' $bin/alg encrypt skcipher "$(driver ecb)" 16 2
two=$(($(counter holds) - holds))
check 'and twelve' $bin/alg encrypt skcipher "$(driver ecb)" 16 12
same 'take ten more holds of the vector registers' $(($(counter holds) - holds - 2 * two)) 10
check 'no time is taken unless it was asked for' [ -z "$(counter longest_hold_ns)" ]
echo 1 >/sys/module/tenrounds/parameters/measure
check 'a request that is timed' $bin/alg encrypt skcipher "$(driver xts)" 65536 1
check 'the longest hold was timed' [ "$(counter longest_hold_ns)" -gt 0 ]
unload

# ---- Refused vector registers ----

for every in 1 3; do
    load refuse=$every
    passed "$backend" 250
    holds=$(counter holds)
    refused=$(counter refused)
    check "refuse=$every: XTS" $bin/vectors xts "$(driver xts)" 20 /tests/xts/XTSGenAES256-tweak.txt
    check "refuse=$every: CBC" $bin/vectors cbc "$(driver cbc)" 1 /tests/CBCMMT256.rsp
    check "refuse=$every: CCM" $bin/vectors ccm "$(driver ccm)" 4 /tests/ccm/VNT256.txt
    check "refuse=$every: GCM" $bin/alg encrypt aead "$(driver gcm)" 5000 20
    holds=$(($(counter holds) - holds))
    refused=$(($(counter refused) - refused))
    echo "# refuse=$every: $holds holds, $refused refused"
    check "refuse=$every: many were refused" [ $refused -gt 50 ]
    if [ $every -eq 1 ]; then
        same 'refuse=1: there were no holds' $holds 0
    else
        check 'refuse=3: one of three was refused' [ $((3 * refused)) -ge $((holds + refused - 3)) ] &&
            check 'refuse=3: and no more' [ $((3 * refused)) -le $((holds + refused + 3)) ]
    fi
    echo 0 >/sys/module/tenrounds/parameters/refuse
    refused=$(counter refused)
    check 'refuse=0, written later' $bin/alg encrypt aead "$(driver gcm)" 5000 20
    same 'refuse=0: nothing is refused any more' "$(counter refused)" "$refused"
    unload
done

# ---- A key set while the registers are refused: later requests use them, with equal results ----

for mask in '' noclmul noaes; do
    load ${mask:+"mask=$mask"}
    for a in $algorithms; do
        case $a in
        gcm | rfc4106-gcm | ccm) type=aead ;;
        *) type=skcipher ;;
        esac
        for bytes in 16 512 20480; do
            check "$backend, $a, $bytes bytes: a key set without registers" $bin/alg late $type "$(driver "$a")" $bytes
        done
    done
    unload
done

# ---- Priority: which driver is selected ----

load priority=1234
for d in $(awk '$1 == "driver" && $3 ~ /tenrounds/ { print $3 }' /proc/crypto); do
    same "priority=1234: $d" "$(crypto "$d" priority)" 1234
done
calls=$(counter 'xts(aes)' calls)
check 'a request to xts(aes)' $bin/alg encrypt skcipher 'xts(aes)' 512 1
same 'which was ours' "$(counter 'xts(aes)' calls)" $((calls + 1))
unload
load priority=7
calls=$(counter 'xts(aes)' calls)
check 'a request to xts(aes)' $bin/alg encrypt skcipher 'xts(aes)' 512 1
same 'which was not ours, at priority 7' "$(counter 'xts(aes)' calls)" "$calls"
unload

# ---- Sabotage: a backend that fails its known-answer tests is not used ----

tenrounds=/tests/tenrounds-faults.ko
mark
load sabotage=aesni
same 'sabotage=aesni: the next one' "$backend" aesni-noclmul
said 'backend aesni-noclmul (priority 250; known-answer tests failed, not used: aesni)'
refused 'sabotage=aesni: it is not registered' grep -q 'tenrounds-aesni$' /proc/crypto
check 'sabotage=aesni: XTS' $bin/vectors xts "$(driver xts)" 20 /tests/xts/XTSGenAES256-tweak.txt
unload
load sabotage=aesni,aesni-noclmul
same 'sabotage=aesni,aesni-noclmul: the next one' "$backend" vperm
check 'sabotage=aesni,aesni-noclmul: XTS' $bin/vectors xts "$(driver xts)" 20 /tests/xts/XTSGenAES256-tweak.txt
unload

# ---- The module that users install cannot be sabotaged ----

tenrounds=/tests/tenrounds.ko
refused 'nothing in the installed module names the parameter' grep -q sabotage $tenrounds
check 'the module for tests does' grep -q sabotage /tests/tenrounds-faults.ko
mark
load sabotage=aesni
same 'installed, sabotage=aesni: the strongest backend all the same' "$backend" aesni
since >/tmp/since
check 'the kernel ignores the parameter' grep -E "unknown parameter .sabotage. ignored" /tmp/since
refused 'sysfs does not have it' test -e /sys/module/tenrounds/parameters/sabotage
unload

# ---- Unloading ----

load
for a in xts:skcipher gcm:aead; do
    d=$(driver "${a%:*}")
    $bin/alg hold "${a#*:}" "$d" >/tmp/hold &
    holder=$!
    for _ in $(seq 50); do
        grep -q open /tmp/hold && break
        sleep 0.1
    done
    same "$d is open" "$(cat /tmp/hold)" open
    refused "the module is not unloaded while $d is open" rmmod tenrounds
    same 'and works on' "$(crypto "$d" selftest)" passed
    kill $holder
    wait $holder 2>/dev/null
done
check 'it is unloaded then' rmmod tenrounds
refused 'and nothing of it is left' grep -q tenrounds /proc/crypto /proc/modules
