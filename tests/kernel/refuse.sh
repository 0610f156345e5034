# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Where the module cannot load it says why, in one line of the kernel's log, and leaves nothing behind.
# guest: plain

# not_loaded WHAT PATTERN: after a load that failed.
not_loaded() {
    # Two lines are the kernel's, at the first module that it did not come with. busybox tries a second time.
    since | sed -n 's/^\[[^]]*\] tenrounds: //p' | grep -vE 'taints kernel|tainting kernel' | sort -u >/tmp/reason
    same "$1: lines in the log" "$(wc -l </tmp/reason)" 1
    check "$1: it says why" grep -E "$2" /tmp/reason
    refused "$1: no drivers" grep tenrounds /proc/crypto
    refused "$1: no counters" test -e /sys/kernel/debug/tenrounds
    refused "$1: no module" grep '^tenrounds ' /proc/modules
}

mark
refused 'a mask that is none' insmod /tests/tenrounds.ko mask=noavx512,nonsense
not_loaded 'a mask that is none' '^not loaded: the parameter mask has a word that is no feature: "nonsense"$'
mark
refused 'bitslice is wrong' insmod /tests/tenrounds.ko sabotage=bitslice
not_loaded 'bitslice is wrong' '^not loaded: bitslice computes wrong known answers'
mark
refused 'all are wrong' insmod /tests/tenrounds.ko sabotage=aesni,aesni-noclmul,vperm,bitslice
not_loaded 'all are wrong' '^not loaded: bitslice computes wrong known answers'

# A module that was built for another kernel: in its "vermagic=VERSION SMP ..." the version may differ, SMP may not.
cp /tests/tenrounds.ko /tmp/other.ko
place=$(strings -t d /tmp/other.ko | awk '$2 ~ /^vermagic=/ { print $1 + length($2) + 1 }')
check 'the place of SMP in the module' test -n "$place"
printf X | dd of=/tmp/other.ko bs=1 seek="$place" conv=notrunc 2>/dev/null
mark
refused 'a module for another kernel' insmod /tmp/other.ko
not_loaded 'a module for another kernel' "version magic '.* XMP .* should be '.* SMP "

check 'after all that it loads' load
check 'and unloads' unload
