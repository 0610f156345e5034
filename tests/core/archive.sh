#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the archive that stands alone (scripts/archive): archive.sh ROOT C-COMPILER
# Builds it outside the tree with the compiler alone, looks at its symbols and relocations, and runs
# archive.c with it.
set -u
tree=$1 cc=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
n=0 failed=0

# result STATUS NAME: reports a result; on failure with the command's output in $work/log.
result() {
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' "$work/log"
        failed=1
    fi
}
# none NAME: a result that is good if the log is empty.
none() {
    [ ! -s "$work/log" ]
    result $? "$1"
}

echo 1..7
archive=$work/libtenrounds-core.a
# The archive has no probes, so its warnings are those of a machine without sys/sdt.h. With WERROR=1,
# a warning fails this test.
CFLAGS="${CFLAGS-} -Wall -Wextra ${WERROR:+-Werror}"
export CFLAGS
CC=$cc ARCHIVE_STACK=16384 "$tree/scripts/archive" build "$work" >"$work/log" 2>&1
result $? 'builds with the compiler alone'

# The functions that the compiler may call, and the symbol that the assembler adds for
# position-independent code.
nm -u "$archive" | awk 'NF == 2 { print $2 }' |
    grep -vxE 'tr_.*|memcpy|memmove|memset|memcmp|_GLOBAL_OFFSET_TABLE_' >"$work/log"
none 'calls no other function than memcpy(), memmove(), memset() and memcmp()'
nm --defined-only "$archive" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ && $3 !~ /^tr_/' >"$work/log"
none 'defines no global symbol without the prefix tr_'
readelf -SW "$archive" | grep -E '\.(init|fini|ctors|dtors|init_array|tbss|tdata)' >"$work/log"
none 'has no constructor and no thread-local variable'

# shellcheck disable=SC2086 # a list of words
$cc -shared -nostdlib -o "$work/whole.so" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive >"$work/log" 2>&1 &&
    readelf -rW "$work/whole.so" | awk '/^[0-9a-f]{16}/ && $3 !~ /_RELATIVE$/ && $5 !~ /^mem(cpy|move|set|cmp)$/' >"$work/log"
none 'a shared object of it has RELATIVE relocations only, but for these four functions'
nm -D --defined-only "$work/whole.so" >"$work/log"
none 'a shared object of it exports nothing'

for mode in gcm ccm gcm_siv xts; do
    sed -n "/^[0-9]/s/^/$mode /p" "$tree/tests/vectors/wycheproof/aes_$mode.txt"
done >"$work/vectors"
# shellcheck disable=SC2086 # a list of words
$cc -O2 -ffreestanding -fno-stack-protector -nostdlib -static -fPIE -I"$work" -o "$work/alone" \
    "$tree/tests/core/archive.c" "$archive" >"$work/log" 2>&1 && "$work/alone" <"$work/vectors" >"$work/log" 2>&1
result $? "a program without a C library runs every backend and $(wc -l <"$work/vectors") vectors on 16 KiB of stack"
exit $failed
