#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the openssl command with the engine: `openssl engine` lists the engine, and other commands
# use it through the configuration file or -engine.
# shellcheck disable=SC2317 # result() calls the functions
set -eu
set -- engine

# shellcheck source=tests/openssl/preferred.sh
. "$(dirname -- "$0")/preferred.sh"
engine() { LD_PRELOAD=$runtime OPENSSL_CONF="$dir/plain.cnf" openssl engine "$@"; }

echo 1..18

listed() {
    engine -t -c tenrounds >"$dir/list" && cat "$dir/list" || return 1
    for mode in ECB CBC CFB OFB CTR GCM CCM XTS; do
        for bits in 128 192 256; do
            case $mode in
            GCM | CCM) name=id-aes$bits-$mode ;;
            *) name=AES-$bits-$mode ;;
            esac
            [ "$name" = AES-192-XTS ] || grep -qE "(\[| )$name(,|])" "$dir/list" || {
                echo "no $name"
                return 1
            }
        done
    done
    grep -q '^(tenrounds) tenrounds AES engine (' "$dir/list" && grep -q '\[ available \]' "$dir/list"
}
result "openssl engine -t -c lists our ciphers" listed

named() { # END: the text in parentheses after the name
    engine tenrounds | tee "$dir/name"
    grep -qxF "(tenrounds) tenrounds AES engine ($1)" "$dir/name"
}
software='no AES instructions: constant-time software'
masked() { TENROUNDS_MASK=noaes named "$software"; }
bad_mask() { TENROUNDS_MASK=noaes,novase named "$software; error: \"novase\" in TENROUNDS_MASK is no mask"; }
hidden() { OPENSSL_ia32cap='~0x200000200000000' named "$software"; }
result "TENROUNDS_MASK=noaes selects constant-time software" masked
result "the engine's name reports a wrong word in TENROUNDS_MASK" bad_mask
if grep -q '^flags.* aes' /proc/cpuinfo; then
    result "OPENSSL_ia32cap without AES selects constant-time software" hidden
else
    skip "this processor has no AES instructions" excused
fi

strongest=$(sed -n 's/^(tenrounds).*(\([a-z0-9-]*\))$/\1/p' "$dir/list")
sabotaged() { TENROUNDS_SABOTAGE=$strongest faulty engine tenrounds | grep "passed over: $strongest (failed known-answer tests))"; }
if [ -n "$strongest" ]; then
    result "a backend that fails its known-answer tests is passed over and named" sabotaged
else
    skip "no backend here uses AES instructions" excused
fi

exports() {
    [ "$(nm -D --defined-only "$module" | sed 's/.* //' | sort | tr '\n' ' ')" = 'bind_engine v_check ' ] &&
        ! readelf -d "$module" | grep 'NEEDED.*lib\(crypto\|ssl\)'
}
result "the module exports only its entry points and is not linked with libcrypto" exports

head -c 300007 /dev/urandom >"$dir/data"
key=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
iv=f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff
ran() { # BYTES OPERATION...: whether our code processed at least BYTES in these operations
    least=$1
    shift
    bytes=$(executed "$counters" "$@")
    echo "$*: $bytes bytes"
    [ "$bytes" -ge "$least" ]
}
both_ways() {
    mode=${1##*-}
    case $mode in
    ofb | ctr) encrypts=$mode decrypts=$mode ;;
    *) encrypts=${mode}_encrypt decrypts=${mode}_decrypt ;;
    esac
    size=${1#aes-}
    k=$(printf %.$((${size%%-*} / 4))s "$key")
    [ "$mode" = ecb ] && ivs= || ivs="-iv $iv"
    fresh_counters
    # shellcheck disable=SC2086 # two words, or none
    plain enc "-$1" -K "$k" $ivs -in "$dir/data" -out "$dir/theirs" &&
        ours enc "-$1" -K "$k" $ivs -in "$dir/data" -out "$dir/ours" &&
        cmp "$dir/theirs" "$dir/ours" && ran 300000 "$encrypts" && fresh_counters &&
        ours enc -d "-$1" -K "$k" $ivs -in "$dir/theirs" -out "$dir/back" &&
        cmp "$dir/data" "$dir/back" && ran 300000 "$decrypts"
}
for mode in ecb cbc cfb ofb ctr; do
    result "openssl enc -aes-192-$mode uses our code in both directions" both_ways "aes-192-$mode"
done

by_flag() {
    fresh_counters
    LD_PRELOAD=$runtime TENROUNDS_COUNTERS=$counters OPENSSL_CONF="$dir/plain.cnf" openssl enc -engine tenrounds \
        -aes-256-ctr -K "$key" -iv "$iv" -in "$dir/data" -out "$dir/ours" &&
        plain enc -aes-256-ctr -K "$key" -iv "$iv" -in "$dir/data" | cmp - "$dir/ours" && ran 300000 ctr
}
result "openssl enc -engine tenrounds uses our code" by_flag

speed() {
    fresh_counters
    LD_PRELOAD=$runtime TENROUNDS_COUNTERS=$counters OPENSSL_CONF="$dir/plain.cnf" openssl speed \
        -engine tenrounds -seconds 1 -bytes 16384 -evp "$1" && shift && ran 1000000 "$@"
}
result "openssl speed -engine tenrounds -evp aes-128-cbc uses our code" \
    speed aes-128-cbc cbc_encrypt
result "openssl speed -engine tenrounds -evp aes-128-gcm uses our code" \
    speed aes-128-gcm gcm_seal gcm_encrypt ctr

random() {
    fresh_counters
    ours rand -out "$dir/random" 100000 && [ "$(wc -c <"$dir/random")" = 100000 ] || return 1
    # The generator of 3.x fetches its cipher from a provider, so it does not use the engine.
    case $(plain version) in 'OpenSSL 1.'*) ran 90000 ctr ;; esac
}
result "openssl rand draws its numbers from our AES in OpenSSL 1.1.1" random

certificate() {
    ours req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key.pem" -out "$dir/cert.pem" -days 2 -subj /CN=localhost
}
result "openssl req makes a certificate" certificate
encrypted_key() {
    ours pkcs8 -topk8 -v2 aes-256-cbc -passout pass:secret -in "$dir/key.pem" -out "$dir/p8.pem" &&
        plain pkey -passin pass:secret -in "$dir/p8.pem" -out "$dir/key2.pem" &&
        plain pkey -in "$dir/key.pem" | cmp - "$dir/key2.pem"
}
result "plain openssl opens a private key that we encrypted" encrypted_key
mail() {
    ours cms -encrypt -binary -aes-256-cbc -in "$dir/data" -outform DER -out "$dir/cms" "$dir/cert.pem" &&
        plain cms -decrypt -binary -inform DER -in "$dir/cms" -recip "$dir/cert.pem" -inkey "$dir/key.pem" | cmp - "$dir/data" &&
        ours cms -decrypt -binary -inform DER -in "$dir/cms" -recip "$dir/cert.pem" -inkey "$dir/key.pem" | cmp - "$dir/data"
}
result "openssl with and without our engine opens a CMS message that we encrypted" mail

[ "$count" = 18 ] || status=1
exit $status
