# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
# Tests an ESP tunnel between two network namespaces, with our driver at one end and the kernel's
# own at the other, and the reverse. The data must arrive unchanged. At each end that uses our
# driver, the driver must be called exactly once per packet. `tenrounds trace --kernel` has to count
# a random number of packets.
# guest: traced
# modules: aesni-intel crypto_user veth esp4 xfrm_user gcm seqiv echainiv authenc drbg jitterentropy_rng sha512_generic
# programs: bpftrace /sbin/ip BUILD/dist/bin/tenrounds
# files: tests/kernel/drivers tests/kernel/rows
# shellcheck disable=SC1091,SC2015,SC2154 # other files set variables; fail() ends every list
. /tests/drivers
. /tests/rows
export XDG_CACHE_HOME=/tmp

ip=/sbin/ip # busybox's ip does not support tunnels
size=200000

# Creates two namespaces, west and east. The link has 10.0.0.1 and 10.0.0.2; the networks behind
# have 10.1.0.1 and 10.2.0.1.
namespaces() (
    $ip netns add west && $ip netns add east || fail "cannot add the namespaces"
    $ip link add w type veth peer name e || fail "cannot add the veth pair"
    side west w 10.0.0.1 10.1.0.1 10.2.0.0/24 10.0.0.2
    side east e 10.0.0.2 10.2.0.1 10.1.0.0/24 10.0.0.1
)
side() { # namespace device address inner-address others-network others-address
    $ip link set "$2" netns "$1" &&
        $ip -n "$1" link set lo up &&
        $ip -n "$1" addr add "$3/24" dev "$2" &&
        $ip -n "$1" addr add "$4/32" dev lo &&
        $ip -n "$1" link set "$2" up &&
        $ip -n "$1" route add "$5" via "$6" src "$4" || fail "cannot set up namespace $1"
}

# Adds the security associations of both directions at one end. They use the drivers that are
# preferred at this moment.
states() { # namespace
    for direction in '10.0.0.1 10.0.0.2 0x101' '10.0.0.2 10.0.0.1 0x102'; do
        # shellcheck disable=SC2086 # three words
        set -- "$1" $direction
        eval "$ip -n $1 xfrm state add src $2 dst $3 proto esp spi $4 reqid 1 mode tunnel $transform" ||
            fail "cannot add the xfrm state in $1"
    done
}
# Adds the policies of both directions at both ends.
policies() {
    forth='src 10.1.0.0/24 dst 10.2.0.0/24'
    back='src 10.2.0.0/24 dst 10.1.0.0/24'
    west='tmpl src 10.0.0.1 dst 10.0.0.2 proto esp reqid 1 mode tunnel'
    east='tmpl src 10.0.0.2 dst 10.0.0.1 proto esp reqid 1 mode tunnel'
    # shellcheck disable=SC2086 # lists of words
    $ip -n west xfrm policy add $forth dir out $west &&
        $ip -n west xfrm policy add $back dir in $east &&
        $ip -n east xfrm policy add $back dir out $east &&
        $ip -n east xfrm policy add $forth dir in $west || fail "cannot add the xfrm policies"
}
# Prints the number of packets that an end's security associations have processed.
packets() { # namespace
    $ip -n "$1" -s xfrm state | sed -n 's/.* \([0-9]*\)(packets).*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }'
}

listens() { $ip netns exec "$1" netstat -ltn | grep -q :7000; }
# Sends a file by TCP from the first namespace to the second and compares it.
send_file() { # namespace file namespace address
    $ip netns exec "$3" nc -l -p 7000 -e sh -c 'cat >/tmp/arrived' &
    receiver=$!
    eventually listens "$3" || fail "$3 does not listen on port 7000"
    timeout 120 $ip netns exec "$1" nc -w 60 "$4" 7000 <"$2" || {
        kill $receiver
        fail "cannot send from $1"
    }
    wait $receiver
    cmp "$2" /tmp/arrived || fail "$3 received other bytes than $1 sent"
}

tunnel() ( # whose-west whose-east ALGORITHM
    for space in west east; do
        $ip -n $space xfrm state flush && $ip -n $space xfrm policy flush ||
            fail "cannot flush xfrm in $space"
    done
    prefer "$1" "$3"
    remember "$3"
    states west
    expect_held "$1"
    prefer "$2" "$3"
    remember "$3"
    states east
    expect_held "$2"
    policies
    remember "$3"
    send_file west /tmp/first east 10.2.0.1
    send_file east /tmp/second west 10.1.0.1
    for length in 0 1 15 16 17 1300 4000; do
        $ip netns exec west ping -c 1 -W 60 -s $length -I 10.1.0.1 10.2.0.1 >/dev/null || fail "no answer to a ping of $length bytes"
    done
    expected=0
    for space in west east; do
        seen=$(packets $space)
        # At least as many packets as the segments of both files.
        [ "$seen" -ge $((2 * size / 1500)) ] || fail "only $seen packets went through the tunnel of $space"
        whose=$1
        [ $space = west ] || whose=$2
        [ "$whose" = theirs ] || expected=$((expected + seen))
        wrong=$($ip netns exec $space cat /proc/net/xfrm_stat | awk '$2 != 0')
        [ -z "$wrong" ] || fail "$space has xfrm errors: $wrong"
    done
    expect_calls -eq $expected
)

head -c $size /dev/urandom >/tmp/first
head -c $size /dev/urandom >/tmp/second
check 'the module loads' load
for module in aesni-intel crypto_user veth esp4 xfrm_user; do
    check "modprobe $module" modprobe $module
done
mkdir -p /var/run
check 'two namespaces are set up' namespaces

transform="aead 'rfc4106(gcm(aes))' 0x$(random_hex 20) 128"
check "GCM, 128-bit key: the tunnel works with our driver in west" \
    tunnel ours theirs 'rfc4106(gcm(aes))'
check "GCM, 128-bit key: the tunnel works with our driver in east" \
    tunnel theirs ours 'rfc4106(gcm(aes))'
transform="aead 'rfc4106(gcm(aes))' 0x$(random_hex 36) 64"
check "GCM, 256-bit key, 64-bit tag: the tunnel works with our driver at both ends" \
    tunnel ours ours 'rfc4106(gcm(aes))'
transform="enc 'cbc(aes)' 0x$(random_hex 32) auth-trunc 'hmac(sha256)' 0x$(random_hex 32) 128"
check "CBC and HMAC: the tunnel works with our driver in west" tunnel ours theirs 'cbc(aes)'
check "CBC and HMAC: the tunnel works with our driver in east" tunnel theirs ours 'cbc(aes)'

# Counted by the trace. A template, seqiv, makes the IVs and passes each request on to our driver.
seed=$(sed -n 's/.*seed=\([0-9]*\).*/\1/p' /proc/cmdline)
echo "# seed $seed"
packets=$((100 + seed % 200))
wanted() { sed -n "s/^$1 //p" /tmp/wanted; }
datagrams() (
    for space in west east; do
        $ip -n $space xfrm state flush && states $space || fail "cannot set up the states"
    done
    tenrounds trace --kernel --json --output /tmp/trace.json -- \
        asks udp "$seed" $packets west east 10.2.0.1 >/tmp/wanted
)
transform="aead 'rfc4106(gcm(aes))' 0x$(random_hex 20) 128"
for whose in ours theirs; do
    prefer $whose 'rfc4106(gcm(aes))'
    driver=$(best_driver $whose 'rfc4106(gcm(aes))')
    check "packets by $driver are counted" datagrams
    outer="seqiv($driver)"
    for operation in encrypt decrypt; do
        same "$outer: one request to $operation a packet" "$(sums ipsec "$outer" $operation false)" "$(wanted $operation)"
    done
    same "$driver: the template's requests to encrypt" "$(sums '[a-z-]*' "$driver" encrypt true)" "$(wanted sealed)"
    same "$driver: the template's requests to decrypt" "$(sums '[a-z-]*' "$driver" decrypt true)" "$(wanted opened)"
    same "$driver: no other request of IPsec" "$(kinds ipsec)" 2
    rows | sed 's/^/# /'
done
for space in west east; do
    $ip -n $space xfrm state flush
    $ip netns del $space
done
check 'the module unloads' unload
