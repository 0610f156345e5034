# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# In FIPS mode the kernel panics when an unsigned module registers an algorithm. Our module refuses
# to load instead.
# guest: fips

same 'the kernel is in FIPS mode' "$(cat /proc/sys/crypto/fips_enabled)" 1
refused 'the module does not load' insmod /tests/tenrounds.ko
# busybox's insmod tries twice, so the line appears twice.
dmesg | sed -n 's/.*tenrounds: not loaded/not loaded/p' | sort -u >/tmp/reason
same 'the log has one line with the reason' "$(wc -l </tmp/reason)" 1
check 'the reason is FIPS mode' grep FIPS /tmp/reason
