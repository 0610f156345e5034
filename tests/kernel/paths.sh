# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# User space and the kernel: what an AF_ALG operation costs, in counts; and compare --paths where there is AF_ALG.
# guest: plain
# modules: aesni-intel algif_skcipher
# programs: BUILD/dist/bin/tenrounds BUILD/dist/lib/ossl-modules/tenrounds.so
# files: /usr/lib/x86_64-linux-gnu/libcrypto.so.3 /usr/lib/x86_64-linux-gnu/engines-3/afalg.so
# shellcheck disable=SC2154 # $bin, $backend and $output come from run
export TENROUNDS_MODULE=/bin/tenrounds.so XDG_CACHE_HOME=/tmp
tracing=/sys/kernel/debug/tracing

# Better than the kernel's own, so that who asks by algorithm gets ours.
check 'the module loads' load priority=1000
check 'the AES of the kernel itself' modprobe aesni-intel
check 'AF_ALG' modprobe algif_skcipher

# ---- Ten operations of 64 KiB, as the module counts them and as the kernel's functions are called ----

# How often a function ran since the trace was emptied.
ran() { grep -c " $1 <-" $tracing/trace; }

# operations HOW OFFSET STEPS: calls, bytes and steps of the module, and system calls as the kernel sees them.
operations() {
    before_calls=$(counter 'cbc(aes)' calls)
    before_bytes=$(counter 'cbc(aes)' bytes)
    before_steps=$(counter 'cbc(aes)' steps)
    before_holds=$(counter holds)
    echo >$tracing/trace
    echo 1 >$tracing/tracing_on
    check "$1 at offset $2" "$bin/chunks" "$1" "$(driver cbc)" 10 65536 "$2"
    echo 0 >$tracing/tracing_on
    same "$1 at offset $2: calls of the cipher" $(($(counter 'cbc(aes)' calls) - before_calls)) 10
    same "$1 at offset $2: bytes" $(($(counter 'cbc(aes)' bytes) - before_bytes)) 655360
    same "$1 at offset $2: steps" $(($(counter 'cbc(aes)' steps) - before_steps)) "$3"
    # One more for the key's expansion.
    same "$1 at offset $2: holds of the vector registers" $(($(counter holds) - before_holds)) $(($3 + 1))
    same "$1 at offset $2: recv" "$(ran skcipher_recvmsg)" 10
    same "$1 at offset $2: encryptions" "$(ran crypto_skcipher_encrypt)" 10
}

echo 0 >$tracing/tracing_on
check 'functions to be traced' sh -c "echo skcipher_sendmsg skcipher_recvmsg crypto_skcipher_encrypt >$tracing/set_ftrace_filter"
check 'the tracer' sh -c "echo function >$tracing/current_tracer"
# Sixteen pages go in, and sixteen come out: a step ends at the end of either.
operations send 0 160
same 'send: the IV once, and the data' "$(ran skcipher_sendmsg)" 11
operations send 64 320
# If the same pages go in that come out, their ends are one: sixteen steps and a part. A kernel that copies what is spliced has
# pages of its own, as with send; what the tool says of that is compared with this below.
spliced=170
steps=$(counter 'cbc(aes)' steps)
check 'splice' "$bin/chunks" splice "$(driver cbc)" 10 65536 64
[ $(($(counter 'cbc(aes)' steps) - steps)) = 170 ] || spliced=320
operations splice 64 $spliced
echo nop >$tracing/current_tracer

# ---- compare --paths ----

# The value of "counted" for a path and a size, in one line.
counted() { # path bytes
    awk -v who="\"$1\"," -v bytes="$2," '
        $1 == "\"implementation\":" { is = $2 == who }
        $1 == "\"bytes\":" { is = is && $2 == bytes }
        $1 == "\"counted\":" { on = is; $1 = "" }
        $1 == "\"user_ns\":" { on = 0 }
        on { gsub(/[ \n]/, ""); printf "%s", $0 }' /tmp/paths.json
}
# of CALLS COPIED-IN COPIED-OUT IN-PLACE-IN IN-PLACE-OUT: how that looks for ten calls
of() {
    echo "{\"calls\":10,\"system_calls\":{$1},\"copied\":{\"in\":$2,\"out\":$3},\"referenced\":{\"in\":$4,\"out\":$5}},"
}

# It fails unless all paths turn the same bytes into what the core does.
compare() { tenrounds compare --paths aes-128-cbc --decrypt --seconds 0.01 --bytes 16,64K,128K --json "$@" >/tmp/paths.json; }
check 'compare --paths' compare
for who in tenrounds-core tenrounds openssl; do
    same "$who makes no system calls" "$(counted $who 65536)" "$(of '' 0 0 0 0)"
done
for bytes in 16 65536; do
    ten=$((10 * bytes))
    same "AF_ALG with send, $bytes bytes" "$(counted af-alg $bytes)" "$(of '"recvfrom":10,"sendto":10' $ten 0 0 $ten)"
    calls='"recvfrom":10,"splice":10,"vmsplice":10'
    case $spliced in
    170) wanted=$(of "$calls" 0 0 $ten $ten) ;;
    *) wanted=$(of "$calls" $ten 0 0 $ten) ;;
    esac
    same "AF_ALG with splice, $bytes bytes" "$(counted af-alg-splice $bytes)" "$wanted"
    # It also reads 8 bytes from an eventfd.
    same "the engine afalg, $bytes bytes" "$(counted afalg-engine $bytes)" \
        "$(of '"io_getevents":10,"io_submit":10,"read":10,"sendmsg":10' $ten 80 0 $ten)"
done
same 'AF_ALG with send, 128 KiB' "$(counted af-alg 131072)" "$(of '"recvfrom":20,"sendto":20' 1310720 0 0 1310720)"
driver=$(sed -n 's/.*"driver": "\(.*\)",/\1/p' /tmp/paths.json | head -n 1)
same 'what AF_ALG took' "$driver" "$(driver cbc)"

# The kernel's own, by its name: our module has nothing to do.
before_calls=$(counter 'cbc(aes)' calls)
check 'compare --paths with a driver' sh -c \
    "tenrounds compare --paths aes-128-cbc --seconds 0.01 --bytes 4K --driver cbc-aes-aesni | grep -q 'cbc(aes): cbc-aes-aesni,'"
# The engine asks by algorithm, and gets ours.
check 'and ours for the engine' test "$(counter 'cbc(aes)' calls)" -gt "$before_calls"
refused 'a driver of another mode' tenrounds compare --paths aes-128-cbc --bytes 16 --driver ctr-aes-aesni
cp "$output" /tmp/said
check 'which is said' grep -q 'ctr-aes-aesni: that does ctr(aes), not cbc(aes)' /tmp/said
# One path that computes wrongly is found out before anything is timed.
export TENROUNDS_CORRUPT=af-alg
refused 'a kernel that computes wrongly' tenrounds compare --paths aes-128-cbc --bytes 16
cp "$output" /tmp/said
check 'which is said' grep -q 'tenrounds-core and af-alg differ' /tmp/said
unset TENROUNDS_CORRUPT
check 'and unloads' unload
