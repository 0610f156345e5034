#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The installed openssl command with our provider preferred by configuration, as a system would have
# it: listing, encryption, random numbers, digests, and TLS 1.2 over CBC suites, against itself and
# against a peer that does not have the provider.
# shellcheck disable=SC2317 # the functions are called, by result()
set -eu

dir=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    rm -rf "$dir"
}
trap cleanup EXIT

count=0
status=0
# result TEXT COMMAND...: one line of TAP for whether the command succeeds; what it says is shown
# when it does not.
result() {
    set +e
    count=$((count + 1))
    text=$1
    shift
    if "$@" >"$dir/said" 2>&1; then
        echo "ok $count - $text"
    else
        echo "not ok $count - $text"
        sed 's/^/# /' "$dir/said"
        status=1
    fi
    set -e
}

# skip REASON [excused]: one result that cannot be had here; a failure where it has to be had.
skip() {
    count=$((count + 1))
    if [ -n "${TENROUNDS_MUST_RUN:-}" ] && [ "${2:-}" != excused ]; then
        echo "not ok $count - skipped, but has to run here (TENROUNDS_MUST_RUN): $1"
        status=1
    else
        echo "ok $count # SKIP $1"
    fi
}

cat >"$dir/preferred.cnf" <<EOF
openssl_conf = init
[init]
providers = providers
alg_section = algorithms
[providers]
default = of_default
tenrounds = of_tenrounds
[of_default]
activate = 1
[of_tenrounds]
module = $OPENSSL_MODULES/tenrounds.so
activate = 1
[algorithms]
default_properties = ?provider=tenrounds
[req]
distinguished_name = name
[name]
EOF
cat >"$dir/plain.cnf" <<EOF
[req]
distinguished_name = name
[name]
EOF
export TENROUNDS_COUNTERS="$dir/counters"

# A provider that was built with the address sanitizer needs its runtime in the program first.
runtime=
if nm -D "$OPENSSL_MODULES/tenrounds.so" | grep -q __asan_init; then
    runtime=$(${CC:-cc} -print-file-name="libclang_rt.asan-$(uname -m).so")
    [ -f "$runtime" ] || runtime=$(${CC:-cc} -print-file-name=libasan.so)
    export ASAN_OPTIONS=detect_leaks=0
fi

plain() { OPENSSL_CONF="$dir/plain.cnf" openssl "$@"; }
ours() { LD_PRELOAD=$runtime OPENSSL_CONF="$dir/preferred.cnf" openssl "$@"; }

fresh_counters() { : >"$dir/counters"; }

# ran OPERATION BYTES: whether our code did at least so many (the file describes itself, see
# openssl/common/counters_file.h).
ran() {
    ops=$(od -An -t u4 -j 12 -N 4 "$dir/counters" | tr -d ' ')
    index=$(tail -c +153 "$dir/counters" | head -c $((16 * ops)) | tr '\0' ' ' | fold -w 16 |
        awk -v op="$1" '$1 == op { print NR - 1 }')
    bytes=$(od -An -v -t u8 -w16 -j $((152 + 16 * ops)) -N $((8 * 16 * ops)) "$dir/counters" |
        awk -v ops="$ops" -v i="$index" '(NR - 1) % ops == i { n += $2 } END { print n + 0 }')
    echo "$1: $bytes bytes"
    [ "$bytes" -ge "$2" ]
}

echo 1..31

lists() {
    ours list -providers -verbose >"$dir/list" && cat "$dir/list" &&
        grep -q 'name: OpenSSL Default Provider' "$dir/list" &&
        grep -q 'name: tenrounds' "$dir/list" && grep -q 'selected backend: ' "$dir/list" &&
        [ "$(grep -c 'status: active' "$dir/list")" = 2 ]
}
result "openssl list -providers shows both, and the backend" lists

sabotaged() {
    strongest=$(sed -n 's/.*selected backend: \([a-z0-9]*\);.*/\1/p' "$dir/list")
    TENROUNDS_SABOTAGE=$strongest ours list -providers -verbose | grep "passed over: $strongest"
}
if grep -q 'selected backend: bitslice' "$dir/list"; then
    skip "there is only one backend for this processor" excused
else
    result "openssl list -providers tells which backend was passed over" sabotaged
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
        result "openssl enc -aes-$bits-$mode, both ways, by our code" both_ways "aes-$bits-$mode"
    done
done

by_password() {
    plain enc -aes-256-cbc -pbkdf2 -pass pass:secret -in "$dir/data" -out "$dir/theirs" &&
        ours enc -d -aes-256-cbc -pbkdf2 -pass pass:secret -in "$dir/theirs" -out "$dir/back" &&
        cmp "$dir/data" "$dir/back" &&
        ! ours enc -d -aes-256-cbc -pbkdf2 -pass pass:wrong -in "$dir/theirs" -out "$dir/back"
}
result "openssl enc with a password, and with a wrong one" by_password

random() {
    fresh_counters
    ours rand -out "$dir/random" 100000 && [ "$(wc -c <"$dir/random")" = 100000 ] && ran ctr 90000
}
result "openssl rand draws its numbers from our AES" random

digest() {
    [ "$(ours dgst -sha256 -r "$dir/data")" = "$(plain dgst -sha256 -r "$dir/data")" ]
}
result "openssl dgst" digest

gcm_suite() {
    ours ciphers -v ECDHE-RSA-AES128-GCM-SHA256 && ours list -cipher-algorithms
}
result "openssl ciphers" gcm_suite

speed() { ours speed -seconds 1 -bytes 1024 -evp aes-128-cbc -decrypt; }
result "openssl speed -decrypt in place" speed

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
result "a private key under AES, opened by plain openssl" encrypted_key

# handshake SERVER CLIENT BYTES SUITE OPTION...: each side is "ours" or "plain". The client sends
# lines that the server sends back reversed; they read the same both ways. BYTES is how many our
# code has to encrypt and to decrypt with CBC for it.
awk 'BEGIN { for (i = 1000; i < 3000; i++) { s = i; for (j = 4; j > 0; j--) s = s substr(i, j, 1)
             print s } }' >"$dir/lines"
handshake() {
    server_side=$1 client_side=$2 least=$3 suite=$4
    shift 4
    : >"$dir/server"
    fresh_counters
    "$server_side" s_server -accept localhost:0 -naccept 1 -rev -tls1_2 -cert "$dir/cert.pem" \
        -key "$dir/key.pem" -cipher "$suite:@SECLEVEL=0" "$@" >"$dir/server" 2>&1 &
    server=$!
    port=
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        port=$(sed -n 's/^ACCEPT.*:\([0-9]*\)$/\1/p' "$dir/server")
        [ -z "$port" ] || break
        sleep 0.1
    done
    { cat "$dir/lines" && sleep 1; } | "$client_side" s_client -connect "localhost:$port" -quiet \
        -no_ign_eof -tls1_2 -cipher "$suite:@SECLEVEL=0" -CAfile "$dir/cert.pem" \
        -verify_return_error "$@" >"$dir/echo" 2>"$dir/client" || :
    wait "$server" || :
    server=
    cat "$dir/server" "$dir/client"
    cmp "$dir/lines" "$dir/echo" && ran cbc_encrypt "$least" && ran cbc_decrypt "$least"
}
# libssl takes AES-..-CBC-HMAC-SHA1 where encrypt-then-mac is off, which is the default provider's;
# with SHA-384 it takes our CBC and has it strip padding and MAC.
result "TLS 1.2, AES128-SHA" handshake ours ours 30000 ECDHE-RSA-AES128-SHA
result "TLS 1.2, AES128-SHA, no_etm" handshake ours ours 0 ECDHE-RSA-AES128-SHA -no_etm
result "TLS 1.2, AES256-SHA384" handshake ours ours 30000 ECDHE-RSA-AES256-SHA384
result "TLS 1.2, AES256-SHA384, no_etm" handshake ours ours 30000 ECDHE-RSA-AES256-SHA384 -no_etm
result "TLS 1.2, AES256-SHA384, no_etm, to a plain client" \
    handshake ours plain 15000 ECDHE-RSA-AES256-SHA384 -no_etm
result "TLS 1.2, AES256-SHA384, no_etm, to a plain server" \
    handshake plain ours 15000 ECDHE-RSA-AES256-SHA384 -no_etm

# A setuid program is not told by its user what to run, nor where to count.
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
setuid_ignores() {
    fresh_counters
    chmod 666 "$dir/counters"
    TENROUNDS_MASK=noaes OPENSSL_ia32cap=0 TENROUNDS_SABOTAGE=vaes512,vaes256,aesni \
        as_nobody "$dir/setuid-openssl" list -provider-path "$OPENSSL_MODULES" \
        -provider tenrounds -providers -verbose | tee "$dir/setuid"
    sed 's/.*selected/selected/' "$dir/setuid" | grep '^selected' >"$dir/setuid-build"
    sed 's/.*selected/selected/' "$dir/list" | grep '^selected' | cmp - "$dir/setuid-build" &&
        [ ! -s "$dir/counters" ]
}
chmod 711 "$dir"
cp "$(command -v id)" "$dir/setuid-id"
cp "$(command -v openssl)" "$dir/setuid-openssl"
chmod 4755 "$dir/setuid-id" "$dir/setuid-openssl"
if [ -n "$runtime" ]; then
    skip "a setuid program cannot be given the sanitizer's runtime" excused
elif [ "$(id -u)" != 0 ]; then
    skip "only root can make a setuid program and call it as somebody else" excused
elif [ "$(as_nobody "$dir/setuid-id" -u 2>"$dir/said" || :)" != 0 ]; then
    skip "no setuid programs here: a file system mounted nosuid, or no setpriv (util-linux)"
else
    result "in a setuid program, masks and counters of the caller are ignored" setuid_ignores
fi

[ "$count" = 31 ] || {
    echo "# planned 31 results, gave $count"
    status=1
}
exit $status
