/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves the code for padding and MAC of TLS records (openssl/provider/tls_record.c): it stays
 * within the record and the MAC, and finds the same payload length and MAC as the simple code
 * of open_one(). The proofs cover SSL 3.0, TLS 1.0 and TLS 1.2, with all contents of records of 32
 * or 48 bytes and MACs of 0, 20 or 32. The errors are proved for all lengths and versions.
 *
 * proof_open_tls1 detects this mutation: `last + 2 + mac_size` for `last + 1 + mac_size` in
 * tls_padding_of().
 *
 * CBMC: --max-field-sensitivity-array-size 400 --unwind 82
 */
#include <string.h>

#define LONGEST 48u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    (void)op;
    return stub_plain(aes, out, in, blocks, state);
}

#include "../../openssl/provider/tls_record.c"

static uint8_t record_memory[LONGEST], before[LONGEST], mac_memory[MAX_MAC];
static uint8_t substitute[TRP_TLS_MAC];

/* Whether the padding of the n bytes at `p` is right. Sets *padding to the length of the padding,
 * including the length byte. */
static bool right_padding(unsigned version, const uint8_t *p, size_t n, size_t mac_size,
                          size_t *padding)
{
    *padding = (size_t)p[n - 1] + 1;
    if (*padding + mac_size > n || (version == SSL3_VERSION && *padding > TR_BLOCK))
        return false;
    for (size_t i = 0; version != SSL3_VERSION && i < n; i++)
        if (i < *padding && p[n - 1 - i] != p[n - 1])
            return false;
    return true;
}

static size_t skipped(unsigned version)
{
    return version == SSL3_VERSION || version == TLS1_VERSION ? 0 : TR_BLOCK;
}

static void fill(void)
{
    __CPROVER_havoc_object(substitute);
    __CPROVER_havoc_object(record_memory);
    __CPROVER_havoc_object(mac_memory);
    memcpy(before, record_memory, LONGEST);
}

/* Opens a record. CBMC knows the arguments as constants. Record and MAC end where their objects
 * end. */
static void open_one(unsigned version, size_t len, size_t mac_size)
{
    size_t payload;
    const size_t skip = skipped(version);
    const uint8_t *record = record_memory + LONGEST - len;
    uint8_t *mac = mac_memory + MAX_MAC - mac_size;
    size_t padding = 0;
    fill();
    const bool possible = len >= skip + mac_size + 1;
    const bool right =
        possible && right_padding(version, record + skip, len - skip, mac_size, &padding);
    const bool ok = trp_tls_open(version, record, len, mac, mac_size, substitute, &payload) == NULL;
    assert(memcmp(record_memory, before, LONGEST) == 0);
    assert(ok == (possible && (mac_size != 0 || right)));
    if (!ok)
        return;
    assert(payload == len - skip - mac_size - (right ? padding : 0));
    const size_t j = any_up_to(MAX_MAC - 1);
    if (j < mac_size)
        assert(mac[j] == (right ? record[skip + payload + j] : substitute[j]));
}

/* The lengths of each proof are constants, because CBMC is then faster. */
void proof_open_ssl3(void)
{
    open_one(SSL3_VERSION, 32, 20);
}
void proof_open_tls1(void)
{
    open_one(TLS1_VERSION, 32, 20);
}
void proof_open_tls1_long(void)
{
    open_one(TLS1_VERSION, 48, 32);
}
void proof_open_tls12(void)
{
    open_one(TLS1_2_VERSION, 48, 20);
}
void proof_open_without_mac(void)
{
    open_one(TLS1_2_VERSION, 48, 0);
}

/* Proves that impossible lengths and unknown versions are refused, and nothing is written. */
void proof_refused(void)
{
    size_t payload;
    const unsigned version = nondet_unsigned();
    const size_t mac_size = nondet_size(), len = nondet_size();
    const int iv = tls_explicit_iv(version);
    assert(iv == -1 || iv == (int)skipped(version));
    ASSUME(iv == -1 || mac_size > MAX_MAC || len < (size_t)iv + mac_size + 1);
    assert(trp_tls_open(version, NULL, len, NULL, mac_size, NULL, &payload) != NULL);
}

void proof_pad(void)
{
    const unsigned version = nondet_bool() ? SSL3_VERSION : TLS1_2_VERSION;
    const size_t len = any_up_to(LONGEST - TR_BLOCK);
    const size_t padded = len / TR_BLOCK * TR_BLOCK + TR_BLOCK;
    uint8_t *record = record_memory + LONGEST - padded;
    ASSUME(padded <= LONGEST);
    __CPROVER_havoc_object(record_memory);
    memcpy(before, record_memory, LONGEST);
    assert(trp_tls_pad(version, record, len) == padded);
    const size_t i = any_up_to(LONGEST - 1);
    const uint8_t *p = record_memory + i;
    if (p >= record + len) /* RFC 5246 section 6.2.3.2; SSL 3.0 allows any padding bytes */
        assert(*p == padded - len - 1 || (version == SSL3_VERSION && p + 1 != record + padded));
    else
        assert(*p == before[i]);
}
