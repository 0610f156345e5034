# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Tests kernel TLS with our driver at one end or at both ends (tls.c).
# guest: plain
# modules: aesni-intel tls gcm ccm ctr crypto_user algif_aead
# files: tests/kernel/drivers
# shellcheck disable=SC1091,SC2154
. /tests/drivers

check 'the module loads' load
for module in aesni-intel crypto_user tls algif_aead; do
    check "modprobe $module" modprobe $module
done
# The kernel's own CCM is a template, which is registered only once somebody opens it.
check "the kernel's own CCM is registered" instance aead 'ccm_base(ctr-aes-aesni,cbcmac(aes-aesni))'
for algorithm in 'gcm(aes)' 'ccm(aes)'; do
    check "TLS with $algorithm works with our driver and the kernel's own on either side" \
        tls "$algorithm" "$(best_driver ours "$algorithm")"
    quote "$output"
done
check 'the module unloads' unload
