# SPDX-License-Identifier: BSD-2-Clause
# The requesting program and another program keep the contents of their vector registers while the
# module uses the registers.
# guest: plain
# modules: algif_skcipher

modprobe algif_skcipher
for mask in '' noaes; do
    check "the module loads with mask '$mask'" load ${mask:+"mask=$mask"} || return
    for mode in cbc ctr xts; do
        before=$(sed -n 's/^holds //p' /sys/kernel/debug/tenrounds/counters)
        check "$(driver $mode): programs keep their registers" $bin/registers "$(driver $mode)" 10
        after=$(sed -n 's/^holds //p' /sys/kernel/debug/tenrounds/counters)
        check "$(driver $mode): the module held the registers at least 160 times" \
            [ $((after - before)) -ge 160 ]
    done
    unload
done
