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
started=$(mktemp -d)
trap 'rm -rf "$log" "$started"' EXIT
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
    if TENROUNDS_MASK=$2 LD_BIND_NOW=$bind_now OPENSSL_CONF=$3 PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$library \
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
    case $version/$1 in
    # These compare with the default provider, which later versions mended: its GMAC without a key
    # reads NULL, it writes parameters of a wrong type, and EVP_DecryptFinal() of SIV and GCM-SIV
    # succeeds after some messages that ours refuses.
    3.2.1/differential* | 3.2.1/macs)
        line ok "OpenSSL $version: $1 # SKIP the default provider of 3.2.1 has faults of its own"
        return
        ;;
    esac
    file=$tests/tests/openssl/openssl-$1
    # Checks that the loader really finds this libcrypto, whatever its name.
    if [ -n "$library" ]; then
        LD_LIBRARY_PATH=$library ldd "$file" >"$log" 2>&1
    else
        "$prefix/run" --list "$file" >"$log" 2>&1
    fi
    if ! readelf -d "$file" | grep -q 'NEEDED.*libcrypto'; then
        return # independent of the version
    elif ! grep -qF "=> $prefix/lib/libcrypto.so" "$log"; then
        line not-ok "OpenSSL $version: $1: does not load the libcrypto in $prefix/lib"
        return
    fi
    if [ -z "$library" ]; then
        # A script with the program's name, because some programs start themselves again.
        # shellcheck disable=SC2016 # expanded by that script
        printf '#!/bin/sh\nexec "%s" --argv0 "$0" "%s" "$@"\n' "$prefix/run" "$file" >"$started/$1"
        chmod +x "$started/$1"
        file=$started/$1
    fi
    configuration=/dev/null
    [ "$1" != random ] || configuration=$build/tests/openssl/preferred.cnf
    # As in tests/openssl/meson.build: bind functions at load.
    bind_now=
    [ "$1" != shared ] || bind_now=1
    run "$1" '' "$configuration" "$file"
    [ -n "$library" ] || return 0 # patch releases do not depend on masks
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
    guards | pipelines | gcm_pipelines | tls_records)
        for mask in noavx512 novaes noclmul noaes noaes,nossse3; do
            run "$1" "$mask" "$configuration" "$file"
        done
        ;;
    esac
}

while read -r version prefix tests programs; do
    # Debian's libraries need the C library beside them, which $prefix/run gives to a program.
    library=$prefix/lib
    [ ! -x "$prefix/run" ] || library=
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
