#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the installed core: library.sh HEADER LIBRARY STATIC-LIBRARY C-COMPILER [C++-COMPILER]
# The header compiles alone in C and C++, and a C++ program links with the shared library. The
# shared library exports exactly what the header declares. The static library has no other global
# symbols, and has the tracing probe. Each function is in the tests of the contract. No function
# compiles with a key of another mode.
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

is_empty() { [ ! -s "$1" ]; }

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

echo 1..10
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

# Functions that cannot fail by their arguments: they take no data. Neither do those named *_rebind.
cat >"$work/without" <<'END'
tr_backend_by_name tr_backend_features tr_backend_selected tr_backend_self_test tr_cpu_detect
tr_feature_name tr_mask_parse tr_select tr_tuning_at tr_tuning_selected tr_version
tr_cipher_room tr_xts_keys_equal
END
# The table of modes (aead.h) makes names of functions, so this reads what the preprocessor gives.
# It skips the lines of the core's headers, which declare all functions.
for test in contract.c many.c; do
    $cc -E -I "$here/../../core" -I "$include" "$here/$test" |
        awk -v "here=$here/" '/^# [0-9]/ { ours = index($3, "\"" here) == 1 && $3 !~ /\.\.\// } ours' |
        grep -o 'tr_[a-z0-9_]*'
done | cat - "$work/without" | tr ' ' '\n' | sort -u >"$work/tested"
comm -23 "$work/declared" "$work/tested" | grep -v '_rebind$' | sed 's/$/() has no row in contract.c or many.c/' >"$work/log"
is_empty "$work/log"
result $? 'the contract of every function is tested'

# A profile then says which backend and mode ran. Object files are named by their folder:
# x86_vaes512_gcm.c.o, modes_gcm_many.c.o. A mode's functions begin with tr_ or the mode. 32-bit code
# has functions of the compiler that return the program counter, and Arm's objects have symbols that
# tell code from data ($x, $d).
nm --defined-only "$static" | awk '/\.o:$/ {
        prefix = /^(x86|arm|simd|portable_bitslice)/ ? "bitslice_|vperm_" : ""
        if (sub(/^modes_/, "")) prefix = substr($0, 1, match($0, /[_.]/) - 1)
        next
    }
    prefix && $2 ~ /^[tT]$/ && $3 !~ "^(tr_|__x86\\.get_pc_thunk|[$]|" prefix ")" { print prefix, $3 }' >"$work/log"
is_empty "$work/log"
result $? 'the symbols of a backend or a mode name it'

if echo '#include <sys/sdt.h>' | $cc -E -x c - >/dev/null 2>&1; then
    readelf -n "$library" >"$work/log" 2>&1
    grep -q 'Provider: tenrounds' "$work/log" && grep -q 'Name: bulk$' "$work/log"
    result $? 'the library has the probe tenrounds:bulk'
else
    skip 'no sys/sdt.h (Debian: systemtap-sdt-dev)'
fi

# Every program with probes defines _.stapsdt.base.
nm --defined-only -g "$static" | awk 'NF == 3 && $3 !~ /^(tr_|_\.stapsdt|__x86\.)/ {print $3}' >"$work/log"
is_empty "$work/log"
result $? 'all global symbols of the static library begin with tr_'

# Prints C code with one call in each line: every function that takes a key, with a pointer to every
# key type. Adds "// own" to the lines where function and key match. The other arguments are 0. A
# parameter is a key if that is its name.
calls() {
    $cc -E -P "$header" | tr '\n' ' ' | tr ';' '\n' |
        sed -n 's/.*visibility("default"))) *//p' | sed -n -e 's/ *__attribute__.*//' -e '/[ *]key[,)]/p' |
        awk -v types="$(grep -o '^struct tr_[a-z_]*_key' "$include/tenrounds_private.h" | sed 's/struct //' | tr '\n' ' ')" 'BEGIN {
            print "#include \"tenrounds.h\""
            count = split(types, type, " ")
            for (i = 1; i <= count; i++) keys[type[i]]
        }
        { name = params = $0
          sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
          sub(/^[^(]*\(/, "", params); sub(/\)[^)]*$/, "", params)
          names[NR] = name; gives[NR] = $1 != "void"; count = split(params, p, ",")
          for (i = 1; i <= count; i++) {
              own = p[i]
              if (own ~ /[ *]key$/) {
                  sub(/.*struct /, "", own); sub(/ .*/, "", own)
                  of[NR] = own; p[i] = "k"
              } else
                  p[i] = "0"
              arguments[NR] = arguments[NR] (i > 1 ? ", " : "") p[i]
          } }
        END {
            for (n = 1; n <= NR; n++)
                for (key in keys)
                    printf "%s f%d_%s(struct %s *k) { %s%s(%s); } // %s %s\n", gives[n] ? "int" : "void", n, key, key,
                        gives[n] ? "return (int)" : "", names[n], arguments[n], names[n], key == of[n] ? "own" : key
        }'
}
calls >"$work/calls.c"
# gcc and clang report each wrong line; clang would stop after 20 errors.
all_errors=-ferror-limit=0
echo 'int unused;' | $cc $all_errors -fsyntax-only -x c - 2>/dev/null || all_errors=''
# shellcheck disable=SC2086
$cc -std=c11 -Wall -Wextra -Werror -fsyntax-only $all_errors -I "$include" "$work/calls.c" >"$work/errors" 2>&1
sed -n 's/^.*calls\.c:\([0-9]*\):[0-9]*: error: .*/\1/p' "$work/errors" | sort -un >"$work/refused"
grep -n '// .* own$' "$work/calls.c" | sed 's/:.*//' >"$work/own"
sed -n "$(sed 's/$/p;/' "$work/own")" "$work/calls.c" | sed 's/.*\/\/ \(.*\) own/\1/' | sort -u >"$work/taking"
{
    grep -xFf "$work/own" "$work/refused" | while read -r line; do grep ":$line:" "$work/errors"; done
    # The list has every function that sets a key or starts a message.
    grep -E '_(set_key|start)$' "$work/declared" | grep -vxFf "$work/taking" | sed 's/$/() takes no key/'
    grep -qx tr_gcm_start "$work/taking" || echo 'no function takes a key'
} >"$work/log"
is_empty "$work/log"
result $? "$(wc -l <"$work/taking") functions accept a key of their mode"
grep -n '// tr_.* tr_' "$work/calls.c" | while IFS=: read -r line call; do
    grep -qx "$line" "$work/refused" || echo "compiles: ${call##*// }"
done >"$work/log"
is_empty "$work/log"
result $? "$(grep -c '// tr_.* tr_' "$work/calls.c") calls with a key of another mode do not compile"
exit $failed
