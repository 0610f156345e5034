#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the installed openssl command, with our provider preferred by a configuration file as on a
# real system: listing, encryption, random numbers, digests, and TLS 1.2 with CBC suites. The TLS
# peer is openssl with or without the provider.
# shellcheck disable=SC2317 # result() calls the functions
set -eu

# shellcheck source=tests/openssl/preferred.sh
. "$(dirname -- "$0")/preferred.sh"

# ran OPERATION BYTES: whether our code processed at least BYTES in this operation.
ran() {
    bytes=$(executed "$counters" "$1")
    echo "$1: $bytes bytes"
    [ "$bytes" -ge "$2" ]
}

echo 1..35

lists() {
    ours list -providers -verbose >"$dir/list" && cat "$dir/list" &&
        grep -q 'name: OpenSSL Default Provider' "$dir/list" &&
        grep -q 'name: tenrounds' "$dir/list" && grep -q 'selected backend: ' "$dir/list" &&
        [ "$(grep -c 'status: active' "$dir/list")" = 2 ]
}
result "openssl list -providers shows both providers and the backend" lists

sabotaged() {
    strongest=$(sed -n 's/.*selected backend: \([a-z0-9-]*\);.*/\1/p' "$dir/list")
    [ -n "$strongest" ] &&
        TENROUNDS_SABOTAGE=$strongest faulty list -providers -verbose |
        grep "passed over: $strongest"
}
if grep -q 'selected backend: bitslice' "$dir/list"; then
    skip "there is only one backend for this processor" excused
else
    result "openssl list -providers names the backend that was passed over" sabotaged
fi

head -c 300007 /dev/urandom >"$dir/data"
key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
iv=f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff
both_ways() {
    case $1 in *ecb) ivs= ;; *) ivs="-iv $iv" ;; esac
    size=${1#aes-}
    size=${size%%-*}
    case $1 in
    *ofb | *ctr) encrypts=${1##*-} decrypts=${1##*-} ;;
    *) encrypts=${1##*-}_encrypt decrypts=${1##*-}_decrypt ;;
    esac
    k=$(printf %.$((size / 4))s "$key")
    fresh_counters
    # shellcheck disable=SC2086 # two words, or none
    plain enc "-$1" -K "$k" $ivs -in "$dir/data" -out "$dir/theirs" &&
        ours enc "-$1" -K "$k" $ivs -in "$dir/data" -out "$dir/ours" &&
        cmp "$dir/theirs" "$dir/ours" && ran "$encrypts" 300000 && fresh_counters &&
        ours enc -d "-$1" -K "$k" $ivs -in "$dir/theirs" -out "$dir/back" &&
        cmp "$dir/data" "$dir/back" && ran "$decrypts" 300000
}
for mode in ecb cbc cfb ofb ctr; do
    for bits in 128 192 256; do
        result "openssl enc -aes-$bits-$mode uses our code in both directions" \
            both_ways "aes-$bits-$mode"
    done
done

# mac MAC CIPHER BITS [OPTION VALUE]: compares the MAC with that of openssl without our provider.
mac() {
    name=$1 cipher=$2 k=$(printf %.$(($3 / 4))s "$key")
    shift 3
    fresh_counters
    plain mac -cipher "$cipher" -macopt "hexkey:$k" "$@" -in "$dir/data" "$name" >"$dir/theirs" &&
        ours mac -cipher "$cipher" -macopt "hexkey:$k" "$@" -in "$dir/data" "$name" >"$dir/ours" &&
        cmp "$dir/theirs" "$dir/ours"
}
our_cmac() { mac CMAC aes-256-cbc 256 && ran cbc_encrypt 300000 && ran ecb_encrypt 16; }
other_cmac() { mac CMAC des-ede3-cbc 192 && ! ran ecb_encrypt 1; }
our_gmac() { mac GMAC aes-128-gcm 128 -macopt "hexiv:$iv" && ran ghash 300000; }
other_gmac() { mac GMAC aria-128-gcm 128 -macopt "hexiv:$iv" && ! ran ghash 1; }
result "openssl mac computes CMAC with AES by our code" our_cmac
result "openssl mac computes CMAC with 3DES by the default provider's code" other_cmac
result "openssl mac computes GMAC with AES by our code" our_gmac
result "openssl mac computes GMAC with ARIA by the default provider's code" other_gmac

# With a wrong password, 1 of 256 decryptions ends in valid padding. Both outputs must then match.
wrong_password() { # ours|plain FILE
    "$1" enc -d -aes-256-cbc -pbkdf2 -pass pass:wrong -in "$dir/theirs" -out "$2"
}
by_password() {
    plain enc -aes-256-cbc -pbkdf2 -pass pass:secret -in "$dir/data" -out "$dir/theirs" &&
        ours enc -d -aes-256-cbc -pbkdf2 -pass pass:secret -in "$dir/theirs" -out "$dir/back" &&
        cmp "$dir/data" "$dir/back" || return 1
    plain_status=0 our_status=0
    wrong_password plain "$dir/nonsense" || plain_status=$?
    wrong_password ours "$dir/back" || our_status=$?
    [ "$our_status" = "$plain_status" ] && { [ "$plain_status" != 0 ] || cmp "$dir/nonsense" "$dir/back"; }
}
result "openssl enc decrypts with a password, and treats a wrong one like plain openssl" by_password

random() {
    fresh_counters
    ours rand -out "$dir/random" 100000 && [ "$(wc -c <"$dir/random")" = 100000 ] || return 1
    # In later versions, the generator uses the AES of its own provider; see random.c.
    case $(plain version) in 'OpenSSL 3.'[0-3].*) ran ctr 90000 ;; esac
}
result "openssl rand draws its numbers from our AES up to OpenSSL 3.3" random

digest() {
    [ "$(ours dgst -sha256 -r "$dir/data")" = "$(plain dgst -sha256 -r "$dir/data")" ]
}
result "openssl dgst gives the same digest as plain openssl" digest

gcm_suite() {
    ours ciphers -v ECDHE-RSA-AES128-GCM-SHA256 && ours list -cipher-algorithms
}
result "openssl ciphers and openssl list -cipher-algorithms work" gcm_suite

speed() { ours speed -seconds 1 -bytes 1024 -evp aes-128-cbc -decrypt; }
result "openssl speed -decrypt works in place" speed

certificate() {
    ours req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key.pem" -out "$dir/cert.pem" -days 2 \
        -subj /CN=localhost -addext subjectAltName=DNS:localhost
}
result "openssl req makes a certificate" certificate

encrypted_key() {
    ours pkcs8 -topk8 -v2 aes-256-cbc -passout pass:secret -in "$dir/key.pem" -out "$dir/p8.pem" &&
        plain pkey -passin pass:secret -in "$dir/p8.pem" -out "$dir/key2.pem" &&
        cmp "$dir/key.pem" "$dir/key2.pem"
}
result "plain openssl opens a private key that we encrypted" encrypted_key

# handshake SERVER CLIENT BYTES SUITE OPTION...: each side is "ours" or "plain". The server returns
# each line reversed. The client sends palindromes, so the answer must equal them. Our code must
# encrypt and decrypt at least BYTES with CBC.
awk 'BEGIN { for (i = 1000; i < 3000; i++) { s = i; for (j = 4; j > 0; j--) s = s substr(i, j, 1)
             print s } }' >"$dir/lines"
# Waits until the server has returned all lines.
echoed() {
    tries=0
    until cmp -s "$dir/lines" "$dir/echo" || [ $((tries += 1)) -gt 600 ]; do
        sleep 0.1
    done
}
handshake() {
    server_side=$1 client_side=$2 least=$3 suite=$4
    shift 4
    : >"$dir/server"
    : >"$dir/echo"
    fresh_counters
    "$server_side" s_server -accept localhost:0 -naccept 1 -rev -tls1_2 -cert "$dir/cert.pem" \
        -key "$dir/key.pem" -cipher "$suite:@SECLEVEL=0" "$@" >"$dir/server" 2>&1 &
    servers=$!
    port=$(port_of "$dir/server")
    { cat "$dir/lines" && echoed; } | "$client_side" s_client -connect "localhost:$port" -quiet \
        -no_ign_eof -tls1_2 -cipher "$suite:@SECLEVEL=0" -CAfile "$dir/cert.pem" \
        -verify_return_error "$@" >"$dir/echo" 2>"$dir/client" || :
    wait "$servers" || :
    servers=
    cat "$dir/server" "$dir/client"
    cmp "$dir/lines" "$dir/echo" && ran cbc_encrypt "$least" && ran cbc_decrypt "$least"
}
# Without encrypt-then-MAC (-no_etm), libssl uses AES-..-CBC-HMAC-SHA1. There is no such cipher for
# SHA-384: there libssl uses CBC, and the provider removes padding and MAC.
result "TLS 1.2 works with AES128-SHA" handshake ours ours 30000 ECDHE-RSA-AES128-SHA
result "TLS 1.2 works with AES128-SHA, no_etm" \
    handshake ours ours 30000 ECDHE-RSA-AES128-SHA -no_etm
result "TLS 1.2 works with AES256-SHA384" handshake ours ours 30000 ECDHE-RSA-AES256-SHA384
result "TLS 1.2 works with AES256-SHA384, no_etm" \
    handshake ours ours 30000 ECDHE-RSA-AES256-SHA384 -no_etm
result "TLS 1.2 works with AES256-SHA384, no_etm, to a plain client" \
    handshake ours plain 15000 ECDHE-RSA-AES256-SHA384 -no_etm
result "TLS 1.2 works with AES256-SHA384, no_etm, to a plain server" \
    handshake plain ours 15000 ECDHE-RSA-AES256-SHA384 -no_etm

# A setuid program must ignore the masks and the counters file in its caller's environment.
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
setuid_ignores() {
    fresh_counters
    chmod 666 "$counters"
    TENROUNDS_COUNTERS=$counters TENROUNDS_MASK=noaes OPENSSL_ia32cap=0 \
        as_nobody "$dir/setuid-openssl" list -provider-path "$OPENSSL_MODULES" \
        -provider tenrounds -providers -verbose | tee "$dir/setuid"
    sed 's/.*selected/selected/' "$dir/setuid" | grep '^selected' >"$dir/setuid-build"
    sed 's/.*selected/selected/' "$dir/list" | grep '^selected' | cmp - "$dir/setuid-build" &&
        ! head -c 8 "$counters" | grep -q TRCOUNT1
}
chmod 711 "$dir"
cp "$(command -v id)" "$dir/setuid-id"
cp "$(command -v openssl)" "$dir/setuid-openssl"
chmod 4755 "$dir/setuid-id" "$dir/setuid-openssl"
if [ -n "$runtime" ]; then
    skip "a setuid program cannot preload the sanitizer's runtime" excused
elif [ "$(env -u LD_LIBRARY_PATH openssl version 2>&1)" != "$(openssl version)" ]; then
    skip "this OpenSSL needs LD_LIBRARY_PATH, which a setuid program ignores" excused
elif [ "$(head -c 2 "$(command -v openssl)")" = '#!' ]; then
    skip "this openssl is a script, which cannot be setuid" excused
elif [ "$(id -u)" != 0 ]; then
    skip "only root can make a setuid program and run it as another user" excused
elif [ "$(as_nobody "$dir/setuid-id" -u 2>"$dir/said" || :)" != 0 ]; then
    skip "setuid does not work here: mounted nosuid, or setpriv (util-linux) is missing"
else
    result "a setuid program ignores the caller's masks and counters file" setuid_ignores
fi

[ "$count" = 35 ] || {
    echo "# planned 35 results, gave $count"
    status=1
}
exit $status
