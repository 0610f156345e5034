# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# A program encrypts the same data in user space, by our provider, and in the kernel, by AF_ALG. In
# the chart of `tenrounds trace --kernel`, one way stands below the other, with the same bytes.
# guest: traced
# modules: aesni-intel algif_skcipher
# programs: bpftrace BUILD/dist/bin/tenrounds BUILD/dist/lib/ossl-modules/tenrounds.so
# files: /usr/lib/x86_64-linux-gnu/libcrypto.so.3
# shellcheck disable=SC2154 # $bin, $backend and $output come from run
export TENROUNDS_MODULE=/bin/tenrounds.so XDG_CACHE_HOME=/tmp COLUMNS=200
messages=600

check 'the module loads' load
check 'AF_ALG loads' modprobe algif_skcipher
check 'both ways are traced' tenrounds trace --kernel --count --output /tmp/text -- \
    tenrounds run -- "$bin/both-ways" "$(driver cbc)" $messages
quote /tmp/text

# chart: prints the chart of the program, with both ways.
chart() { awk '/^both-ways \([0-9]+\)$/ { on = 1 } on && /^ *$/ && ++gaps == 2 { exit } on' /tmp/text; }
bytes=$((messages * 16384))
grouped=$(echo $bytes | sed -e ':a' -e 's/\([0-9]\)\([0-9][0-9][0-9]\)\($\|,\)/\1,\2\3/' -e 'ta')
chart >/tmp/chart
check 'the second way is in the chart' grep -Eq '^both-ways \([0-9]+\), in user space$' /tmp/chart
for words in \
    "$messages messages sent, $grouped bytes" \
    "$messages messages received" \
    "copies in, $grouped bytes" \
    "$messages requests to encrypt, $grouped bytes" \
    "$(driver cbc)" \
    "no copy out" \
    "EVP_EncryptUpdate aes-128-cbc: $messages calls, $grouped bytes" \
    "libcrypto.so.3" \
    "AES: " \
    "AES-NI 128"; do
    check "the chart has '$words'" grep -qF "$words" /tmp/chart
done
# Both ways have a share of the samples, and a box of the code is that of the provider. `tenrounds
# run`, which tries the module before it becomes the program, can have a third share.
check 'both ways have a share of the time' [ "$(grep -c 'AES: [0-9.]* % of its time' /tmp/chart)" -ge 2 ]
check 'the provider ran' grep -Eq 'AES-NI 128.* in tenrounds\.so$' /tmp/chart
check 'the module unloads' unload
