/* SPDX-License-Identifier: BSD-2-Clause */
/* Padding and MAC of CBC records, in constant time. The padding length, and with it the position of
 * the MAC, is secret until the MAC is verified. Otherwise an attacker learns plaintext from it
 * (Vaudenay 2002; AlFardan and Paterson, "Lucky Thirteen", 2013). Loops run over public lengths,
 * and each decision is a mask. */
#include "tls_record.h"

#include "masks.h"
#include "tenrounds.h"

#include <openssl/prov_ssl.h>
#include <string.h>

#define MAX_PADDING 256 /* bytes, including the length byte */
#define MAX_MAC     TRP_TLS_MAC

static inline size_t select_by(size_t mask, size_t yes, size_t no)
{
    return (opaque(mask) & yes) | (~mask & no);
}

/* ---- Sealing -------------------------------------------------------------------------------- */

size_t trp_tls_pad(unsigned version, uint8_t *record, size_t len)
{
    size_t count = TR_BLOCK - len % TR_BLOCK;
    uint8_t last = (uint8_t)(count - 1);
    memset(record + len, version == SSL3_VERSION ? 0 : last, count);
    record[len + count - 1] = last;
    return len + count;
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* Checks the padding at the end of n bytes; n is at most 256. The padding has `last` + 1 bytes,
 * each with the value `last`. If n is at most `last`, checks all n bytes. Returns all ones if the
 * padding is right, else zero. Uses 16-bit numbers, so that the compiler vectorizes the loop. */
static size_t tls_ends_alike(const uint8_t *bytes, size_t n, size_t last)
{
    int16_t first = (int16_t)opaque(n - 1 - last);
    uint8_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t before = (uint8_t)((int16_t)((int16_t)i - first) >> 15);
        wrong |= (uint8_t)(~before & (bytes[i] ^ (uint8_t)last));
    }
    return mask_equal(wrong, 0);
}

/* Returns the number of padding bytes, including the length byte. If the padding is wrong, returns
 * 0 and sets *good to 0. The record must be longer than mac_size. */
static size_t tls_padding_of(unsigned version, const uint8_t *record, size_t len, size_t mac_size,
                             size_t *good)
{
    size_t last = record[len - 1];
    *good = ~mask_less(len, last + 1 + mac_size);
    if (version == SSL3_VERSION) {
        /* SSL 3.0 allows at most one block of padding, with any content (RFC 6101 section
         * 5.2.3.2). */
        *good &= mask_less(last, TR_BLOCK);
    } else {
        size_t n = len < MAX_PADDING ? len : MAX_PADDING;
        *good &= tls_ends_alike(record + len - n, n, last);
    }
    return *good & (last + 1);
}

/* Copies the MAC: the n bytes before the secret offset `end`, which is at least len - MAX_PADDING.
 * Reads overlapping chunks of `size` + 16 bytes, one every 16 bytes, over all positions where the
 * MAC can begin. A mask keeps the chunk whose first 16 bytes contain the start of the MAC. Four
 * masked shifts, by 8, 4, 2 and 1 bytes, then move the MAC to the start of the chunk. The argument
 * `size` is a constant, and at least n. */
static inline __attribute__((always_inline)) void
tls_copy_mac(uint8_t *mac, size_t n, size_t size, const uint8_t *record, size_t len, size_t end)
{
    uint8_t tail[MAX_PADDING + MAX_MAC + TR_BLOCK] = {0}, chunk[MAX_MAC + TR_BLOCK] = {0};
    size_t from = len > MAX_PADDING + n ? len - MAX_PADDING - n : 0, at = end - n - from;
    memcpy(tail, record + from, len - from);
    for (size_t i = 0; i <= len - from - n; i += TR_BLOCK) {
        uint8_t here = (uint8_t)mask_equal(i / TR_BLOCK, at / TR_BLOCK);
        for (size_t j = 0; j < size + TR_BLOCK; j++)
            chunk[j] |= (uint8_t)(tail[i + j] & here);
    }
    for (size_t step = TR_BLOCK / 2; step > 0; step /= 2) {
        uint8_t move = (uint8_t)~mask_equal(at & step, 0);
        for (size_t j = 0; j < size + TR_BLOCK / 2; j++)
            chunk[j] = (uint8_t)((chunk[j + step] & move) | (chunk[j] & ~move));
    }
    memcpy(mac, chunk, n);
    tr_cleanse(tail, sizeof(tail));
    tr_cleanse(chunk, sizeof(chunk));
}

/* Bytes of explicit IV in a record of this version, or -1 if there is no such version. */
static int tls_explicit_iv(unsigned version)
{
    switch (version) {
    case SSL3_VERSION:
    case TLS1_VERSION:
        return 0;
    case TLS1_1_VERSION:
    case TLS1_2_VERSION:
    case DTLS1_BAD_VER:
    case DTLS1_VERSION:
    case DTLS1_2_VERSION:
        return TR_BLOCK;
    }
    return -1;
}

size_t trp_tls_split(unsigned version, const uint8_t *record, size_t len, uint8_t *mac,
                     size_t mac_size, size_t *good)
{
    size_t end = len - tls_padding_of(version, record, len, mac_size, good);
    if (mac_size <= 32)
        tls_copy_mac(mac, mac_size, 32, record, len, end);
    else
        tls_copy_mac(mac, mac_size, MAX_MAC, record, len, end);
    return end - mac_size;
}

const char *trp_tls_open(unsigned version, const uint8_t *record, size_t len, uint8_t *mac,
                         size_t mac_size, const uint8_t substitute[MAX_MAC], size_t *payload)
{
    size_t good;
    const int skip = tls_explicit_iv(version);
    if (mac_size > MAX_MAC)
        return "the MAC is too long";
    if (skip < 0)
        return "the TLS version is unknown";
    if (len < (size_t)skip + mac_size + 1)
        return "the record is too short for its padding and MAC";
    record += skip;
    len -= (size_t)skip;
    if (mac_size == 0) {
        /* With encrypt-then-MAC, libssl has already verified the record, so its padding is no
         * secret. */
        *payload = len - tls_padding_of(version, record, len, mac_size, &good);
        return good != 0 ? NULL : "the padding is wrong";
    }
    *payload = trp_tls_split(version, record, len, mac, mac_size, &good);
    for (size_t i = 0; i < mac_size; i++)
        mac[i] = (uint8_t)select_by(good, mac[i], substitute[i]);
    return NULL;
}
