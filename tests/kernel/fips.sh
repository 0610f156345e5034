# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# FIPS mode. There the kernel panics where a module that it has no signature of registers an algorithm: ours does not try.
# guest: fips

same 'FIPS mode' "$(cat /proc/sys/crypto/fips_enabled)" 1
refused 'the module does not load' insmod /tests/tenrounds.ko
# busybox tries a second time.
dmesg | sed -n 's/.*tenrounds: not loaded/not loaded/p' | sort -u >/tmp/reason
same 'lines that say why' "$(wc -l </tmp/reason)" 1
check 'they say why' grep FIPS /tmp/reason
