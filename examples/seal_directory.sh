#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2317 # functions are called by ok
# Tests the example: seal_directory.sh PROGRAM. Seals and opens files of many lengths, and checks
# that the program refuses bad input. Writes TAP.
set -u

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
failed=0
ok() { # TEXT COMMAND...
    text=$1
    shift
    count=$((count + 1))
    if "$@" >"$work/log" 2>&1; then
        echo "ok $count - $text"
    else
        echo "not ok $count - $text"
        sed 's/^/# /' "$work/log"
        failed=1
    fi
}
refused() { ! "$program" "$@" && [ $? -ne 2 ]; }
refused_saying() { # TEXT ARGUMENTS...
    wanted=$1
    shift
    "$program" "$@" 2>"$work/said"
    [ $? -eq 1 ] && { cat "$work/said" && grep -q "$wanted" "$work/said"; }
}
directory() { rm -rf "${work:?}/$1" && mkdir "$work/$1"; }
random() { head -c "$1" /dev/urandom; }

echo 1..19
mkdir "$work/clear"
for len in 0 1 15 16 17 31 32 63 64 65 100 1000 4096 16384 100000 1000000; do
    random "$len" >"$work/clear/$len"
done
for i in $(seq 230); do # more than a batch
    random $((i * 7)) >"$work/clear/row $i"
done
for len in 16 24 32; do
    random $len >"$work/key$len"
done
random 20 >"$work/key20"
mkdir "$work/clear/directory"

for len in 16 24 32; do
    for own in '' --own-keys; do
        directory sealed
        directory opened
        # shellcheck disable=SC2086 # zero words or one
        ok "seal${own:+ $own} works with a key of $len bytes" "$program" seal $own "$work/key$len" "$work/clear" "$work/sealed"
        mv "$work/clear/directory" "$work/aside"
        # shellcheck disable=SC2016 # for the inner shell
        ok "open restores the files${own:+, $own}, key of $len bytes" \
            sh -c '"$1" open "$2" "$3" "$4" && diff -r "$3/../clear" "$4"' - \
            "$program" "$work/key$len" "$work/sealed" "$work/opened"
        mv "$work/aside" "$work/clear/directory"
    done
done

directory opened
ok 'open refuses the wrong key' \
    refused_saying 'wrong key' open "$work/key16" "$work/sealed" "$work/opened"

# One file has a changed byte, one is renamed, one is truncated. The program must name each of these
# files and not write it. It must open the other files.
mkdir "$work/few"
for name in 1000 4096 16384 100; do
    cp "$work/sealed/$name.sealed" "$work/few/"
done
# Replaces byte 500 with a different byte.
byte=$(od -An -tu1 -j500 -N1 "$work/few/1000.sealed")
# shellcheck disable=SC2059 # the format is the byte
printf "\\$(printf %03o "$(((byte + 1) % 256))")" |
    dd of="$work/few/1000.sealed" bs=1 seek=500 conv=notrunc 2>/dev/null
mv "$work/few/4096.sealed" "$work/few/other.sealed"
truncate -s -1 "$work/few/16384.sealed"
directory opened
changed() {
    refused open "$work/key32" "$work/few" "$work/opened" 2>"$work/said"
    cat "$work/said"
    for name in 1000 other 16384; do
        grep -q "cannot open $name:" "$work/said" && [ ! -e "$work/opened/$name" ] || return 1
    done
    cmp "$work/opened/100" "$work/clear/100"
}
ok 'open refuses only the changed, renamed and truncated files' changed
mkdir "$work/strange"
random 10 >"$work/strange/short.sealed"
ok 'open refuses a file that was never sealed' refused_saying 'not sealed' open "$work/key32" "$work/strange" "$work/opened"
cp "$work/sealed/100.sealed" "$work/sealed/1000.sealed" "$work/strange/"
directory opened
strange() {
    refused_saying 'cannot open short: .*not sealed' open "$work/key32" "$work/strange" "$work/opened" &&
        cmp "$work/opened/100" "$work/clear/100" && cmp "$work/opened/1000" "$work/clear/1000"
}
ok 'open opens the files beside it' strange
ok 'seal refuses to write into the directory that it reads' \
    refused_saying 'also the directory to read' seal "$work/key32" "$work/clear" "$work/clear"
ok 'seal refuses a key of 20 bytes' \
    refused_saying '16, 24 or 32' seal "$work/key20" "$work/clear" "$work/opened"
usage() {
    "$program" frobnicate a b c
    [ $? -eq 2 ]
}
ok 'wrong arguments give exit status 2' usage
exit $failed
