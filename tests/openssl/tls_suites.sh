#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests every AES suite of the installed libssl, TLS 1.2 and 1.3: `openssl s_client` fetches a file
# from `openssl s_server`. Both sides prefer the provider. Some suites also run with the provider on
# only one side. The file must arrive unchanged, and the counters must show that our code sealed and
# opened it. With the argument "engine", our engine is the default instead. With "once", for
# sanitizers and 32-bit code, and with TENROUNDS_STRIDE (tap.h), each pair of cipher and MAC runs
# with only one key exchange, because the records are the same with every key exchange.
# shellcheck disable=SC2317 # result() calls the functions
set -eu

# shellcheck source=tests/openssl/preferred.sh
. "$(dirname -- "$0")/preferred.sh"

# Sets the bulk operations that seal and open a suite's records. Without CLMUL, GCM uses CTR.
operations() {
    case $1 in
    *GCM*) sealing="gcm_seal gcm_encrypt ctr" opening="gcm_open gcm_decrypt ctr" ;;
    *CCM*) sealing="ccm_encrypt ctr" opening="ccm_decrypt ctr" ;;
    *) sealing=cbc_encrypt opening=cbc_decrypt ;;
    esac
}

size=200000
head -c $size /dev/urandom >"$dir/file"
for kind in "rsa:2048 rsa" "ec -pkeyopt ec_paramgen_curve:P-256 ec"; do
    name=${kind##* }
    # shellcheck disable=SC2086 # words
    plain req -x509 -newkey ${kind% *} -nodes -keyout "$dir/$name.key" -out "$dir/$name.pem" \
        -days 2 -subj /CN=localhost 2>"$dir/said" || { cat "$dir/said" && exit 1; }
done
psk=00112233445566778899aabbccddeeff

# serve SIDE: starts a server on a free port and sets $port.
serve() {
    : >"$dir/server-$1"
    # Does not use ours() or plain(), because $! must be the server itself, which cleanup() stops.
    (cd "$dir" && TENROUNDS_COUNTERS=$others LD_PRELOAD=$([ "$1" = plain ] || echo "$runtime") \
        OPENSSL_CONF=$dir/$1.cnf exec openssl s_server -accept localhost:0 -HTTP -cert rsa.pem \
        -key rsa.key -dcert ec.pem -dkey ec.key -psk $psk -cipher ALL:@SECLEVEL=0 -ciphersuites \
        TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_AES_128_CCM_SHA256:TLS_AES_128_CCM_8_SHA256 \
        >"server-$1" 2>&1) &
    servers="$servers $!"
    port=$(port_of "$dir/server-$1")
    [ -n "$port" ] || {
        cat "$dir/server-$1"
        return 1
    }
}

# fetch SERVER CLIENT SUITE [OPTION]: whether the file arrives, and our code did the work of each
# side that is ours.
fetch() {
    fresh_counters
    port=$port_plain
    [ "$1" = plain ] || port=$port_ours
    operations "$3"
    # shellcheck disable=SC2086 # words
    [ "$1" = plain ] || before=$(executed "$others" $sealing)
    case $3 in
    # Security level 0: from 3.2 on, a tag of 8 bytes is too short for level 1.
    TLS_*) version="-tls1_3 -ciphersuites $3 -cipher ALL:@SECLEVEL=0" ;;
    *) version="-tls1_2 -cipher $3:@SECLEVEL=0" ;;
    esac
    case $3 in *PSK*) version="$version -psk $psk" ;; esac
    version="$version ${4:-}"
    # shellcheck disable=SC2086 # words
    printf 'GET /file HTTP/1.0\r\n\r\n' | "$2" s_client -connect "localhost:$port" -quiet $version \
        2>"$dir/client" | tail -c $size >"$dir/got" || :
    cat "$dir/client"
    cmp "$dir/file" "$dir/got" || return 1
    [ "${4:-}" != -no_etm ] || $stitched || return 0
    # shellcheck disable=SC2086 # words
    if [ "$2" = ours ] && [ "$(executed "$counters" $opening)" -lt $((size / 2)) ]; then
        echo "our code did not open the client's records ($opening)" && return 1
    fi
    # shellcheck disable=SC2086 # words
    if [ "$1" = ours ] &&
        [ $(($(executed "$others" $sealing) - before)) -lt $((size / 2)) ]; then
        echo "our code did not seal the server's records ($sealing)" && return 1
    fi
}

engine=false once=false
[ "${TENROUNDS_STRIDE:-1}" -le 1 ] || once=true
for word in "$@"; do
    case $word in
    engine) engine=true ;;
    once) once=true ;;
    *) echo "'$word' is neither engine nor once" && exit 1 ;;
    esac
done
# Prints the names of AES suites whose line of 'openssl ciphers -v' matches $2. With "once", prints
# one suite for each version, cipher and MAC (fields 2, 5 and 6).
names() { # CIPHERS PATTERN
    plain ciphers -v "$1" | awk -v once="$once" -v pattern="$2" \
        '$0 ~ pattern && !/DSS|SRP/ && !(once == "true" && seen[$2 $5 $6]++) { print $1 }'
}

# Leaves out suites that need a DSA key or SRP passwords: other suites have the same ciphers.
suites=$(names ALL:eNULL:@SECLEVEL=0 AES)
suites="TLS_AES_128_CCM_SHA256 TLS_AES_128_CCM_8_SHA256 $suites"
# With CBC suites, encrypt-then-MAC decides which cipher libssl uses. These suites also run without
# encrypt-then-MAC.
cbc=$(names AES:kPSK+AES:@SECLEVEL=0 'Enc=AES[(]')
mixed="ECDHE-RSA-AES128-SHA ECDHE-ECDSA-AES256-SHA"
if $engine; then
    # Without encrypt-then-MAC, libssl uses AES-CBC-HMAC, which our engine lacks; with SHA-384 it
    # uses CBC. 1.1.1 cannot switch encrypt-then-MAC off.
    mixed=
    cbc=$(echo "$cbc" | grep SHA384)
    case $(plain version) in 'OpenSSL 1.'*) cbc= ;; esac
fi
# shellcheck disable=SC2086 # words
planned=$(printf '%s\n' $suites $cbc $mixed $mixed | wc -l)
planned=$((planned + 8))
echo "1..$planned"
serve ours && port_ours=$port
serve plain && port_plain=$port
for suite in $suites; do
    result "$suite: the file arrives, with both sides ours" fetch ours ours "$suite"
done
for suite in TLS_AES_128_GCM_SHA256 TLS_AES_128_CCM_8_SHA256 ECDHE-RSA-AES256-GCM-SHA384 \
    ECDHE-ECDSA-AES256-CCM8; do
    result "$suite: the file arrives, with only the client ours" fetch plain ours "$suite"
    result "$suite: the file arrives, with only the server ours" fetch ours plain "$suite"
done
# Without SHA instructions, the default provider computes AES-CBC-HMAC.
stitched=true
$engine || ours list -cipher-algorithms -provider tenrounds | grep -q 'AES-128-CBC-HMAC-SHA1 @ tenrounds' || stitched=false
$stitched || echo '# no SHA instructions here: without encrypt-then-MAC, the default provider does the work'
for suite in $cbc; do
    result "$suite without encrypt-then-MAC: the file arrives, with both sides ours" \
        fetch ours ours "$suite" -no_etm
done
for suite in $mixed; do
    result "$suite without encrypt-then-MAC: the file arrives, with only the client ours" \
        fetch plain ours "$suite" -no_etm
    result "$suite without encrypt-then-MAC: the file arrives, with only the server ours" \
        fetch ours plain "$suite" -no_etm
done
[ "$count" = "$planned" ] || status=1
exit $status
