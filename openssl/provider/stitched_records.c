/* SPDX-License-Identifier: BSD-2-Clause */
/* TLS records of AES-CBC-HMAC. Sealing interleaves hash and encryption if the processor has SHA and
 * AES instructions. Opening takes constant time. */
#include "dispatch/backend.h"
#include "stitched.h"
#include "tls_record.h"
#include "util.h"

#include <openssl/prov_ssl.h>

#define HEADER           5u
#define MAX_PADDING      256u
/* The length of the explicit IV at the start of a record's data. When sealing, payload_len includes
 * the explicit IV. */
#define EXPLICIT_IV(aad) (((aad)[9] << 8 | (aad)[10]) >= TLS1_1_VERSION ? TR_BLOCK : 0)

/* ---- HMAC ------------------------------------------------------------------------------------ */

static void stitched_pad_key(const struct trossl_sha_code *code, struct trossl_sha *sha,
                             const uint8_t key[TROSSL_SHA_BLOCK], uint8_t with)
{
    uint8_t block[TROSSL_SHA_BLOCK];
    for (size_t i = 0; i < TROSSL_SHA_BLOCK; i++)
        block[i] = key[i] ^ with;
    trossl_sha_begin(code, sha);
    trossl_sha_update(code, sha, block, sizeof(block));
    tr_cleanse(block, sizeof(block));
}

void trp_stitched_mac_key(struct trp_stitched *c, const uint8_t *key, size_t len)
{
    uint8_t block[TROSSL_SHA_BLOCK] = {0};
    if (len > sizeof(block)) {
        trossl_sha_begin(c->sha, &c->head);
        trossl_sha_update(c->sha, &c->head, key, len);
        trossl_sha_end(c->sha, &c->head, block);
    } else if (len != 0) {
        memcpy(block, key, len);
    }
    stitched_pad_key(c->sha, &c->head, block, 0x36);
    stitched_pad_key(c->sha, &c->tail, block, 0x5c);
    tr_cleanse(block, sizeof(block));
}

/* ---- Sealing --------------------------------------------------------------------------------- */

/*
 * A record that is being sealed. The buffer `out` holds the ciphertext of the first `done` bytes of
 * `in`. The `left` bytes from `hashed` on are still to be hashed.
 *
 * Hashing is at least 51 bytes ahead of encryption, because the first 64-byte hash block has 13
 * bytes of AAD and 51 bytes of payload. In each step, interleaved code loads the next 64 bytes to
 * hash, then stores 64 bytes of ciphertext. So in-place encryption overwrites only bytes that the
 * hash has loaded.
 */
struct sealing {
    struct trp_stitched *c;
    uint8_t *iv, *out;
    const uint8_t *in, *hashed;
    size_t len, done, left;
    struct trossl_sha md;
};

/* Begins a record and hashes its AAD. The first `skip` bytes of `in` are the explicit IV, which is
 * not hashed. */
static struct sealing stitched_sealing(struct trp_stitched *c, const uint8_t *aad, uint8_t *iv,
                                       uint8_t *out, const uint8_t *in, size_t len, size_t skip)
{
    struct sealing s = {.c = c,
                        .iv = iv,
                        .out = out,
                        .in = in,
                        .hashed = in + skip,
                        .len = len,
                        .left = len - skip,
                        .md = c->head};
    trossl_sha_update(c->sha, &s.md, aad, TRP_AAD);
    return s;
}

static void stitched_hash(struct sealing *s, size_t n)
{
    trossl_sha_update(s->c->sha, &s->md, s->hashed, n);
    s->hashed += n;
    s->left -= n;
}

/* Whether this hash has interleaved code, and the backend for CBC uses AES instructions. */
static int stitched_has_interleaved(const struct trp_stitched *c)
{
    const struct tr_aes_key *key = &c->base.key;
    return c->sha->cbc_interleaved != NULL &&
           (tr_backend_doing(key->backend, TR_OP_CBC_ENCRYPT)->features & TR_FEATURE_AES) != 0;
}

/* The number of whole 64-byte blocks still to hash after the block that begins with the AAD. */
static size_t stitched_whole_blocks(const struct sealing *s)
{
    size_t first = TROSSL_SHA_BLOCK - s->md.len % TROSSL_SHA_BLOCK;
    return s->left > first ? (s->left - first) / TROSSL_SHA_BLOCK : 0;
}

/* Hashes and encrypts one record, or two records at once, with interleaved code. Stops after the
 * last whole hash block of the shorter record. */
static void stitched_seal_interleaved(struct sealing *s, unsigned records)
{
    const struct tr_aes_key *key = &s->c->base.key;
    struct trossl_interleaved b[2];
    size_t n = stitched_whole_blocks(&s[0]);
    if (records == 2 && stitched_whole_blocks(&s[1]) < n)
        n = stitched_whole_blocks(&s[1]);
    if (n == 0 || !stitched_has_interleaved(s->c))
        return;
    for (unsigned i = 0; i < records; i++) {
        stitched_hash(&s[i], TROSSL_SHA_BLOCK - s[i].md.len % TROSSL_SHA_BLOCK);
        b[i] = (struct trossl_interleaved){s[i].iv, s[i].md.h, s[i].out, s[i].in, s[i].hashed};
    }
    s->c->sha->cbc_interleaved(key, b, records, n);
    for (unsigned i = 0; i < records; i++) {
        s[i].done = n * TROSSL_SHA_BLOCK;
        s[i].md.len += s[i].done;
        s[i].hashed += s[i].done;
        s[i].left -= s[i].done;
        tr_bulk_by_host(key, TR_OP_CBC_ENCRYPT, s[i].done / TR_BLOCK);
    }
}

/* Ends the hash. Interleaves the hash with encryption while `out` has at least 64 unencrypted
 * bytes. */
static void stitched_end_hash(struct sealing *s, uint8_t *digest)
{
    const struct tr_aes_key *key = &s->c->base.key;
    uint8_t last[2 * TROSSL_SHA_BLOCK];
    size_t n = trossl_sha_last(&s->md, last), i = 0;
    for (; i < n && stitched_has_interleaved(s->c) && s->len - s->done >= TROSSL_SHA_BLOCK; i++) {
        uint8_t *out = s->out + s->done;
        const struct trossl_interleaved b = {s->iv, s->md.h, out, out, last + i * TROSSL_SHA_BLOCK};
        s->c->sha->cbc_interleaved(key, &b, 1, 1);
        tr_bulk_by_host(key, TR_OP_CBC_ENCRYPT, TROSSL_SHA_BLOCK / TR_BLOCK);
        s->done += TROSSL_SHA_BLOCK;
    }
    if (i < n)
        s->c->sha->blocks(s->md.h, last + i * TROSSL_SHA_BLOCK, n - i);
    trossl_sha_digest(s->c->sha, s->md.h, digest);
    tr_cleanse(last, sizeof(last));
}

/* Hashes and encrypts the remaining payload, then appends and encrypts MAC and padding. Returns
 * whether that succeeded. */
static int stitched_seal_rest(struct sealing *s)
{
    const struct trossl_sha_code *sha = s->c->sha;
    uint8_t *mac = s->out + s->len, inner[TROSSL_SHA_MAX];
    stitched_hash(s, s->left);
    if (s->in != s->out)
        memmove(s->out + s->done, s->in + s->done, s->len - s->done);
    stitched_end_hash(s, inner);
    s->md = s->c->tail;
    trossl_sha_update(sha, &s->md, inner, sha->digest_len);
    stitched_end_hash(s, mac);
    size_t len = trp_tls_pad(TLS1_VERSION, s->out, s->len + sha->digest_len);
    uint8_t *rest = s->out + s->done;
    const int good = tr_cbc_encrypt(&s->c->base.key, s->iv, rest, rest, len - s->done) == TR_OK;
    tr_cleanse(&s->md, sizeof(s->md));
    tr_cleanse(inner, sizeof(inner));
    return good;
}

static size_t stitched_sealed_len(const struct trp_stitched *c, size_t len)
{
    return (len + c->sha->digest_len + TR_BLOCK) / TR_BLOCK * TR_BLOCK;
}

static int stitched_seal_record(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len,
                                size_t payload_len)
{
    size_t skip = EXPLICIT_IV(c->aad);
    if (len != stitched_sealed_len(c, payload_len) || payload_len < skip)
        return 0;
    struct sealing s =
        stitched_sealing(c, c->aad, c->base.cipher.core.iv, out, in, payload_len, skip);
    stitched_seal_interleaved(&s, 1);
    return stitched_seal_rest(&s);
}

/* ---- Several records ------------------------------------------------------------------------- */

struct trp_stitched_cut trp_stitched_cut(const struct trp_stitched *c, size_t len, size_t records)
{
    struct trp_stitched_cut cut = {.records = records, .each = len / records};
    cut.last = len - (records - 1) * cut.each;
    /* Like the default provider, moves one byte from the last record to each other record, if this
     * saves a hash block of the last record. */
    if (cut.last > cut.each && (cut.last + TRP_AAD + 9) % TROSSL_SHA_BLOCK < records - 1) {
        cut.each++;
        cut.last -= records - 1;
    }
    cut.packed = (records - 1) * (HEADER + TR_BLOCK + stitched_sealed_len(c, cut.each)) + HEADER +
                 TR_BLOCK + stitched_sealed_len(c, cut.last);
    return cut;
}

static void stitched_put16(uint8_t *p, size_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

size_t trp_stitched_seal_many(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len,
                              size_t records)
{
    const struct trp_stitched_cut cut = trp_stitched_cut(c, len, records);
    uint8_t ivs[8][TR_BLOCK];
    if (!trp_random(c->base.cipher.head.provider, ivs[0], records * TR_BLOCK))
        return 0;
    /* Seals two records at once, because their independent chains hide each other's latency. */
    for (size_t i = 0; i < records; i += 2) {
        struct sealing s[2];
        for (size_t j = 0; j < 2; j++, in += cut.each) {
            size_t n = i + j == records - 1 ? cut.last : cut.each;
            uint8_t aad[TRP_AAD];
            memcpy(aad, c->aad, sizeof(aad));
            tr_store64_be(aad, tr_load64_be(c->aad) + i + j);
            stitched_put16(aad + 11, n);
            memcpy(out, aad + 8, 3);
            stitched_put16(out + 3, TR_BLOCK + stitched_sealed_len(c, n));
            memcpy(out + HEADER, ivs[i + j], TR_BLOCK);
            s[j] = stitched_sealing(c, aad, ivs[i + j], out + HEADER + TR_BLOCK, in, n, 0);
            out += HEADER + TR_BLOCK + stitched_sealed_len(c, n);
        }
        stitched_seal_interleaved(s, 2);
        /* Makes both calls even if the first fails, because each cleanses its state. */
        const int first = stitched_seal_rest(&s[0]), second = stitched_seal_rest(&s[1]);
        if (!first || !second)
            return 0;
    }
    return cut.packed;
}

/* ---- Opening --------------------------------------------------------------------------------- */

size_t trp_stitched_verify(struct trp_stitched *c, const uint8_t *record, size_t len)
{
    const struct trossl_sha_code *sha = c->sha;
    const size_t most = len - sha->digest_len, least = most > MAX_PADDING ? most - MAX_PADDING : 0;
    uint8_t mac[TROSSL_SHA_MAX], expected[TROSSL_SHA_MAX];
    struct trossl_sha md = c->head;
    size_t good;
    size_t payload = trp_tls_split(TLS1_VERSION, record, len, mac, sha->digest_len, &good);
    stitched_put16(c->aad + 11, payload);
    trossl_sha_update(sha, &md, c->aad, TRP_AAD);
    trossl_sha_end_secret_len(sha, &md, record, payload, least, most, expected);
    md = c->tail;
    trossl_sha_update(sha, &md, expected, sha->digest_len);
    trossl_sha_end(sha, &md, expected);
    size_t wrong = ~good;
    for (size_t i = 0; i < sha->digest_len; i++)
        wrong |= (size_t)(mac[i] ^ expected[i]);
    __asm__("" : "+r"(wrong)); /* keeps the compiler from leaving the loop early */
    tr_cleanse(&md, sizeof(md));
    tr_cleanse(mac, sizeof(mac));
    tr_cleanse(expected, sizeof(expected));
    return wrong;
}

static int stitched_open_record(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len)
{
    struct tr_cipher *core = &c->base.cipher.core;
    size_t skip = EXPLICIT_IV(c->aad);
    int fits = len >= skip + c->sha->digest_len + 1;
    /* As in the default provider, the use of the explicit IV depends on the cipher. With SHA-1, the
     * explicit IV becomes the IV of CBC. With SHA-256, it is decrypted like data. */
    int is_sha1 = c->sha->digest_len == 20;
    size_t from = is_sha1 ? skip : 0;
    if (!fits && is_sha1)
        return 0;
    if (from != 0)
        memcpy(core->iv, in, TR_BLOCK);
    const enum tr_status status =
        tr_cbc_decrypt(core->key, core->iv, out + from, in + from, len - from);
    if (status == TR_OK && fits && trp_stitched_verify(c, out + skip, len - skip) == 0)
        return 1;
    tr_cleanse(out, len);
    return 0;
}

int trp_stitched_crypt(struct trp_stitched *c, uint8_t *out, const uint8_t *in, size_t len)
{
    struct tr_cipher *core = &c->base.cipher.core;
    size_t payload_len = c->payload_len;
    c->payload_len = TRP_NO_PAYLOAD;
    if (len % TR_BLOCK != 0 || tr_bad_overlap(out, in, len))
        return 0;
    if (payload_len != TRP_NO_PAYLOAD)
        return core->decrypt ? stitched_open_record(c, out, in, len)
                             : stitched_seal_record(c, out, in, len, payload_len);
    return (core->decrypt ? tr_cbc_decrypt(core->key, core->iv, out, in, len)
                          : tr_cbc_encrypt(core->key, core->iv, out, in, len)) == TR_OK;
}
