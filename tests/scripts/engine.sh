#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests what scripts/engine compiles and how: engine.sh SCRIPTS. The compiler is a stub, which writes
# its arguments to a file. The compiler of an old system is tested on Debian 11.
set -u
scripts=$1
. "$(dirname -- "$0")/tap.sh"
unset CFLAGS CPPFLAGS LDFLAGS WERROR
export dir
cat >"$dir/cc" <<'END'
#!/bin/sh
echo "$*" >>"$dir/calls"
[ -z "${fail-}" ] || exit 1
[ "$1" != -fsyntax-only ] || exit 0
while [ $# -gt 1 ]; do
    [ "$1" != -o ] || : >"$2"
    shift
done
END
chmod 755 "$dir/cc"

engine() { CC="$dir/cc" "$scripts/engine" "$dir/build" >"$dir/out" 2>&1; }
every_source() {
    engine && cd "$scripts/.." &&
        find core openssl/common openssl/engine -name '*.c' ! -path 'core/archive/*' | LC_ALL=C sort >"$dir/expected" &&
        sed -n 's/.* -c \([^ ]*\.c\) -o .*/\1/p' "$dir/calls" | LC_ALL=C sort | diff "$dir/expected" -
}
hosts_alone() { # OPTION
    grep -- ' -c ' "$dir/calls" | grep -e "$1" | grep -q ' -c openssl/' && ! grep -e "$1" "$dir/calls" | grep ' -c core/'
}
without_headers() {
    rm -rf "$dir/build" && ! fail=yes engine && cat "$dir/out" && grep -q 'finds no openssl/engine.h' "$dir/out" &&
        [ ! -e "$dir/build/engine/tenrounds.so" ]
}
export fail=''
result 'every source is compiled, once' every_source
result 'the hosts have the stack protector, the core has not' hosts_alone -fstack-protector-strong
result 'the hosts may leave parameters unused, the core may not' hosts_alone -Wno-unused-parameter
result 'without headers of OpenSSL it says what to install' without_headers
planned
