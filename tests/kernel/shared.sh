# SPDX-License-Identifier: BSD-2-Clause
# Requests on two processors share one key: several processes use each new key at the same time.
# guest: cycles
# modules: algif_skcipher algif_aead

modprobe -a algif_skcipher algif_aead
same 'two processors' "$(grep -c ^processor /proc/cpuinfo)" 2
for mask in '' noclmul noaes; do
    check "loads with mask '$mask'" load ${mask:+"mask=$mask"}
    for a in $algorithms; do
        case $a in
        gcm | rfc4106-gcm | ccm) type=aead ;;
        *) type=skcipher ;;
        esac
        check "$backend, $a: processes share a key" $bin/alg shared $type "$(driver "$a")" 10 && quote "$output"
    done
    check "and unloads with mask '$mask'" unload
done
