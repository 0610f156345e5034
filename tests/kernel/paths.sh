# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Counts what an AF_ALG operation costs, and tests bench --paths on a kernel that has AF_ALG.
# guest: values
# modules: aesni-intel algif_skcipher
# programs: BUILD/dist/bin/tenrounds BUILD/kernel/faulty BUILD/dist/lib/ossl-modules/tenrounds.so
# files: /usr/lib/x86_64-linux-gnu/libcrypto.so.3
# shellcheck disable=SC2154 # $bin, $backend and $output come from run
export TENROUNDS_MODULE=/bin/tenrounds.so XDG_CACHE_HOME=/tmp
tracing=/sys/kernel/debug/tracing

# With this priority, users that open an algorithm by name get our driver.
check 'the module loads' load priority=1000
check "the kernel's own AES loads" modprobe aesni-intel
check 'AF_ALG loads' modprobe algif_skcipher

# ---- 10 operations of 64 KiB: the module's counters, and the kernel's function trace ----

# ran FUNCTION: prints how often a function ran since the trace was cleared.
ran() { grep -c " $1 <-" $tracing/trace; }

# operations HOW OFFSET STEPS: checks the module's calls, bytes, steps and holds, and the kernel
# functions behind the system calls.
operations() {
    before_calls=$(counter 'cbc(aes)' calls)
    before_bytes=$(counter 'cbc(aes)' bytes)
    before_steps=$(counter 'cbc(aes)' steps)
    before_holds=$(counter holds)
    echo >$tracing/trace
    echo 1 >$tracing/tracing_on
    check "$1 at offset $2: chunks makes 10 operations" \
        "$bin/chunks" "$1" "$(driver cbc)" 10 65536 "$2"
    echo 0 >$tracing/tracing_on
    same "$1 at offset $2: the cipher had 10 calls" \
        $(($(counter 'cbc(aes)' calls) - before_calls)) 10
    same "$1 at offset $2: the cipher had 655360 bytes" \
        $(($(counter 'cbc(aes)' bytes) - before_bytes)) 655360
    same "$1 at offset $2: the cipher made $3 steps" \
        $(($(counter 'cbc(aes)' steps) - before_steps)) "$3"
    # The key expansion takes one more hold.
    same "$1 at offset $2: each step held the vector registers once" $(($(counter holds) - before_holds)) $(($3 + 1))
    same "$1 at offset $2: recv ran 10 times" "$(ran skcipher_recvmsg)" 10
    same "$1 at offset $2: the kernel encrypted 10 times" \
        "$(ran crypto_skcipher_encrypt)" 10
}

echo 0 >$tracing/tracing_on
check 'the functions to trace are set' sh -c "echo skcipher_sendmsg skcipher_recvmsg crypto_skcipher_encrypt >$tracing/set_ftrace_filter"
check 'the tracer is set' sh -c "echo function >$tracing/current_tracer"
# Input and output have 16 pages each. A step ends where a page of either ends.
operations send 0 160
same 'send ran once for the IV and once for each operation' "$(ran skcipher_sendmsg)" 11
operations send 64 320
# If splice passes the pages of the output buffer, input and output pages end together: 17 steps per
# operation. Some kernels copy spliced data into other pages, as for send: 32 steps.
spliced=170
steps=$(counter 'cbc(aes)' steps)
check 'splice at offset 64: chunks makes 10 operations' \
    "$bin/chunks" splice "$(driver cbc)" 10 65536 64
[ $(($(counter 'cbc(aes)' steps) - steps)) = 170 ] || spliced=320
operations splice 64 $spliced
echo nop >$tracing/current_tracer

# ---- bench --paths ----

# bench --paths fails unless all paths compute the same output.
compare() { tenrounds bench --paths aes-128-cbc --seconds 0.01 --bytes 16,64K,128K --json "$@" >/tmp/paths.json; }
check 'bench --paths finds no difference' compare
driver=$(sed -n 's/.*"driver": "\(.*\)",/\1/p' /tmp/paths.json | head -n 1)
same 'AF_ALG used our driver' "$driver" "$(driver cbc)"

# A path that computes wrong output is detected before anything is timed.
refused 'bench --paths refuses a path with wrong output' \
    env TENROUNDS_CORRUPT=af-alg faulty bench --paths aes-128-cbc --bytes 16
cp "$output" /tmp/said
check 'the error names the paths that differ' grep -q 'tenrounds and af-alg differ' /tmp/said
check 'the module unloads' unload
