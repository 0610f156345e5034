# SPDX-License-Identifier: BSD-2-Clause
# The kernel's own self-tests, seen as passed for exactly our drivers, with every backend that this processor runs. A
# self-test that failed fails neither the loading nor /proc/crypto as a whole: the driver's own entry says
# "unknown", and another driver answers. (What failed is in the log, too, which init reads.)
# guest: plain

algorithms='ecb cbc cts-cbc ctr xctr xts gcm rfc4106-gcm ccm'

name_of() {
    case $1 in
    cts-cbc) echo 'cts(cbc(aes))' ;;
    rfc4106-gcm) echo 'rfc4106(gcm(aes))' ;;
    *) echo "$1(aes)" ;;
    esac
}

# expect MASK BACKEND PRIORITY
expect() {
    check "loads with mask '$1'" load ${1:+"mask=$1"} || return
    same "the backend with mask '$1'" "$backend" "$2"
    check "no self-test of the kernel's is pending with $2" settled
    for a in $algorithms; do
        d=$(driver "$a")
        same "$d is registered for" "$(crypto "$d" name)" "$(name_of "$a")"
        same "$d passed the kernel's self-test" "$(crypto "$d" selftest)" passed
        same "$d belongs to our module" "$(crypto "$d" module)" tenrounds
        same "$d has the priority" "$(crypto "$d" priority)" "$3"
        same "$d is not internal" "$(crypto "$d" internal)" no
    done
    dmesg | grep -q "tenrounds: backend $2 " || not_ok "no line in the log about $2"
    unload
    refused 'nothing of it is left in /proc/crypto' grep -q tenrounds /proc/crypto
}

expect '' aesni 250
expect noclmul aesni-noclmul 250
expect noaes vperm 90
expect noaes,nossse3 bitslice 90
