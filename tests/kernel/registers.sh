# SPDX-License-Identifier: BSD-2-Clause
# A program's vector registers survive the module's use of them: of the program that asked, and of one beside it.
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
