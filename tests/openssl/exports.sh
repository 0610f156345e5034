#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the provider exports only OSSL_provider_init and is not linked with libcrypto.
set -eu
module=$OPENSSL_MODULES/tenrounds.so
echo 1..2
status=0

exported=$(nm -D --defined-only "$module" | sed 's/.* //')
if [ "$exported" = OSSL_provider_init ]; then
    echo "ok 1 - exports only OSSL_provider_init"
else
    echo "not ok 1 - exports only OSSL_provider_init"
    printf '%s\n' "$exported" | sed 's/^/# exported: /'
    status=1
fi

needed=$(readelf -d "$module" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
case $needed in
*libcrypto* | *libssl*)
    echo "not ok 2 - is not linked with libcrypto"
    printf '%s\n' "$needed" | sed 's/^/# needs: /'
    status=1
    ;;
*) echo "ok 2 - is not linked with libcrypto" ;;
esac
exit $status
