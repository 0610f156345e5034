# SPDX-License-Identifier: BSD-2-Clause
# Vector registers of programs survive while the module uses them: those of the requesting program,
# and of another one.
# guest: plain
# modules: algif_skcipher

modprobe algif_skcipher
for mask in '' noaes; do
    check "loads with mask '$mask'" load ${mask:+"mask=$mask"} || return
    for mode in cbc ctr xts; do
        before=$(sed -n 's/^holds //p' /sys/kernel/debug/tenrounds/counters)
        check "$(driver $mode): registers" $bin/registers "$(driver $mode)" 10
        after=$(sed -n 's/^holds //p' /sys/kernel/debug/tenrounds/counters)
        check "$(driver $mode): they were really taken" [ $((after - before)) -ge 160 ]
    done
    unload
done
