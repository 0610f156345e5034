# SPDX-License-Identifier: BSD-2-Clause
# Puts the drivers under random load through AF_ALG: each message equals libcrypto's, the module's
# counters are exactly what the messages add up to, and the process keeps its descriptors and memory.
# guest: plain
# modules: algif_skcipher algif_aead
# programs: BUILD/c/tests/soak/soak
# shellcheck disable=SC2154 # $output comes from run
export OPENSSL_CONF=/dev/null
modprobe algif_skcipher
modprobe algif_aead
[ ! -e /proc/sys/crypto/af_alg_restrict ] || echo 0 >/proc/sys/crypto/af_alg_restrict
soak kernel 1 >/tmp/said
same 'without the module, the status says so' $? 77
check 'and a line does' grep -q '^not here: kernel: .*tenrounds/backend' /tmp/said
check 'the module loads' load
seconds=$(sed -n 's/.*soak=\([0-9]*\).*/\1/p' /proc/cmdline)
check 'all messages and counters are right' soak kernel "${seconds:-4}"
cp $output /tmp/said
quote /tmp/said
check 'the counters are exact' grep -Eq '^kernel +[1-9][0-9]* .* 0  exact .* ok$' /tmp/said
check 'the module unloads' unload
