# SPDX-License-Identifier: BSD-2-Clause
# Our drivers give the same results as the kernel's, with scatterlists of random shapes
# (shapes/shapes.c lists the shapes).
# guest: shapes
# modules: aesni-intel ecb cbc cts ctr xts gcm ccm cmac ghash-generic

seed=$(sed -n 's/.*seed=\([0-9]*\).*/\1/p' /proc/cmdline)
modprobe -a aesni-intel ecb cbc cts ctr xts gcm ccm ghash-generic

# beside KIND OURS THEIRS CASES: compares two drivers.
beside() {
    check "$2 gives the same results as $3, seed $seed" insmod /tests/shapes.ko "kind=$1" "ours=$2" "theirs=$3" "seed=$seed" "cases=$4" &&
        rmmod shapes
}

generic='aes-generic'
all() { # MASK BACKEND CASES
    check "the module loads with mask '$1'" load ${1:+"mask=$1"} || return
    same "mask '$1' selects $2" "$backend" "$2"
    refused=$(counter refused)
    beside ecb "$(driver ecb)" "ecb($generic)" "$3"
    beside cbc "$(driver cbc)" "cbc($generic)" "$3"
    beside cts "$(driver cts-cbc)" "cts(cbc($generic))" "$3"
    beside ctr "$(driver ctr)" "ctr($generic)" "$3"
    beside xts "$(driver xts)" "xts(ecb($generic))" "$3"
    beside gcm "$(driver gcm)" "gcm_base(ctr($generic),ghash-generic)" "$3"
    beside rfc4106 "$(driver rfc4106-gcm)" "rfc4106(gcm_base(ctr($generic),ghash-generic))" "$3"
    beside ccm "$(driver ccm)" "ccm_base(ctr($generic),cbcmac($generic))" "$3"
    if [ "$2" != bitslice ]; then
        check 'vector registers were refused in some requests' \
            [ "$(counter refused)" -gt "$refused" ]
    fi
    unload
}

# The kernel's generic drivers are the reference; its AES-NI drivers are a second one.
all '' aesni 500
load
for pair in ecb:ecb-aes-aesni cbc:cbc-aes-aesni cts:cts-cbc-aes-aesni ctr:ctr-aes-aesni xctr:xctr-aes-aesni xts:xts-aes-aesni \
    gcm:generic-gcm-aesni rfc4106:rfc4106-gcm-aesni; do
    kind=${pair%:*}
    case $kind in
    cts) d=$(driver cts-cbc) ;;
    rfc4106) d=$(driver rfc4106-gcm) ;;
    *) d=$(driver "$kind") ;;
    esac
    beside "$kind" "$d" "${pair#*:}" 300
done
unload
all noclmul aesni-noclmul 150
all noaes vperm 150
all noaes,nossse3 bitslice 150
