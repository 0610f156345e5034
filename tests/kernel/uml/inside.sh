#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# What runs in user-mode Linux, by init.c: sh inside.sh FOLDER. The folder is the host's: there is a file `plan`,
# of which each line is one of
#
#   load FILE PARAMETERS...     the module under test, and what /proc/crypto and its counters say then
#   bench FILE PARAMETERS...    the module that measures; its lines are added to `results`
#   afalg PROGRAM ARGUMENTS...  the same for a program
#   holds FILE PARAMETERS...    the bench as traffic, of whose holds of the vector registers the module takes the time
#   unload
#
# Errors go to the file `errors`; `messages` is written at the end, and then `ended`.
folder=$1
cd "$folder" || exit 1
exec 2>errors
counters=/sys/kernel/debug/tenrounds/counters
measure=/sys/module/tenrounds/parameters/measure

bench() {
    insmod "$@" || return
    cat /sys/kernel/debug/tenrounds_bench
    rmmod tenrounds_bench
}

while read -r what file arguments; do
    # shellcheck disable=SC2086 # lists of words
    case $what in
    load)
        insmod "$file" $arguments
        cat /proc/crypto >crypto
        cat "$counters" >counted
        cat /sys/kernel/debug/tenrounds/backend >backend
        ;;
    bench) bench "$file" $arguments >>results ;;
    afalg) "$file" $arguments >>results ;;
    holds)
        # Each time is a maximum, from zero on.
        rm -f holds
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
            echo 1 >$measure
            bench "$file" $arguments >/dev/null
            sed -n 's/^longest_hold_ns //p' $counters >>holds
            echo 0 >$measure
        done
        ;;
    unload) rmmod tenrounds ;;
    *) echo "inside.sh: no such step: $what" >&2 ;;
    esac
done <plan
dmesg >messages
echo ended >ended
