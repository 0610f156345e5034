# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# dm-crypt reads with the kernel's own driver the same bytes that it wrote with our driver, and the
# reverse. Reference counts and counters show which driver was used.
# guest: plain
# modules: aesni-intel brd dm-crypt crypto_user essiv xts ctr ecb cbc sha256_generic
# programs: cryptsetup dmsetup
# files: tests/kernel/drivers
# shellcheck disable=SC1091,SC2015,SC2154 # other files set variables; fail() ends every list
. /tests/drivers

export DM_DISABLE_UDEV=1
disk=/dev/ram0
kilobytes=128

store() { # file device
    dd if="$1" of="$2" bs=64k conv=fsync 2>/dev/null || fail "cannot write $2"
}
load_from() { # device file
    dd if="$1" of="$2" bs=64k count=$((kilobytes / 64)) 2>/dev/null || fail "cannot read $1"
}
same_bytes() { # file file what
    cmp "$1" "$2" || fail "$3"
}
# Checks, after a write or read, that our driver had at least one call per sector (ours) or none
# (theirs).
expect_work() { # whose sector-size
    case $1 in
    ours) expect_calls -ge $((kilobytes * 1024 / $2)) ;;
    theirs) expect_calls -eq 0 ;;
    esac
}

# plain WHOSE ALGORITHM IV SECTOR-SIZE COMMAND...: runs the command while /dev/mapper/plain is open.
# Uses $key.
plain() {
    whose=$1
    remember "$2"
    size=$4
    eval "cipher=capi:\$$whose-$3"
    dmsetup create plain --table "0 $((kilobytes * 2)) crypt $cipher $key 0 $disk 0 1 sector_size:$size" ||
        fail "dmsetup create fails with $cipher"
    shift 4
    expect_held "$whose"
    "$@"
    dmsetup remove plain || fail "dmsetup remove fails"
    expect_work "$whose" "$size"
}

# Compares the data that the other driver wrote with the first file, then writes the second file.
exchange() { # device file file
    load_from "$1" /tmp/read
    same_bytes "$2" /tmp/read "the bytes read differ from the bytes that the other driver wrote"
    store "$3" "$1"
}

plain_both_ways() ( # ALGORITHM IV KEY-BYTES SECTOR-SIZE
    key=$(random_hex "$3")
    plain ours "$1" "$2" "$4" store /tmp/first /dev/mapper/plain
    load_from $disk /tmp/on-disk
    cmp -s /tmp/first /tmp/on-disk && fail "the disk is not encrypted"
    plain theirs "$1" "$2" "$4" exchange /dev/mapper/plain /tmp/first /tmp/second
    plain ours "$1" "$2" "$4" exchange /dev/mapper/plain /tmp/second /tmp/first
)

# luks WHOSE ALGORITHM SECTOR-SIZE COMMAND...: runs the command while /dev/mapper/luks is open.
luks() {
    whose=$1
    prefer "$whose" "$2"
    remember "$2"
    size=$3
    shift 3
    cryptsetup open --key-file /tmp/passphrase $disk luks || fail "cryptsetup open fails"
    expect_held "$whose"
    "$@"
    cryptsetup close luks || fail "cryptsetup close fails"
    expect_work "$whose" "$size"
}

luks_both_ways() ( # ALGORITHM CIPHER KEY-BITS SECTOR-SIZE
    prefer ours "$1"
    cryptsetup luksFormat --batch-mode --type luks2 --cipher "$2" --key-size "$3" --sector-size "$4" \
        --luks2-metadata-size 16k --luks2-keyslots-size 256k --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
        --use-urandom --key-file /tmp/passphrase $disk || fail "cryptsetup luksFormat fails"
    luks ours "$1" "$4" store /tmp/first /dev/mapper/luks
    luks theirs "$1" "$4" exchange /dev/mapper/luks /tmp/first /tmp/second
    luks ours "$1" "$4" exchange /dev/mapper/luks /tmp/second /tmp/first
)

head -c $((kilobytes * 1024)) /dev/urandom >/tmp/first
head -c $((kilobytes * 1024)) /dev/urandom >/tmp/second
head -c 32 /dev/urandom >/tmp/passphrase
mkdir -p /run/cryptsetup

check 'the module loads' load
for module in aesni-intel crypto_user dm-crypt; do
    check "modprobe $module" modprobe $module
done
check 'a disk in memory is created' modprobe brd rd_nr=1 rd_size=4096

# The name of a template contains the drivers of all its parts, essiv(cbc-aes-...,sha256-...), or of
# none.
essiv=essiv:$(best_driver theirs sha256)
while read -r algorithm iv key_bytes sector_size; do
    check "dm-crypt $algorithm $iv, $key_bytes-byte key, $sector_size-byte sectors: drivers agree" \
        plain_both_ways "$algorithm" "$iv" "$key_bytes" "$sector_size"
    dmsetup remove plain 2>/dev/null # a failed test leaves the device open
done <<END
xts(aes) plain64 32 512
xts(aes) plain64 64 4096
cbc(aes) $essiv 16 512
cbc(aes) $essiv 32 4096
ctr(aes) plain64 32 4096
ecb(aes) null 32 512
END
while read -r algorithm cipher key_bits sector_size; do
    check "LUKS2 $cipher, $key_bits-bit key, $sector_size-byte sectors: drivers agree" \
        luks_both_ways "$algorithm" "$cipher" "$key_bits" "$sector_size"
    cryptsetup close luks 2>/dev/null
done <<END
xts(aes) aes-xts-plain64 256 512
xts(aes) aes-xts-plain64 512 4096
cbc(aes) aes-cbc-essiv:sha256 256 512
END
check 'the module unloads' unload
