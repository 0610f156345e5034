#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The installed face of the core: library.sh HEADER LIBRARY C-COMPILER [C++-COMPILER]
# The header stands alone in C and C++, a C++ program links with the shared library, this exports what the
# header declares and nothing else, and it has the tracing probe.
set -u
header=$1 library=$2 cc=$3 cxx=${4:-}
here=$(dirname "$0")
include=$(dirname "$header")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
n=0 failed=0

# result STATUS NAME: reports, with what the command wrote into $work/log if it failed.
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

# skip REASON: a failure where it has to run.
skip() {
    echo "$1" >"$work/log"
    if [ -n "${TENROUNDS_MUST_RUN:-}" ]; then
        result 1 "skipped, but has to run here (TENROUNDS_MUST_RUN): $1"
    else
        n=$((n + 1))
        echo "ok $n # SKIP $1"
    fi
}

# The names that the header declares with TR_API.
declared() {
    $cc -E -P "$header" | tr '\n' ' ' | tr ';' '\n' |
        sed -n 's/.*visibility("default"))) *//p' | sed -e 's/(.*//' -e 's/.*[ *]//' | sort -u
}

echo 1..5
strict='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'

# Compilers and flags are lists of words.
# shellcheck disable=SC2086
$cc -std=c11 $strict -x c "$header" >"$work/log" 2>&1
result $? 'the header is C11'
if [ -n "$cxx" ]; then
    # shellcheck disable=SC2086
    $cxx -std=c++17 $strict -x c++ "$header" >"$work/log" 2>&1
    result $? 'the header is C++17'
    $cxx -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$include" "$here/library.cc" "$library" \
        -Wl,-rpath,"$(dirname "$library")" -o "$work/program" >"$work/log" 2>&1 &&
        "$work/program" >>"$work/log" 2>&1
    result $? 'a C++ program links with the shared library and encrypts'
else
    skip 'no C++ compiler'
    skip 'no C++ compiler'
fi

declared >"$work/declared"
nm -D --defined-only "$library" | sed 's/.* //' | sort -u >"$work/exported"
[ -s "$work/declared" ] && diff "$work/declared" "$work/exported" >"$work/log"
result $? "the library exports the $(wc -l <"$work/declared") functions of the header and nothing else"

if echo '#include <sys/sdt.h>' | $cc -E -x c - >/dev/null 2>&1; then
    readelf -n "$library" >"$work/log" 2>&1
    grep -q 'Provider: tenrounds' "$work/log" && grep -q 'Name: bulk$' "$work/log"
    result $? 'the library has the probe tenrounds:bulk'
else
    skip 'no sys/sdt.h (Debian: systemtap-sdt-dev)'
fi
exit $failed
