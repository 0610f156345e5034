#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The tests through libcrypto with each version of OpenSSL: tests/versions/run.sh BUILD, which reads
# lines "version prefix tests" (the Meson build that has them). A line of TAP for each program, mask and version; of a program that fails,
# all that it said.
set -u

build=$(cd "$1" && pwd)/c
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export OPENSSL_MODULES="$build/openssl/provider"

count=0
status=0
line() { # ok|not-ok TEXT
    count=$((count + 1))
    if [ "$1" = ok ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        sed 's/^/#   /' "$log"
        status=1
    fi
}

# program VERSION PREFIX NAME MASK CONFIGURATION, from $tests
program() {
    file=$tests/tests/openssl/openssl-$3
    [ -x "$file" ] || file=$tests/tests/versions/openssl-$3
    text="OpenSSL $1: $3${4:+, $4}"
    if [ ! -x "$file" ]; then
        echo "$file is missing: run make check first" >"$log"
        line not-ok "$text"
    # Not by name: that the program will really be given this libcrypto.
    elif ! LD_LIBRARY_PATH=$2/lib ldd "$file" | grep -qF "=> $2/lib/libcrypto.so"; then
        LD_LIBRARY_PATH=$2/lib ldd "$file" >"$log"
        line not-ok "$text: it needs another libcrypto than that in $2/lib"
    elif TENROUNDS_MASK=$4 OPENSSL_CONF=$5 LD_LIBRARY_PATH=$2/lib timeout -k 5 400 "$file" >"$log" 2>&1; then
        skipped=$(grep -c '^ok .*# SKIP' "$log")
        line ok "$text: $(grep -c '^ok ' "$log") results$([ "$skipped" = 0 ] || echo ", $skipped of them skipped")"
    else
        line not-ok "$text: exit status $?"
    fi
}

while read -r version prefix tests; do
    for name in names differential differential_aead guards tls_records threads; do
        program "$version" "$prefix" "$name" '' /dev/null
    done
    for mask in noavx512 novaes noclmul noaes noaes,nossse3; do
        for name in differential differential_aead guards tls_records; do
            program "$version" "$prefix" "$name" "$mask" /dev/null
        done
    done
    program "$version" "$prefix" generator '' "$build/tests/versions/preferred.cnf"
done
[ "$count" -gt 0 ] || status=1
echo "1..$count"
exit "$status"
