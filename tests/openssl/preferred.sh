#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Functions for scripts that run the openssl command with our provider preferred by configuration
# (ours) and without it (plain). A script sources this file: `. preferred.sh`. Sets $dir, a
# temporary directory that is removed at the end. If the script's argument is "engine", our engine
# takes the provider's place.
# shellcheck disable=SC2034 # the scripts use these variables

# Restarts the script under hold_counters.py, because counters files are shared memory
# (openssl/common/counters_file.h), which a shell cannot make.
[ -n "${COUNTERS_HELD:-}" ] || exec "$(dirname -- "$0")/hold_counters.py" "$0" "$@"
unset COUNTERS_HELD

case ${1:-provider} in
engine)
    module=$OPENSSL_ENGINES/tenrounds.so template=engine.cnf.in
    faulty_module=$FAULTY_MODULES/tenrounds-engine.so
    ;;
*)
    module=$OPENSSL_MODULES/tenrounds.so template=preferred.cnf.in
    faulty_module=$FAULTY_MODULES/tenrounds.so
    ;;
esac
dir=$(mktemp -d)
servers= # processes to stop at the end
cleanup() {
    # shellcheck disable=SC2086 # a list of numbers
    [ -z "$servers" ] || kill $servers 2>/dev/null || :
    rm -rf "$dir"
}
trap cleanup EXIT

count=0
status=0
# result TEXT COMMAND...: prints one line of TAP, which says whether the command succeeds. If it
# fails, also prints its output.
result() {
    set +e
    count=$((count + 1))
    text=$1
    shift
    if "$@" >"$dir/said" 2>&1; then
        echo "ok $count - $text"
    else
        echo "not ok $count - $text"
        sed 's/^/# /' "$dir/said"
        status=1
    fi
    set -e
}

# skip REASON [excused]: skips one result. With TENROUNDS_MUST_RUN, only an excused skip passes.
skip() {
    count=$((count + 1))
    if [ -n "${TENROUNDS_MUST_RUN:-}" ] && [ "${2:-}" != excused ]; then
        echo "not ok $count - skipped, but has to run here (TENROUNDS_MUST_RUN): $1"
        status=1
    else
        echo "ok $count # SKIP $1"
    fi
}

# Both configurations have the sections that `openssl req` needs.
printf '[req]\ndistinguished_name = name\n[name]\n' >"$dir/plain.cnf"
sed "s|@module@|$module|" "$(dirname -- "$0")/$template" |
    cat - "$dir/plain.cnf" >"$dir/ours.cnf"

# A module built with the address sanitizer needs the sanitizer's runtime loaded before the program.
runtime=
if nm -D "$module" | grep -q __asan_init; then
    runtime=$(${CC:-cc} -print-file-name="libclang_rt.asan-$(uname -m).so")
    [ -f "$runtime" ] || runtime=$(${CC:-cc} -print-file-name=libasan.so)
    export ASAN_OPTIONS=detect_leaks=0
fi

counters=/proc/$$/fd/8 # for ours()
others=/proc/$$/fd/9   # for a second process
fresh_counters() {
    dd if=/dev/zero of="$counters" bs=65536 count=1 conv=notrunc 2>/dev/null
    printf TRCOUNT0 | dd of="$counters" bs=8 conv=notrunc 2>/dev/null
}
# Like ours(), with the module that has the fault switch.
faulty() {
    sed "s|$module|$faulty_module|" "$dir/ours.cnf" >"$dir/faulty.cnf"
    LD_PRELOAD=$runtime OPENSSL_CONF="$dir/faulty.cnf" openssl "$@"
}
plain() { OPENSSL_CONF="$dir/plain.cnf" openssl "$@"; }
ours() {
    TENROUNDS_COUNTERS=$counters LD_PRELOAD=$runtime OPENSSL_CONF="$dir/ours.cnf" openssl "$@"
}

# executed_in FILE POSITION OPERATION...: prints how many bytes one host's section counts for these
# operations. A section describes its own layout (openssl/common/counters_file.h).
executed_in() {
    counted=$1 at=$2
    shift 2
    backends=$(od -An -t u4 -j $((at + 8)) -N 4 "$counted" | tr -d ' ')
    ops=$(od -An -t u4 -j $((at + 12)) -N 4 "$counted" | tr -d ' ')
    [ "$ops" -gt 0 ] || return 0 # this host was not loaded
    names=$(tail -c +$((at + 25 + 16 * backends)) "$counted" 2>/dev/null | head -c $((16 * ops)) | tr '\0' ' ' |
        fold -w 16 | tr '\n' ' ')
    od -An -v -t u8 -w16 -j $((at + 24 + 16 * (backends + ops))) -N $((backends * 16 * ops)) "$counted" |
        awk -v wanted=" $* " -v names="$names" 'BEGIN { ops = split(names, name) }
            index(wanted, " " name[(NR - 1) % ops + 1] " ") { n += $2 } END { printf "%.0f\n", n }'
}

# executed FILE OPERATION...: prints the sum of executed_in over all hosts.
executed() {
    file=$1
    shift
    for section in 0 16384 32768; do
        executed_in "$file" $section "$@"
    done | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# port_of FILE: prints the port of an s_server that was started with port 0 and writes to FILE.
port_of() {
    for _ in $(seq 600); do
        port=$(sed -n 's/^ACCEPT.*:\([0-9]*\)$/\1/p' "$1")
        [ -z "$port" ] || break
        sleep 0.1
    done
    echo "$port"
}
