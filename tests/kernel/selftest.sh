# SPDX-License-Identifier: BSD-2-Clause
# The kernel's own self-tests, seen as passed for exactly our drivers, with every backend that this processor runs. A
# self-test that failed fails neither the loading nor /proc/crypto as a whole: the driver's own entry says
# "unknown", and another driver answers. (What failed is in the log, too, which init reads.)
# guest: plain

# expect MASK BACKEND PRIORITY
expect() {
    check "loads with mask '$1'" load ${1:+"mask=$1"} || return
    same "the backend with mask '$1'" "$backend" "$2"
    passed "$2" "$3"
    unload
    refused 'nothing of it is left in /proc/crypto' grep -q tenrounds /proc/crypto
}

expect '' aesni 250
expect noclmul aesni-noclmul 250
expect noaes vperm 90
expect noaes,nossse3 bitslice 90
