# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Tests kernel TLS with our driver at one end or at both ends (tls.c), and what `tenrounds trace
# --kernel` says about a random number of records of both versions.
# guest: traced
# modules: aesni-intel tls gcm ccm ctr crypto_user algif_aead
# programs: bpftrace BUILD/dist/bin/tenrounds
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
traced() { # VERSION
    tenrounds trace --kernel --json --output /tmp/trace.json -- asks "$1" "$seed" $records >/tmp/wanted
}
wanted() { sed -n "s/^$1 //p" /tmp/wanted; }
# An emulated processor takes a minute to compile the probes, so that each driver has one version,
# drawn by the seed.
versions='tls1.2 tls1.3'
[ $((seed % 2)) -eq 0 ] || versions='tls1.3 tls1.2'
for whose in ours theirs; do
    prefer $whose 'gcm(aes)'
    driver=$(best_driver $whose 'gcm(aes)')
    version=${versions%% *}
    versions=${versions#* }
    about="$version by $driver"
    rm -f /tmp/trace.json
    check "$about: records are counted" traced "$version"
    for operation in encrypt decrypt; do
        same "$about: one request to $operation a record" "$(sums ktls "$driver" $operation false)" "$(wanted $operation)"
    done
    same "$about: no other request of TLS" "$(kinds ktls)" 2
    same "$about: by whom" "$(owners ktls)" 'process asks'
    check "$about: by which module" grep -q '"module": "tls"' /tmp/trace.json
    rows | sed 's/^/# /'
done
check 'the module unloads' unload
