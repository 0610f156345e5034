#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# hardened.sh PATH...: checks the protections of each program and shared object in these files and
# folders. `make check` runs it on the tree that `make install` installs.
#
# The linker's protections apply to all. The stack protector and _FORTIFY_SOURCE apply to the modules
# for OpenSSL, tenrounds.so: the core's calls are too short for them, and Rust checks its indices.
set -u
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
n=0 failed=0

lacks() { # FILE: prints what it lacks
    readelf -hldW "$1" >"$work/headers"
    readelf --dyn-syms -W "$1" >"$work/symbols"
    # Position-independent, also as a program.
    grep -qE '^ *Type: +DYN ' "$work/headers" || echo PIE
    grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' "$work/headers" || echo BIND_NOW
    grep -qE '^ *GNU_RELRO ' "$work/headers" || echo RELRO
    grep -qE '^ *GNU_STACK .* RW ' "$work/headers" || echo 'a stack that is not executable'
    ! grep -qE '\((RPATH|RUNPATH)\)' "$work/headers" || echo 'paths without RPATH'
    ! grep -qF '(TEXTREL)' "$work/headers" || echo 'code without relocations'
    [ "${1##*/}" = tenrounds.so ] || return
    grep -qw __stack_chk_fail "$work/symbols" || echo 'the stack protector'
    grep -qE '__[a-z]+_chk' "$work/symbols" || echo _FORTIFY_SOURCE
}

find "$@" -type f >"$work/files"
while read -r file; do
    # Not scripts, object files and archives.
    readelf -h "$file" 2>/dev/null | grep -qE '^ *Type: +(DYN|EXEC) ' || continue
    n=$((n + 1))
    lacks "$file" >"$work/lacks"
    if [ ! -s "$work/lacks" ]; then
        echo "ok $n - $file is hardened"
    else
        echo "not ok $n - $file is hardened"
        sed 's/^/# lacks /' "$work/lacks"
        failed=1
    fi
done <"$work/files"
echo "1..$n"
[ "$n" -ge 1 ] && exit $failed
