# SPDX-License-Identifier: BSD-2-Clause
# Our drivers pass the kernel's own self-tests, with every backend that this processor runs. A
# failed self-test does not make loading fail. The driver's own entry in /proc/crypto says
# "unknown", and the kernel selects another driver. init also searches the log for failed
# self-tests.
# guest: plain

# expect MASK BACKEND PRIORITY
expect() {
    check "the module loads with mask '$1'" load ${1:+"mask=$1"} || return
    same "mask '$1' selects $2" "$backend" "$2"
    passed "$2" "$3"
    unload
    refused 'no driver is left in /proc/crypto' grep -q tenrounds /proc/crypto
}

expect '' aesni 250
expect noclmul aesni-noclmul 250
expect noaes vperm 90
expect noaes,nossse3 bitslice 90
