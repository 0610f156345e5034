# SPDX-License-Identifier: BSD-2-Clause
# Requests on two processors share one key: several processes use each new key at the same time.
# guest: cycles
# modules: algif_skcipher algif_aead

modprobe -a algif_skcipher algif_aead
same 'the guest has two processors' "$(grep -c ^processor /proc/cpuinfo)" 2
for mask in '' noclmul noaes; do
    check "the module loads with mask '$mask'" load ${mask:+"mask=$mask"}
    for a in $algorithms; do
        case $a in
        gcm | rfc4106-gcm | ccm) type=aead ;;
        *) type=skcipher ;;
        esac
        check "$backend, $a: processes that share a key get right results" $bin/alg shared $type "$(driver "$a")" 10 && quote "$output"
    done
    check "the module unloads with mask '$mask'" unload
done
