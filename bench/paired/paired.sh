#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the programs of scripts/bench-commits: paired.sh DRIVER OPS. Every operation must run, and
# give equal outputs in two loads of the same object. Writes TAP.
set -u

driver=$1 ops=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$ops" "$work/other.so"
"$driver" "$ops" "$work/other.so" --list bitslice none >"$work/list" || exit 1

operations=$(sed -n 's/^operation //p' "$work/list")
# shellcheck disable=SC2086 # a list of words
set -- $operations
echo "1..$(($# + 3))"
count=0
verdict() { # TEXT COMMAND...
    text=$1
    shift
    count=$((count + 1))
    if "$@"; then
        echo "ok $count - $text"
    else
        echo "not ok $count - $text"
    fi
}
measured() { # OPERATION
    printf '%s bitslice 128 16\n%s bitslice 256 100\n' "$1" "$1" |
        "$driver" "$ops" "$work/other.so" 1 1 1000 >"$work/times" &&
        [ "$(awk '$5 <= 1 && $6 > 0 && $7 > 0 && NF == 7' "$work/times" | wc -l)" -eq 2 ]
}
refused() { # CELL
    ! echo "$1" | "$driver" "$ops" "$work/other.so" 1 1 1000 >/dev/null 2>&1
}
for operation; do
    verdict "$operation" measured "$operation"
done
verdict 'only backends that exist are listed' [ "$(grep '^backend' "$work/list")" = 'backend bitslice' ]
verdict 'an unknown operation is refused' refused 'nothing bitslice 128 16'
verdict 'a size below a block is refused' refused 'ecb-encrypt bitslice 128 8'
