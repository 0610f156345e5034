/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Constant time: the length of the padding, and with it the place of the MAC, is secret until the
 * MAC has been verified (Vaudenay 2002; AlFardan and Paterson, "Lucky Thirteen", 2013). Loops run
 * over public lengths, and every decision is a mask: all ones for yes, zero for no.
 */
#include "tls_record.h"

#include "random.h"
#include "tenrounds.h"

#include <openssl/prov_ssl.h>
#include <string.h>

#define MAX_PADDING 256 /* with its length byte */
#define MAX_MAC     64

/* ---- Masks ---------------------------------------------------------------------------------- */

/* Hides a value from the optimizer, which would otherwise be free to make a branch of a mask, or to
 * count a loop in terms of a secret. */
static inline size_t opaque(size_t x)
{
    __asm__("" : "+r"(x));
    return x;
}

/* a < b */
static inline size_t mask_less(size_t a, size_t b)
{
    size_t borrow = (~a & b) | ((~a | b) & (a - b));
    return 0 - (opaque(borrow) >> (8 * sizeof(size_t) - 1));
}

static inline size_t mask_equal(size_t a, size_t b)
{
    return ~(mask_less(a, b) | mask_less(b, a));
}

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

/* The bytes of padding at the end of the record, with the length byte; 0 and *good = 0 if they are
 * wrong. The record is longer than mac_size. */
static size_t padding_of(unsigned version, const uint8_t *record, size_t len, size_t mac_size,
                         size_t *good)
{
    size_t last = record[len - 1];
    *good = ~mask_less(len, last + 1 + mac_size);
    if (version == SSL3_VERSION) {
        /* At most a block; its bytes may be anything (RFC 6101 section 5.2.3.2). */
        *good &= mask_less(last, TR_BLOCK);
    } else {
        size_t wrong = 0;
        size_t end = len < MAX_PADDING ? len : MAX_PADDING;
        for (size_t i = 0; i < end; i++)
            wrong |= ~mask_less(opaque(last), i) & (record[len - 1 - i] ^ last);
        *good &= mask_equal(wrong, 0);
    }
    return *good & (last + 1);
}

/* Turns the ring of n bytes so that byte number `first`, which is secret, becomes number 0: by 1,
 * 2, 4, ... places where the number has that bit. */
static void turn(uint8_t *ring, size_t n, size_t first)
{
    uint8_t turned[MAX_MAC];
    for (size_t step = 1; step < n; step <<= 1) {
        size_t apply = ~mask_equal(first & step, 0);
        for (size_t i = 0; i < n; i++)
            turned[i] = ring[(i + step) % n];
        for (size_t i = 0; i < n; i++)
            ring[i] = (uint8_t)select_by(apply, turned[i], ring[i]);
    }
    tr_cleanse(turned, sizeof(turned));
}

/* Copies the n bytes before `end`, which is secret, but at least len - MAX_PADDING: reads all bytes
 * where they can be, as a ring. */
static void copy_mac(uint8_t *mac, size_t n, const uint8_t *record, size_t len, size_t end)
{
    size_t from = len > MAX_PADDING + n ? len - MAX_PADDING - n : 0;
    size_t first = 0, place = 0;
    memset(mac, 0, n);
    for (size_t i = from; i < len; i++) {
        size_t inside = ~mask_less(i, end - n) & mask_less(i, end);
        first |= mask_equal(i, end - n) & place;
        mac[place] |= (uint8_t)(inside & record[i]);
        place = place + 1 == n ? 0 : place + 1;
    }
    turn(mac, n, first);
}

/* The explicit IV that a record of this version begins with; -1 if there is no such version. */
static int explicit_iv(unsigned version)
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

int trp_tls_open(unsigned version, const uint8_t *record, size_t len, uint8_t *mac, size_t mac_size,
                 struct trp_tls_opened *opened)
{
    uint8_t random[MAX_MAC];
    size_t good;
    int skip = explicit_iv(version);
    opened->has_mac = 0;
    opened->reason = "the record is too short for its padding and MAC";
    if (skip < 0)
        opened->reason = "no such version of TLS";
    if (skip < 0 || mac_size > MAX_MAC || len < (size_t)skip + mac_size + 1)
        return 0;
    record += skip;
    len -= (size_t)skip;

    size_t end = len - padding_of(version, record, len, mac_size, &good);
    if (mac_size == 0) {
        /* Encrypt-then-MAC: the record was verified before, its padding is no secret. */
        opened->len = end;
        opened->reason = "the padding is wrong";
        return good != 0;
    }

    opened->reason = "no random bytes for a wrong MAC";
    if (!trp_random(random, mac_size))
        return 0;
    copy_mac(mac, mac_size, record, len, end);
    for (size_t i = 0; i < mac_size; i++)
        mac[i] = (uint8_t)select_by(good, mac[i], random[i]);
    tr_cleanse(random, sizeof(random));
    opened->len = end - mac_size;
    opened->has_mac = 1;
    return 1;
}
