# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# A program makes random requests while the driver changes, and dm-crypt reads sectors. Compares what
# `tenrounds trace --kernel` counts with what the program says, and with the sectors.
# guest: traced
# modules: aesni-intel algif_skcipher algif_aead algif_hash aes_generic cbc gcm ctr cmac brd dm-crypt xts
# programs: BUILD/dist/bin/tenrounds bpftrace dmsetup
# files: tests/kernel/rows
# shellcheck disable=SC1091,SC2154 # $bin, $backend and $output come from run
. /tests/rows
export XDG_CACHE_HOME=/tmp DM_DISABLE_UDEV=1
seed=$(sed -n 's/.*seed=\([0-9]*\).*/\1/p' /proc/cmdline)
echo "# seed $seed"

# wanted WORD: prints what the program says.
wanted() { sed -n "s/^$1 //p" /tmp/wanted; }

probes_are() { [ "$(probes)" = "$1" ]; }
# On a busy machine, the emulator takes minutes for bpftrace to compile.
probed() { eventually probes_are 7 || eventually probes_are 7 || eventually probes_are 7; }
probes() { grep -c -E 'crypto_|__check_object_size|security_socket' /sys/kernel/debug/kprobes/list; }

# An emulated processor takes a minute to compile the probes, so that one trace counts most cases.
# What it has to show is in /tmp/wanted.N for the Nth process that sends messages.
cases=0
counts() { # type algorithm calls
    cases=$((cases + 1))
    "$bin/requests" "$seed" "$1" "$2" "$3" >/tmp/wanted.$cases
}
nth() { row "$1" | sed -n "${case}p"; }
# compare CASE WHAT DRIVER: requests, messages and copies have to be those of the program.
compare() {
    case=$1
    cp "/tmp/wanted.$case" /tmp/wanted
    for operation in encrypt decrypt; do
        same "$2: requests to $operation" "$(row "requests af-alg $3 $operation false")" "$(wanted $operation)"
    done
    same "$2: messages sent" "$(nth 'messages process sent - -')" "$(wanted sent)"
    same "$2: messages received" "$(nth 'messages process received - -' | cut -d ' ' -f 1)" "$(wanted received)"
    same "$2: bytes copied into the kernel" "$(nth 'copies process in - -' | cut -d ' ' -f 2)" "$(wanted in)"
}

# ---- AF_ALG. Its modules are loaded by the program's first call ----

echo /bin/modprobe >/proc/sys/kernel/modprobe
modprobe aes_generic 2>/dev/null # some kernels have it built in
modprobe cbc 2>/dev/null
rm -f /tmp/trace.json
tenrounds trace --kernel --all --seconds 3600 --json --output /tmp/trace.json >/tmp/said 2>&1 &
tracer=$!
check 'the trace begins' probed
check 'cbc(aes) by tables' counts skcipher 'cbc(aes-generic)' 100
check "the kernel's driver for AES-NI loads" modprobe aesni-intel
check "cbc(aes) by the kernel's driver" counts skcipher 'cbc(aes)' 200
check 'the module loads' load priority=1000
check 'cbc(aes) by our driver' counts skcipher 'cbc(aes)' 200
check 'gcm(aes) by our driver' counts aead 'gcm(aes)' 200
kill -TERM $tracer
check 'the trace ends' wait $tracer
compare 1 'cbc(aes-generic)' 'cbc(aes-generic)'
compare 2 'cbc-aes-aesni' cbc-aes-aesni
same "the driver's own requests" "$(row 'requests af-alg __cbc-aes-aesni encrypt true')" "$(wanted encrypt)"
compare 3 'our cbc(aes)' "$(driver cbc)"
compare 4 'our gcm(aes)' "$(driver gcm)"
same 'nothing is copied out' "$(row 'copies process out - -')" ''

# ---- Messages and copies of a hash ----

check "cmac(aes) is tested" "$bin/requests" 1 hash "$(driver cmac)" 1
check 'cmac(aes) by our driver is counted' tenrounds trace --kernel --json --output /tmp/trace.json -- \
    sh -c "$bin/requests $seed hash $(driver cmac) 100 >/tmp/wanted"
same "cmac(aes): no request to a cipher" "$(rows | grep '^requests')" ''
same "cmac(aes): messages sent" "$(row 'messages process sent - -')" "$(wanted sent)"
same "cmac(aes): messages received" "$(row 'messages process received - -' | cut -d ' ' -f 1)" "$(wanted received)"
same "cmac(aes): nothing is copied in" "$(row 'copies process in - -')" ''
same "cmac(aes): the tags are copied out" "$(row 'copies process out - -' | cut -d ' ' -f 1,2)" "$(wanted out)"

# ---- The text ----

check 'the text is written' tenrounds trace --kernel --output /tmp/text -- "$bin/requests" "$seed" skcipher 'cbc(aes)' 7
for words in 'messages received' 'copies in, ' "$(driver cbc)" '7 requests to encrypt, ' 'no copy out'; do
    check "the chart has '$words'" grep -q "$words" /tmp/text
done

# ---- dm-crypt ----

kilobytes=128
disk=/dev/ram0
check 'dm-crypt loads' modprobe dm-crypt
check 'a disk in memory is created' modprobe brd rd_nr=1 rd_size=4096
check 'an encrypted device is created' dmsetup create plain --table \
    "0 $((kilobytes * 2)) crypt capi:$(driver xts)-plain64 $(printf '%064d' 0)$(printf '%064d' 1) 0 $disk 0 1 sector_size:4096"
rm -f /tmp/trace.json
check 'reading it is counted' tenrounds trace --kernel --json --output /tmp/trace.json -- \
    dd if=/dev/mapper/plain of=/dev/null bs=64k
same 'each sector was decrypted once' \
    "$(row "requests dm-crypt $(driver xts) decrypt false" | awk '{ calls += $1; bytes += $2 } END { print calls, bytes }')" \
    "$((kilobytes / 4)) $((kilobytes * 1024))"
check 'dm-crypt made the requests' grep -q '"module": "dm_crypt"' /tmp/trace.json

# ---- Inside a PID namespace, bpftrace numbers processes in another way ----

refused 'a trace in a PID namespace' unshare --pid --fork --mount-proc \
    tenrounds trace --kernel --all --seconds 1
check 'the encrypted device is removed' dmsetup remove plain
check 'the module unloads' unload

# ---- Nothing stays ----

tenrounds trace --kernel --all --seconds 600 >/tmp/killed 2>&1 &
probed
same 'there are 7 probes' "$(probes)" 7
kill -9 $!
wait $!
eventually probes_are 0
same 'no probe stays when the trace is killed' "$(probes)" 0
