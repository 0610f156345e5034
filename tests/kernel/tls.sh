# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Tests kernel TLS with our driver at one end or at both ends (tls.c), and what `tenrounds trace
# --kernel` says about a random number of records.
# guest: plain
# modules: aesni-intel tls gcm ccm ctr crypto_user algif_aead
# programs: BUILD/dist/bin/tenrounds
# files: tests/kernel/drivers tests/kernel/rows
# shellcheck disable=SC1091,SC2154
. /tests/drivers
. /tests/rows
export XDG_CACHE_HOME=/tmp

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

seed=$(sed -n 's/.*seed=\([0-9]*\).*/\1/p' /proc/cmdline)
echo "# seed $seed"
records=$((100 + seed % 200))
traced() { tenrounds trace --kernel --json --output /tmp/trace.json -- asks tls "$seed" $records >/tmp/wanted; }
for whose in ours theirs; do
    prefer $whose 'gcm(aes)'
    driver=$(best_driver $whose 'gcm(aes)')
    check "records by $driver are counted" traced
    calls=$(sed -n 's/^records \([0-9]*\) .*/\1/p' /tmp/wanted)
    bytes=$(sed -n 's/^records [0-9]* //p' /tmp/wanted)
    same "$driver: one request to encrypt a record" "$(sums ktls "$driver" encrypt false)" "$calls $bytes"
    # With the tag.
    same "$driver: one request to decrypt a record" "$(sums ktls "$driver" decrypt false)" "$calls $((bytes + 16 * calls))"
    same "$driver: no other request of TLS" "$(rows | grep -c '^requests ktls .* false ')" 2
    rows | sed 's/^/# /'
done
check 'the module unloads' unload
