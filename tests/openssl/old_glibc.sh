#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# old_glibc.sh ENGINE: checks that the engine loads with glibc 2.28 (RHEL 8) and later, of systems
# with OpenSSL 1.1.1: it needs no symbol of a newer version, and no library but the C library.
set -u
echo 1..2
status=0

new=$(readelf -VW "$1" | grep -oE '\bGLIBC_[0-9A-Z][0-9A-Z._a-z]*' | sort -u |
    awk '{ split(substr($0, 7), part, "."); if (part[1] !~ /^[0-9]+$/ || part[1] > 2 || part[2] + 0 > 28) print }')
if [ -z "$new" ]; then
    echo 'ok 1 - needs no symbol of a glibc after 2.28'
else
    echo 'not ok 1 - needs no symbol of a glibc after 2.28'
    for version in $new; do
        readelf --dyn-syms -W "$1" | sed -n "s/.* \([^ ]*@$version\).*/# needs \1/p"
    done
    status=1
fi

needed=$(readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so|libpthread\.so|ld-linux)')
if [ -z "$needed" ]; then
    echo 'ok 2 - needs no library but the C library'
else
    echo 'not ok 2 - needs no library but the C library'
    printf '%s\n' "$needed" | sed 's/^/# needs: /'
    status=1
fi
exit $status
