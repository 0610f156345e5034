#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# static_data.sh OBJECT[=NAME,NAME...]...: checks that the writable static data of each object is
# only the names in expected() below and its NAMEs. The caller states the reason for each NAME.
# Constant tables that contain addresses do not count: the dynamic linker makes them read-only
# (.data.rel.ro).
set -u
echo "1..$#"
n=0 failed=0

# Removes the expected names. Three are words of the core, each written by the first call that needs
# it: the selected backend, the row of the table of microarchitectures, and the verdicts of
# known-answer tests. The compiler and the linker add the other names: a handle
# for the end of the program, a flag that the program has ended, and labels.
expected() {
    sed -e 's/\.[0-9]*$//' -e 's/.*\.//' | grep -vxE 'selected|tuned|verdicts|completed|__dso_handle|__TMC_END__|__bss_start|_edata|_end|'
}

for word; do
    n=$((n + 1))
    object=${word%%=*} besides=
    [ "$object" = "$word" ] || besides=$(printf '%s' "${word#*=}" | tr ',' '|')
    sections=$(readelf -SW "$object" | sed -n 's/^ *\[ *\([0-9]*\)\] \.\(data\|bss\|tdata\|tbss\) .*/\1/p' | tr '\n' ' ')
    if [ -z "$sections" ]; then
        echo "not ok $n - $(basename "$object") has no writable data sections to check"
        failed=1
        continue
    fi
    found=$(readelf -sW "$object" | awk -v sections=" $sections" 'index(sections, " " $7 " ") && $4 != "SECTION" { print $8 }' |
        sort -u | expected | grep -vxE "$besides|")
    if [ -z "$found" ]; then
        echo "ok $n - $(basename "$object") has only the expected writable static data"
    else
        echo "not ok $n - $(basename "$object") has only the expected writable static data"
        printf '%s\n' "$found" | sed 's/^/# also: /'
        failed=1
    fi
done
exit $failed
