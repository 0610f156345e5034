# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# In FIPS mode the kernel panics when an unsigned module registers an algorithm. Ours refuses to
# load instead.
# guest: fips

same 'FIPS mode' "$(cat /proc/sys/crypto/fips_enabled)" 1
refused 'the module does not load' insmod /tests/tenrounds.ko
# busybox's insmod tries twice, so the line appears twice.
dmesg | sed -n 's/.*tenrounds: not loaded/not loaded/p' | sort -u >/tmp/reason
same 'lines that say why' "$(wc -l </tmp/reason)" 1
check 'they say why' grep FIPS /tmp/reason
