#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# The script that init.c runs in user-mode Linux: sh inside.sh FOLDER. FOLDER is on the host. Each line
# of its file `plan` is one of these steps:
#
#   load FILE PARAMETERS...     loads the module under test; saves /proc/crypto and its counters
#   bench FILE PARAMETERS...    loads the module that measures; appends its lines to `results`
#   afalg PROGRAM ARGUMENTS...  runs a program that measures; appends its lines to `results`
#   holds FILE PARAMETERS...    runs the bench as load while the module measures its longest hold of
#                               the vector registers, 15 times; appends each to `holds`
#   unload                      unloads the module under test
#
# Errors go to the file `errors`. At the end it writes the kernel's log to `messages`, then `ended`.
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
        # Setting measure resets the maximum.
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
