# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Tests what `tenrounds trace` says about the kernel's code. Its answer has to change with the driver
# that encrypts: AES tables, the kernel's driver for AES-NI, our module.
# guest: plain
# modules: aesni-intel algif_skcipher ecb aes_generic
# programs: BUILD/dist/bin/tenrounds
# shellcheck disable=SC2154 # $bin, $backend and $output come from run
export XDG_CACHE_HOME=/tmp

# traced COMMAND...: traces a process for 3 seconds, and writes the document to /tmp/trace.json.
traced() {
    "$@" >/tmp/busy 2>&1 &
    busy=$!
    tenrounds trace -p $busy --seconds 3 --json --output /tmp/trace.json
    status=$?
    kill $busy
    wait $busy
    return $status
}
# strongest: prints work, kind and path of the finding with the most samples.
strongest() {
    awk -F'"' '$2 == "work" || $2 == "kind" || $2 == "path" { print $4; if (++n == 3) exit }' /tmp/trace.json | tr '\n' ' '
}
number() { sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p" /tmp/trace.json | head -n 1; }

check 'AF_ALG loads' modprobe algif_skcipher
modprobe aes_generic 2>/dev/null # some kernels have it built in
modprobe ecb 2>/dev/null
# Other tests of the guest may have loaded it.
! grep -q '^aesni_intel ' /proc/modules || check "the kernel's driver for AES-NI unloads" rmmod aesni_intel
# The same request is made with each driver. Without modprobe, the first does not load aesni-intel.
loader=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
check 'aes-generic: the trace ends' traced $bin/alg encrypt skcipher 'ecb(aes)' 65536 100000000
echo "$loader" >/proc/sys/kernel/modprobe
answer=$(strongest)
case $answer in
'tables kernel kernel ' | 'tables kernel aes_generic ') ok 'aes-generic runs by tables, in the kernel' ;;
*) not_ok "aes-generic: got '$answer', wanted 'tables kernel aes_generic'" ;;
esac

check "the kernel's driver for AES-NI loads" modprobe aesni-intel
check 'aesni: the trace ends' traced $bin/alg encrypt skcipher 'ecb(aes)' 65536 100000000
same "the kernel's driver runs on AES-NI" "$(strongest)" 'aes-ni kernel aesni_intel '

# Above aesni-intel, which the module would otherwise leave first on a processor without VAES.
check 'the module loads' load priority=1000
check 'ours: the trace ends' traced $bin/alg encrypt skcipher 'ecb(aes)' 65536 100000000
same 'our driver runs on AES-NI' "$(strongest)" 'aes-ni kernel tenrounds '
check 'the trace knows that it is ours' grep -q '"with_tenrounds": "this is tenrounds"' /tmp/trace.json
# Nearly all are, but an emulator that waited for a processor gave 45 %.
check 'many samples are in the kernel' test "$(number kernel_samples)" -gt $(($(number samples) / 10))
check 'the module unloads' unload
