#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# no_fault_switch.sh FAULTY INSTALLED...: checks that FAULTY has the fault switch of the tests, and
# that no installed object has it.
set -u
echo "1..$#"
n=1 status=0
if grep -qF TENROUNDS_SABOTAGE "$1"; then
    echo "ok 1 - the module of the tests has the fault switch"
else
    echo "not ok 1 - $1 has no fault switch"
    status=1
fi
shift
for object; do
    n=$((n + 1))
    if grep -qF SABOTAGE "$object"; then
        echo "not ok $n - $object contains a fault switch"
        status=1
    else
        echo "ok $n - ${object##*/} contains no fault switch"
    fi
done
exit $status
