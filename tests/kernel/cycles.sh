# SPDX-License-Identifier: BSD-2-Clause
# Loads and unloads the module repeatedly while another process uses all of our drivers whenever
# they are registered. Checks for crashes, wrong results and leaks. Kernel 6.1 does 1,000 cycles;
# later kernels take longer per cycle and do 250. CYCLES limits both numbers, as in CI. As long as
# fewer than two unloads were refused, cycle.c makes up to 3 times as many. The kernel's self-tests
# are off here to save time; selftest.sh covers them.
# guest: cycles
# modules: algif_skcipher algif_aead algif_hash

modprobe -a algif_skcipher algif_aead algif_hash
# Disables the kernel's modprobe, which it would start for each name that is not registered.
echo >/proc/sys/kernel/modprobe

# Prints, for every slab cache that a module could allocate from, the objects in use and the objects
# per slab. Writing to "shrink" first frees unused slabs and the per-CPU slabs, which count as in
# use. Until slabinfo is read, only builtins of the shell run, which allocate nothing. The text
# written to sysfs is long, so that the kernel's copy of it comes from no small cache.
long=$(printf '1%3000s' '')
slabs_now() {
    for cache in /sys/kernel/slab/kmalloc-*/shrink; do
        echo "$long" >"$cache"
    done
    while read -r cache used _ _ per_slab _; do
        case $cache in
        kmalloc-*) echo "$cache $used $per_slab" ;;
        esac
    done </proc/slabinfo
}
# Prints the least of several readings: other tasks may use per-CPU slabs during some of them.
slabs() {
    for _ in $(seq 20); do
        slabs_now
        usleep 100000
    done | awk '!($1 in least) || $2 < least[$1] { least[$1] = $2; size[$1] = $3 }
        END { for (cache in least) print cache, least[cache], size[cache] }'
}
# Without what is free and waits for the next purge: stacks of tasks that ended, for example.
mappings() { grep -vc unpurged /proc/vmallocinfo; }
mappings_are_flat() { [ "$(mappings)" -le $((mappings_before + (all - 100) / 3)) ]; }
percpu_is_flat() { [ "$(percpu)" -le $((percpu_before + (all - 100) / 3)) ]; }
percpu() { sed -n 's/^Percpu: *\([0-9]*\).*/\1/p' /proc/meminfo; }

cycles() { # HOW MANY
    # shellcheck disable=SC2046 # a list of words
    $bin/alg traffic $(for a in $algorithms; do echo "$(type_of "$a"):$(driver "$a")"; done) >/tmp/traffic 2>&1 &
    traffic=$!
    check "$1 cycles: the module loads and unloads each time" \
        $bin/cycle /tests/tenrounds.ko tenrounds "$1"
    busy=$(sed -n 's/.*REFUSED //p' /tmp/output)
    kill $traffic
    check 'the traffic had no wrong result' wait $traffic
    echo "# $1 cycles: $(cat /tmp/traffic), unloading was refused $busy times"
    check "$1 cycles: unloading was refused more than once, because the module was in use" [ "$busy" -gt 1 ]
    check "$1 cycles: more than 5 transforms were opened" \
        [ "$(sed -n 's/ opened.*//p' /tmp/traffic)" -gt 5 ]
    refused "$1 cycles: no driver and no module is left" \
        grep -q tenrounds /proc/crypto /proc/modules
}

case $(uname -r) in
6.1.*) all=1000 ;;
*) all=250 ;;
esac
most=$(sed -n 's/.* cycles=\([0-9]*\).*/\1/p' /proc/cmdline)
[ "${most:-$all}" -ge "$all" ] || all=$most
load
unload
cycles 100
slabs >/tmp/before
mappings_before=$(mappings)
percpu_before=$(percpu)
cycles $((all - 100))
# Sets `grown` to the caches that grew by more than a third of an object per cycle, plus one slab.
# A leak of one object per cycle would be three times as much. The slab is allowed because a
# per-CPU slab counts as in use. One slab may have more small objects than there were cycles, so
# the limit is at most 4/5 of an object per cycle.
slabs_are_flat() {
    slabs >/tmp/after
    grown=$(awk -v cycles=$((all - 100)) '
        NR == FNR { had[$1] = $2; next }
        { most = cycles / 3 + $3; if (most > cycles * 4 / 5) most = cycles * 4 / 5 }
        $2 > had[$1] + most { printf "%s: %d to %d ", $1, had[$1], $2 }' /tmp/before /tmp/after)
    [ -z "$grown" ]
}
# Other tasks may use per-CPU slabs of several processors during all readings. What leaked stays.
for _ in $(seq 30); do
    slabs_are_flat && break
done
echo "# largest growth: $(awk 'NR == FNR { had[$1] = $2; next } { print $2 - had[$1], "in", $1, "with", $3, "per slab" }' /tmp/before /tmp/after |
    sort -rn | head -n 4 | tr '\n' ';')"
same 'no slab cache has grown beyond its limit of at most 4/5 of an object per cycle' "$grown" ''
eventually mappings_are_flat
check "no mappings are leaked ($mappings_before before, $(mappings) after)" mappings_are_flat
# The kernel keeps some pages more for the next allocations, and returns them later.
eventually percpu_is_flat
check "no per-CPU memory is leaked ($percpu_before KiB before, $(percpu) KiB after)" percpu_is_flat
load
check 'the module encrypts after all cycles' $bin/alg encrypt skcipher "$(driver xts)" 65536 10
unload
