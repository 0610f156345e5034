#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares the entries of DIFFERENCES in OSSL_PROVIDER-tenrounds(7) with the tests. Each entry has a
# name in a comment, and each DIFFERS() in a test, where it allows or requires a difference, gives
# such a name.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
page=$here/../../docs/man/OSSL_PROVIDER-tenrounds.7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n '/^\.Sh DIFFERENCES/,/^\.Sh ENVIRONMENT/p' "$page" >"$work/section"
sed -n 's/^\.\\" difference: //p' "$work/section" | sort >"$work/entries"
cat "$here"/*.c "$here"/*.h | grep -o 'DIFFERS("[^"]*")' | cut -d '"' -f 2 | sort -u >"$work/uses"

status=0
# result TEXT: prints a line of TAP. It fails if $work/wrong has lines, which it prints, too.
result() {
    count=$((${count:-0} + 1))
    if [ -s "$work/wrong" ]; then
        echo "not ok $count - $1"
        sed 's/^/# /' "$work/wrong"
        status=1
    else
        echo "ok $count - $1"
    fi
}
echo 1..4
awk '/^\.It/ { item = NR; next } item && item == NR - 1 && !/^\.\\" difference: [a-z0-9-]+$/' "$work/section" >"$work/wrong"
result 'each entry of DIFFERENCES has a name'
uniq -d "$work/entries" >"$work/wrong"
result 'each name is that of one entry'
comm -23 "$work/entries" "$work/uses" >"$work/wrong"
result 'a test uses each entry'
comm -13 "$work/entries" "$work/uses" >"$work/wrong"
result 'each difference that a test allows is an entry'
exit $status
