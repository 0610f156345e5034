#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests of tests/openssl with other versions of OpenSSL: tests/versions/run.sh BUILD. Reads
# lines "version prefix tests program...", where tests is the Meson build that has these programs.
# Prints one line of TAP for each program, mask and version, and the whole output of each program
# that fails.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../openssl" && pwd)
build=$(cd "$1" && pwd)/c
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export OPENSSL_MODULES="$build/openssl/provider" OPENSSL_ENGINES="$build/openssl/engine"
export FAULTY_MODULES="$build/tests/openssl/faulty"

count=0
status=0
bind_now=
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

# run NAME MASK CONFIGURATION FILE [ARGUMENT], with $version from $prefix
run() {
    text="OpenSSL $version: $1${2:+, $2}"
    begin=$(date +%s)
    if TENROUNDS_MASK=$2 LD_BIND_NOW=$bind_now OPENSSL_CONF=$3 PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$prefix/lib \
        timeout -k 5 1200 "$4" ${5:+"$5"} >"$log" 2>&1; then
        skipped=$(grep -c '^ok .*# SKIP' "$log")
        text="$text: $(grep -c '^ok ' "$log") results"
        line ok "$text$([ "$skipped" = 0 ] || echo ", $skipped of them skipped") ($(($(date +%s) - begin)) s)"
    else
        line not-ok "$text: exit status $?"
    fi
}

# program NAME: runs a program that is linked with libcrypto, with each mask of its regular test.
program() {
    file=$tests/tests/openssl/openssl-$1
    # Checks that the loader really finds this libcrypto, whatever its name.
    LD_LIBRARY_PATH=$prefix/lib ldd "$file" >"$log" 2>&1
    if ! readelf -d "$file" | grep -q 'NEEDED.*libcrypto'; then
        return # independent of the version
    elif ! grep -qF "=> $prefix/lib/libcrypto.so" "$log"; then
        line not-ok "OpenSSL $version: $1: does not load the libcrypto in $prefix/lib"
        return
    fi
    configuration=/dev/null
    [ "$1" != random ] || configuration=$build/tests/openssl/preferred.cnf
    # As in tests/openssl/meson.build: bind functions at load.
    bind_now=
    [ "$1" != shared ] || bind_now=1
    run "$1" '' "$configuration" "$file"
    case $1 in
    engine)
        for mask in noavx512 noaes; do
            run "$1" "$mask" "$configuration" "$file"
        done
        ;;
    # Differences between versions show without a mask. With a mask, the timed tests therefore run
    # for only 2 seconds.
    differential* | macs | stitched)
        for mask in noavx512 novaes noclmul noaes noaes,nossse3; do
            run "$1" "$mask" "$configuration" "$file" 2
        done
        ;;
    guards | pipelines | tls_records)
        for mask in noavx512 novaes noclmul noaes noaes,nossse3; do
            run "$1" "$mask" "$configuration" "$file"
        done
        ;;
    esac
}

while read -r version prefix tests programs; do
    for name in $programs; do
        program "$name"
    done
    # Also tests the openssl command of that version.
    case $version in
    1.*) ;;
    *)
        run 'openssl command' '' /dev/null "$here/openssl_command.sh"
        run 'openssl command, every TLS suite' '' /dev/null "$here/tls_suites.sh"
        ;;
    esac
    case $version in
    4.*) ;;
    *)
        run 'openssl command, engine' '' /dev/null "$here/engine_command.sh"
        run 'openssl command, engine, every TLS suite' '' /dev/null "$here/tls_suites.sh" engine
        ;;
    esac
done
[ "$count" -gt 0 ] || status=1
echo "1..$count"
exit "$status"
