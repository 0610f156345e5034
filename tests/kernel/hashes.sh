# SPDX-License-Identifier: BSD-2-Clause
# cmac(aes) and xcbc(aes) compute the same tags as the kernel's own drivers: in the kernel with each
# kind of context (hashes/hashes.c), and through AF_ALG in pieces (mac.c).
# guest: shapes
# modules: aesni-intel cmac xcbc algif_hash

seed=$(sed -n 's/.*seed=\([0-9]*\).*/\1/p' /proc/cmdline)
modprobe -a aesni-intel cmac xcbc algif_hash

# theirs MAC: prints the name of the kernel's driver. In newer kernels that is its AES library, in older
# ones a template. The template gets the cipher $cipher.
cipher=aes-generic
theirs() {
    if grep -q "driver *: $1-aes-lib\$" /proc/crypto; then
        echo "$1-aes-lib"
    else
        echo "$1($cipher)"
    fi
}
beside() { # OURS THEIRS CASES
    check "$1 computes the same tags as $2, seed $seed" insmod /tests/hashes.ko "ours=$1" "theirs=$2" "seed=$seed" "cases=$3" &&
        rmmod hashes
}
all() { # MASK BACKEND CASES
    check "the module loads with mask '$1'" load ${1:+"mask=$1"} || return
    same "mask '$1' selects $2" "$backend" "$2"
    refused=$(counter refused)
    for a in cmac xcbc; do
        beside "$(driver $a)" "$(theirs $a)" "$3"
        check "$(driver $a) computes the same tags as $(theirs $a) through AF_ALG, seed $seed" \
            $bin/mac "$(driver $a)" "$(theirs $a)" "$seed" 200
    done
    if [ "$2" != bitslice ]; then
        check 'vector registers were refused in some calls' [ "$(counter refused)" -gt "$refused" ]
    fi
    unload
}

all '' aesni 1000
load
cipher=aes-aesni
beside "$(driver cmac)" "$(theirs cmac)" 300
cipher=aes-generic
unload
all noaes vperm 300
all noaes,nossse3 bitslice 200
