#!/bin/sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# The script that init.c runs in user-mode Linux: sh inside.sh FOLDER. FOLDER is on the host. Each line
# of its file `plan` is one of these steps:
#
#   load FILE PARAMETERS...     loads the module under test; saves /proc/crypto and its counters
#   bench FILE PARAMETERS...    loads the module that measures; appends its lines to `results`
#   holds FILE PARAMETERS...    runs the bench as load while the module measures its longest hold of
#                               the vector registers, 15 times; appends each to `holds`
#   compare FILE PARAMETERS...  loads and unloads a module that tests while it loads
#   starve PROGRAM ARGUMENTS... runs a program that tests; appends its lines to `results`
#   unload                      unloads the module under test
#   forget                      makes kmemleak forget what it has found so far
#   leaks                       searches for leaked memory; a leak is an error
#
# Errors go to the file `errors`. At the end it writes the kernel's log to `messages`, then `ended`.
folder=$1
cd "$folder" || exit 1
exec 2>errors
counters=/sys/kernel/debug/tenrounds/counters
measure=/sys/module/tenrounds/parameters/measure

leaks=/sys/kernel/debug/kmemleak
# Searches twice: an object that changes its list meanwhile can look lost once. kmemleak ignores
# objects that are younger than 5 seconds.
scan() {
    sleep 6
    echo scan >$leaks
    echo scan >$leaks
}

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
        # Newer kernels run the self-tests in the background.
        while grep -q 'selftest *: unknown' /proc/crypto; do
            sleep 0.2
        done
        cat /proc/crypto >crypto
        cat "$counters" >counted
        cat /sys/kernel/debug/tenrounds/backend >backend
        ;;
    bench) bench "$file" $arguments >>results ;;
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
    compare) insmod "$file" $arguments && rmmod "$(basename "$file" .ko)" ;;
    starve) "$file" $arguments >>results ;;
    unload) rmmod tenrounds ;;
    forget)
        scan
        echo clear >$leaks
        ;;
    leaks)
        scan
        cat $leaks >&2
        ;;
    *) echo "inside.sh: no such step: $what" >&2 ;;
    esac
done <plan
dmesg >messages
echo ended >ended
