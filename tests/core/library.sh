#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the installed core: library.sh HEADER LIBRARY STATIC-LIBRARY C-COMPILER [C++-COMPILER]
# The header compiles alone in C and C++, and a C++ program links with the shared library. The
# shared library exports exactly what the header declares. The static library has no other global
# symbols, and has the tracing probe. A key of one mode does not compile as the key of another.
set -u
header=$1 library=$2 static=$3 cc=$4 cxx=${5:-}
here=$(dirname "$0")
include=$(dirname "$header")
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

# skip REASON: skips a result; a failure if it must run.
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

echo 1..8
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

# Every program with probes defines _.stapsdt.base.
nm --defined-only -g "$static" | awk 'NF == 3 && $3 !~ /^(tr_|_\.stapsdt|__x86\.)/ {print $3}' >"$work/log"
[ ! -s "$work/log" ]
result $? 'all global symbols of the static library begin with tr_'

# compiles KEY: whether tr_gcm_start() accepts a pointer to struct KEY.
compiles() {
    printf '#include "tenrounds.h"\nint f(struct tr_gcm *m, struct %s *k);\n' "$1" >"$work/key.c"
    printf 'int f(struct tr_gcm *m, struct %s *k) { return tr_gcm_start(m, k, 0, 0); }\n' "$1" >>"$work/key.c"
    # shellcheck disable=SC2086
    $cc -std=c11 $strict -I "$include" "$work/key.c" >/dev/null 2>&1
}
compiles tr_gcm_key
result $? 'a key of the mode is taken'
: >"$work/log"
for other in tr_aes_key tr_ccm_key tr_ocb_key tr_siv_key tr_gcm_siv_key tr_xts_key tr_cmac_key; do
    if compiles "$other"; then
        echo "GCM takes a struct $other" >>"$work/log"
    fi
done
[ ! -s "$work/log" ]
result $? 'a key of another mode does not compile'
exit $failed
