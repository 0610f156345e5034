# SPDX-License-Identifier: BSD-2-Clause
# Runs vectors of NIST, RFC 3686 and Wycheproof through AF_ALG, by the exact name of our driver: all
# vectors with the selected backend, one of 16 with the other backends.
# guest: vectors
# modules: algif_skcipher algif_aead algif_hash
# files: tests/vectors/cavp tests/vectors/rfc3686 tests/vectors/sp800-38b tests/vectors/wycheproof

modprobe algif_skcipher
modprobe algif_aead
modprobe algif_hash
cavp=/tests/cavp

# run MODE DRIVER REQUESTS FILE...: runs the vectors and checks how many requests they made.
run() {
    # These modes have few vectors: runs all of them.
    case $1 in
    ctr | rfc4106 | cmac) part=1 ;;
    *) part=$every ;;
    esac
    mode=$1
    d=$2
    wanted=$3
    shift 3
    check "$d: the vectors are right" $bin/vectors "$mode" "$d" $part "$@" &&
        same "$d: the number of requests is right" "$(cat /tmp/output)" "$wanted requests, 0 wrong"
}

all() { # MASK BACKEND EVERY, then the numbers of requests: ecb cbc ctr xts gcm rfc4106 ccm cmac
    check "the module loads with mask '$1'" load ${1:+"mask=$1"} || return
    same "mask '$1' selects $2" "$backend" "$2"
    every=$3
    run ecb "$(driver ecb)" "$4" $cavp/ECBGFSbox* $cavp/ECBKeySbox* $cavp/ECBVar* $cavp/ECBMMT*
    run cbc "$(driver cbc)" "$5" $cavp/CBCGFSbox* $cavp/CBCKeySbox* $cavp/CBCVar* $cavp/CBCMMT*
    run ctr "$(driver ctr)" "$6" /tests/rfc3686/*
    run xts "$(driver xts)" "$7" $cavp/xts/*
    run gcm "$(driver gcm)" "$8" $cavp/gcm/* /tests/wycheproof/aes_gcm.txt
    run rfc4106 "$(driver rfc4106-gcm)" "$9" /tests/wycheproof/aes_gcm.txt
    run ccm "$(driver ccm)" "${10}" $cavp/ccm/* /tests/wycheproof/aes_ccm.txt
    run cmac "$(driver cmac)" "${11}" /tests/sp800-38b/* /tests/wycheproof/aes_cmac.txt
    unload
}

all '' aesni 1 2138 2138 9 5600 27832 10 6171 318
all noclmul aesni-noclmul 16 134 134 9 350 1742 10 388 318
all noaes vperm 16 134 134 9 350 1742 10 388 318
all noaes,nossse3 bitslice 16 134 134 9 350 1742 10 388 318
