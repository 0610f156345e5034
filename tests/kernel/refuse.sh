# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# A module that cannot load gives the reason in one line of the kernel's log and leaves nothing
# registered.
# guest: plain

# not_loaded WHAT PATTERN: checks the log and the system after a failed load.
not_loaded() {
    # The kernel adds a line about tainting at the first out-of-tree module. busybox's insmod tries
    # twice, so lines appear twice.
    since | sed -n 's/^\[[^]]*\] tenrounds: //p' | grep -vE 'taints kernel|tainting kernel' | sort -u >/tmp/reason
    same "$1: the log has one line" "$(wc -l </tmp/reason)" 1
    check "$1: the line gives the reason" grep -E "$2" /tmp/reason
    refused "$1: no drivers are left" grep tenrounds /proc/crypto
    refused "$1: no counters are left" test -e /sys/kernel/debug/tenrounds
    refused "$1: no module is left" grep '^tenrounds ' /proc/modules
}

mark
refused 'unknown word in the mask: the module does not load' \
    insmod /tests/tenrounds.ko mask=noavx512,nonsense,novaes
not_loaded 'unknown word in the mask' '^not loaded: unknown word in the parameter mask: "nonsense"'
mark
refused 'bitslice is wrong: the module does not load' \
    insmod /tests/tenrounds-faults.ko sabotage=bitslice
not_loaded 'bitslice is wrong' '^not loaded: bitslice.* fails its known-answer tests$'
mark
refused 'all backends are wrong: the module does not load' insmod /tests/tenrounds-faults.ko sabotage=aesni,aesni-noclmul,vperm,bitslice
not_loaded 'all backends are wrong' '^not loaded: bitslice.* fails its known-answer tests$'

# Makes a module for another kernel. In "vermagic=VERSION SMP ..." the kernel tolerates another
# version, but not another word than SMP.
cp /tests/tenrounds.ko /tmp/other.ko
place=$(strings -t d /tmp/other.ko | awk '$2 ~ /^vermagic=/ { print $1 + length($2) + 1 }')
check 'the word SMP is in the module' test -n "$place"
printf X | dd of=/tmp/other.ko bs=1 seek="$place" conv=notrunc 2>/dev/null
mark
refused 'module for another kernel: the module does not load' insmod /tmp/other.ko
not_loaded 'module for another kernel' "version magic '.* XMP .* should be '.* SMP "

check 'the module loads afterwards' load
check 'the module unloads' unload
