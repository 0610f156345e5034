# SPDX-License-Identifier: BSD-2-Clause
# Requests on two processors share one key: several processes use each new key at the same time.
# guest: cycles
# modules: algif_skcipher algif_aead algif_hash

modprobe -a algif_skcipher algif_aead algif_hash
same 'the guest has two processors' "$(grep -c ^processor /proc/cpuinfo)" 2
for mask in '' noclmul noaes; do
    check "the module loads with mask '$mask'" load ${mask:+"mask=$mask"}
    for a in $algorithms; do
        check "$backend, $a: processes that share a key get right results" $bin/alg shared "$(type_of "$a")" "$(driver "$a")" 10 && quote "$output"
    done
    check "the module unloads with mask '$mask'" unload
done
