/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening a TLS record takes no branch and no index that depends on what is in it, the length of
 * the padding and the place of the MAC least of all. To be run under valgrind, whose memcheck is
 * told that the record is undefined (A. Langley's ctgrind).
 */
#include "tap.h"
#include "tls_record.h"

#include <openssl/prov_ssl.h>
#include <valgrind/memcheck.h>

static const unsigned versions[] = {SSL3_VERSION, TLS1_VERSION, TLS1_2_VERSION};
static const size_t mac_sizes[] = {16, 20, 32, 48};

/* A record whose padding claims to be n bytes; right if it says so. */
static void compose(uint8_t *record, size_t len, size_t n, bool right)
{
    for (size_t i = 0; i < len; i++)
        record[i] = (uint8_t)(i * 5 + 3);
    for (size_t i = 1; right && i <= n; i++)
        record[len - i] = (uint8_t)(n - 1);
    record[len - 1] = (uint8_t)(n - 1);
}

static bool open_secretly(unsigned version, size_t mac_size, size_t len, size_t n, bool right)
{
    uint8_t record[512], mac[2][64];
    struct trp_tls_opened opened[2];
    int ok[2];
    compose(record, len, n, right);
    ok[0] = trp_tls_open(version, record, len, mac[0], mac_size, &opened[0]);
    VALGRIND_MAKE_MEM_UNDEFINED(record, len);
    ok[1] = trp_tls_open(version, record, len, mac[1], mac_size, &opened[1]);
    VALGRIND_MAKE_MEM_DEFINED(record, len);
    VALGRIND_MAKE_MEM_DEFINED(&opened[1], sizeof(opened[1]));
    VALGRIND_MAKE_MEM_DEFINED(mac[1], sizeof(mac[1]));
    const size_t skip = version == TLS1_2_VERSION ? 16 : 0;
    const bool fits = right && n + mac_size + skip <= len && (version != SSL3_VERSION || n <= 16);
    return ok[0] && ok[1] && opened[0].len == opened[1].len && opened[0].has_mac &&
           opened[1].has_mac && (!fits || memcmp(mac[0], mac[1], mac_size) == 0);
}

int main(void)
{
    tap_plan(3);
    bool alike = true;
    for (unsigned v = 0; v < 3; v++) {
        for (unsigned m = 0; m < 4; m++) {
            for (size_t n = 1; n <= 256; n += 5) {
                alike &= open_secretly(versions[v], mac_sizes[m], 384, n, true);
                alike &= open_secretly(versions[v], mac_sizes[m], 384, n, false);
                alike &= open_secretly(versions[v], mac_sizes[m], 80, n, true);
            }
        }
    }
    const unsigned errors = VALGRIND_COUNT_ERRORS;
    tap_ok(alike, "secret and public records open alike");
    tap_ok(errors == 0, "nothing depends on a record's contents: %u places do", errors);

    /* That a use would have been noticed: this one is. */
    uint8_t secret = 1;
    VALGRIND_MAKE_MEM_UNDEFINED(&secret, sizeof(secret));
    if (secret == 1)
        tap_diag("a branch on a secret");
    VALGRIND_MAKE_MEM_DEFINED(&secret, sizeof(secret));
    tap_ok(VALGRIND_COUNT_ERRORS > errors, "memcheck reports such a place");
    return tap_done();
}
