/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the modes at their limits, and just below and above them. The limits are largest lengths,
 * counter wraps, long calls, and positions that a message reaches after gigabytes. For positions
 * that calls cannot reach in time, the test sets the message's state by hand. */
#include "common.h"

#include "modes/xts.h"

#include <limits.h>

/* The length of the buffers in bytes: 1536 blocks. The code for long calls repeats its steps every
 * 256 blocks in GCM and CTR, and every 768 blocks in XTS on YMM. The length is above both. */
#define LONG 24576u

static struct tap_random rng;
static uint8_t text[LONG], expected[LONG], got[LONG], raw[64];
static const uint8_t iv[16] = "sixteen bytes..";

/* ---- Lengths ---- */

#if SIZE_MAX > 0xffffffff
/* Whether GCM limits the length of the message, and not only of one call. */
static bool gcm_length(const struct tr_backend *b)
{
    struct tr_gcm_key key;
    struct tr_gcm g;
    bool good = tr_gcm_set_key(&key, b, raw, 16) == TR_OK;
    for (int decrypt = 0; decrypt < 2; decrypt++) {
        enum tr_status (*crypt)(struct tr_gcm *, uint8_t *, const uint8_t *, size_t) =
            decrypt ? tr_gcm_decrypt : tr_gcm_encrypt;
        good = good && tr_gcm_start(&g, &key, iv, 12) == TR_OK && crypt(&g, got, text, 16) == TR_OK;
        g.len = 0xfffffffe0 - 32;
        good = good && crypt(&g, got, text, 33) == TR_ERR_LENGTH &&
               crypt(&g, got, text, 32) == TR_OK && crypt(&g, got, text, 1) == TR_ERR_LENGTH;
    }
    return good;
}
#else
static bool gcm_length(const struct tr_backend *b)
{
    return (void)b, true; /* size_t cannot hold such a length */
}
#endif

/* Whether CCM refuses exactly the messages that are too long for their length field. The field has
 * 15 - n bytes for a nonce of n bytes. */
static bool ccm_length(const struct tr_backend *b)
{
    struct tr_ccm_key key;
    struct tr_ccm c;
    bool good = tr_ccm_set_key(&key, b, raw, 16) == TR_OK;
    for (unsigned n = 7; n <= 13; n++) {
        const unsigned bits = 8 * (15 - n);
        const uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
        good = good && tr_ccm_start(&c, &key, iv, n, 16, 0, most) == TR_OK &&
               (bits == 64 || tr_ccm_start(&c, &key, iv, n, 16, 0, most + 1) == TR_ERR_LENGTH);
    }
    return good;
}

/* Whether CCM's tag equals a CBC-MAC over the blocks as the standard formats them. AAD from 0xff00
 * bytes on has a longer length field (SP 800-38C appendix A.2.2). */
static bool ccm_aad(const struct tr_backend *b, size_t len)
{
    static uint8_t blocks[0xff01 + 48], aad[0xff01];
    const size_t field = len < 0xff00 ? 2 : 6;
    const size_t n = (16 + field + len + 15) / 16 * 16;
    struct tr_ccm_key key;
    struct tr_aes_key aes;
    uint8_t tag[16], mask[16] = {1}, chain[16] = {0};
    memset(blocks, 0, sizeof(blocks));
    tap_fill(&rng, aad, len);
    blocks[0] = 0x40 | 7 << 3 | 1; /* AAD, a 16-byte tag, a 2-byte length field */
    memcpy(blocks + 1, iv, 13);
    memcpy(mask + 1, iv, 13);
    if (field == 6)
        memcpy(blocks + 16, "\xff\xfe\0", 4);
    blocks[16 + field - 2] = (uint8_t)(len >> 8);
    blocks[16 + field - 1] = (uint8_t)len;
    memcpy(blocks + 16 + field, aad, len);
    if (tr_aes_set_key(&aes, &tr_bitslice, raw, 16) != TR_OK ||
        tr_cbc_encrypt(&aes, chain, blocks, blocks, n) != TR_OK ||
        tr_ecb_encrypt(&aes, mask, mask, 16) != TR_OK ||
        tr_ccm_set_key(&key, b, raw, 16) != TR_OK ||
        tr_ccm_seal(&key, iv, 13, aad, len, NULL, NULL, 0, tag, 16) != TR_OK)
        return false;
    for (unsigned i = 0; i < 16; i++)
        chain[i] ^= mask[i];
    return tap_same(tag, chain, 16);
}

/* Whether SIV accepts 126 AAD components, and refuses the next one, also in the next message with
 * the same AAD. */
static bool siv_components(const struct tr_backend *b)
{
    struct tr_siv_key key;
    struct tr_siv s;
    bool good = tr_siv_set_key(&key, b, raw, 32) == TR_OK && tr_siv_start(&s, &key) == TR_OK;
    for (unsigned i = 0; i < 126; i++)
        good = good && tr_siv_aad(&s, text, i % 3) == TR_OK;
    good = good && tr_siv_aad(&s, text, 1) == TR_ERR_LENGTH &&
           tr_siv_encrypt(&s, got, text, 1, got + 16) == TR_OK && tr_siv_again(&s) == TR_OK;
    return good && tr_siv_aad(&s, text, 1) == TR_ERR_LENGTH; /* the components are kept */
}

/* ---- CFB with short segments, ciphertext stealing ---- */

/* Whether one call gives the same output and last IV as calls of one segment (byte or bit) each. */
static bool segments(const struct tr_backend *b, bool bits)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    bool good = true;
    for (size_t n = 1; good && n <= 200; n++) {
        for (int decrypt = 0; decrypt < 2; decrypt++) {
            uint8_t whole[16], single[16];
            memcpy(whole, iv, 16);
            memcpy(single, iv, 16);
            memset(expected, 0, 256);
            memset(got, 0, 256);
            for (size_t i = 0; good && i < n; i++) {
                uint8_t in = bits ? (uint8_t)(text[i / 8] << i % 8) : text[i], out = 0;
                good = (bits ? (decrypt ? tr_cfb1_decrypt : tr_cfb1_encrypt)
                             : (decrypt ? tr_cfb8_decrypt : tr_cfb8_encrypt))(&key, single, &out,
                                                                              &in, 1) == TR_OK;
                expected[bits ? i / 8 : i] |= bits ? (uint8_t)((out & 0x80) >> i % 8) : out;
            }
            good = good &&
                   (bits ? (decrypt ? tr_cfb1_decrypt : tr_cfb1_encrypt)
                         : (decrypt ? tr_cfb8_decrypt : tr_cfb8_encrypt))(&key, whole, got, text,
                                                                          n) == TR_OK &&
                   tap_same(got, expected, 256) && tap_same(whole, single, 16);
        }
    }
    return good;
}

/* Whether CFB1's overlap check includes a last partial byte. */
static bool cfb1_overlap(const struct tr_backend *b)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    uint8_t memory[40] = {0}, chain[16] = {0};
    bool good = true;
    for (size_t bytes = 1; bytes < 8; bytes++) {
        const size_t bits = 8 * bytes + 1 + bytes % 7;
        uint8_t *const in = memory + 16;
        good = good && tr_cfb1_encrypt(&key, chain, in + bytes, in, bits) == TR_ERR_OVERLAP &&
               tr_cfb1_decrypt(&key, chain, in + bytes, in, bits) == TR_ERR_OVERLAP &&
               tr_cfb1_encrypt(&key, chain, in + bytes + 1, in, bits) == TR_OK;
    }
    return good;
}

/* Whether encryption and decryption leave the same IV. */
static bool stealing_iv(const struct tr_backend *b)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    bool good = true;
    for (int form = TR_CS1; form <= TR_CS3; form++) {
        for (size_t len = 16; good && len <= 100; len++) {
            uint8_t one[16], other[16];
            memcpy(one, iv, 16);
            memcpy(other, iv, 16);
            good = tr_cbc_cts_encrypt(&key, (enum tr_cts)form, one, got, text, len) == TR_OK &&
                   tr_cbc_cts_decrypt(&key, (enum tr_cts)form, other, got, got, len) == TR_OK &&
                   tap_same(got, text, len) && tap_same(one, other, 16);
        }
    }
    return good;
}

/* ---- Flags ---- */

/* Values of an int that mean "true". The last one has a low byte of 0. */
static const int truths[] = {1, 2, -1, INT_MIN, 256};

/* Whether a data unit of XTS is right if it is decrypted with this value of `decrypt`. */
static bool xts_decrypts(const struct tr_xts_key *x, int decrypt, size_t len)
{
    const size_t rest = len % 16, whole = len / 16 - (rest != 0);
    struct tr_xts_run run = {.key = &x->tweak, .unit = iv};
    if (tr_xts_encrypt(x, iv, expected, text, len) != TR_OK)
        return false;
    tr_xts_blocks(&x->data, decrypt, got, expected, whole, &run);
    if (rest != 0)
        tr_xts_steal(&x->data, decrypt, got + 16 * whole, expected + 16 * whole, rest, &run);
    return tap_same(got, text, len);
}

/* Whether key wrap uses the same direction of the cipher with this value of `inverse` as with 1. */
static bool wraps_inversely(const struct tr_aes_key *key, int inverse)
{
    size_t n = 0;
    return tr_kw_wrap(key, 1, NULL, expected, text, 32) == TR_OK &&
           tr_kw_wrap(key, inverse, NULL, got, text, 32) == TR_OK && tap_same(got, expected, 40) &&
           tr_kw_unwrap(key, inverse, NULL, got, expected, 40) == TR_OK &&
           tap_same(got, text, 32) && tr_kwp_wrap(key, 1, NULL, expected, text, 30) == TR_OK &&
           tr_kwp_wrap(key, inverse, NULL, got, text, 30) == TR_OK && tap_same(got, expected, 40) &&
           tr_kwp_unwrap(key, inverse, NULL, got, &n, expected, 40) == TR_OK && n == 30 &&
           tap_same(got, text, 30);
}

/* Whether each non-zero flag has the effect of 1. */
static bool flags(const struct tr_backend *b)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    struct tr_xts_key x;
    bool good = tr_xts_set_key(&x, b, raw, 32) == TR_OK;
    for (size_t i = 0; good && i < sizeof(truths) / sizeof(*truths); i++) {
        struct tr_cipher one, other;
        memset(&one, 0, sizeof(one)); /* also the bytes between the fields */
        memset(&other, 0, sizeof(other));
        good = tr_cipher_start(&one, &key, TR_CBC, 1, 1, iv) == TR_OK &&
               tr_cipher_start(&other, &key, TR_CBC, truths[i], truths[i], iv) == TR_OK &&
               tap_same(&one, &other, sizeof(one)) && wraps_inversely(&key, truths[i]);
        for (size_t len = 16; good && len < 100; len++)
            good = xts_decrypts(&x, truths[i], len);
        if (!good)
            tap_diag("a flag of %d does not work as 1", truths[i]);
    }
    return good;
}

/* ---- struct tr_cipher ---- */

/* Whether an update is right at each distance of output and input. It must be refused and change
 * nothing, or give the same bytes as with separate buffers. The object already buffers `first`
 * bytes. */
static bool update_overlaps(const struct tr_aes_key *key, bool decrypt, size_t first, size_t len)
{
    bool good = true;
    for (int shift = -40; good && shift <= 40; shift++) {
        uint8_t memory[200], before[200], apart[96];
        struct tr_cipher a, c;
        size_t n = 0, m = 0;
        memcpy(memory, text, sizeof(memory));
        memcpy(before, memory, sizeof(memory));
        uint8_t *const in = memory + 60, *const out = in + shift;
        good = tr_cipher_start(&a, key, TR_CBC, decrypt, 0, iv) == TR_OK &&
               tr_cipher_update(&a, apart, &n, text, first) == TR_OK && n == 0;
        c = a;
        good = good && tr_cipher_update(&a, apart, &n, in, len) == TR_OK;
        const enum tr_status status = tr_cipher_update(&c, out, &m, in, len);
        good = good && (status == TR_OK ? m == n && tap_same(out, apart, n)
                                        : status == TR_ERR_OVERLAP && m == 0 &&
                                              tap_same(memory, before, sizeof(memory)));
        /* Output that never runs ahead of the input must be accepted. */
        if (shift <= -(int)first || shift >= (int)len || n == 0)
            good = good && status == TR_OK;
        if (!good)
            tap_diag("%zu bytes buffered, update of %zu bytes, output %d bytes after the input",
                     first, len, shift);
    }
    return good;
}

static bool all_overlaps(const struct tr_backend *b)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    bool good = true;
    for (size_t first = 0; good && first < 16; first++)
        for (size_t len = 1; good && len <= 64; len++)
            good = update_overlaps(&key, first % 2, first, len);
    return good;
}

/* Whether, after final(), the object begins a new message whose IV is the last ciphertext block. */
static bool after_final(const struct tr_backend *b)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    bool good = true;
    for (size_t len = 0; good && len < 40; len++) {
        struct tr_cipher c;
        uint8_t chain[16];
        size_t n = 0, last = 0, more = 0;
        good = tr_cipher_start(&c, &key, TR_CBC, 0, 1, iv) == TR_OK &&
               tr_cipher_update(&c, got, &n, text, len) == TR_OK &&
               tr_cipher_final(&c, got + n, &last) == TR_OK && last == 16;
        memcpy(chain, got + n, 16);
        good = good && tr_cbc_encrypt(&key, chain, expected, text, 32) == TR_OK &&
               tr_cipher_update(&c, got, &more, text, 32) == TR_OK && more == 32 &&
               tap_same(got, expected, 32);
    }
    return good;
}

/* ---- Counters, and long calls, against bitslice ---- */

/* Whether CTR equals bitslice if the low 32, 40, 48, 56 or 64 bits of the counter wrap. They wrap
 * within a long call, or at the end of a short one. */
static bool counters(const struct tr_backend *b)
{
    const struct tr_aes_key key = key_for(b, raw, 16), plain = key_for(&tr_bitslice, raw, 16);
    bool good = true;
    for (unsigned bytes = 4; bytes <= 8; bytes++) {
        for (unsigned before = 1; good && before <= 600; before += before < 20 ? 1 : 97) {
            const size_t blocks = before < 20 ? before : 1000;
            uint8_t start[16], one[16], other[16], keystream[16];
            unsigned used = 0;
            memcpy(start, iv, 16);
            memset(start + 16 - bytes, 0xff, bytes);
            start[14] = (uint8_t)(0xff - (before - 1) / 256);
            start[15] = (uint8_t)(0xff - (before - 1) % 256);
            memcpy(one, start, 16);
            memcpy(other, start, 16);
            good = tr_ctr(&key, one, keystream, &used, got, text, 16 * blocks) == TR_OK &&
                   tr_ctr(&plain, other, keystream, &used, expected, text, 16 * blocks) == TR_OK &&
                   tap_same(got, expected, 16 * blocks) && tap_same(one, other, 16);
        }
    }
    return good;
}

/* Whether a long GCM call is right if it begins at a multiple of 8 blocks, up to block 320. */
static bool gcm_after(const struct tr_backend *b)
{
    struct tr_gcm_key key, plain;
    struct tr_gcm g;
    uint8_t tag[16], tags[16];
    bool good = tr_gcm_set_key(&key, b, raw, 16) == TR_OK &&
                tr_gcm_set_key(&plain, &tr_bitslice, raw, 16) == TR_OK &&
                tr_gcm_seal(&plain, iv, 12, NULL, 0, expected, text, LONG, tag, 16) == TR_OK;
    for (size_t first = 0; good && first <= 320 * 16; first += 8 * 16)
        good = tr_gcm_start(&g, &key, iv, 12) == TR_OK &&
               tr_gcm_encrypt(&g, got, text, first) == TR_OK &&
               tr_gcm_encrypt(&g, got + first, text + first, LONG - first) == TR_OK &&
               tr_gcm_tag(&g, tags, 16) == TR_OK && tap_same(got, expected, LONG) &&
               tap_same(tags, tag, 16);
    return good;
}

/* Whether many GCM messages of one shape equal bitslice's where the code for them begins and ends:
 * 1 to 2048 bytes of data, to 64 of AAD, from 8 messages on. */
static bool gcm_many(const struct tr_backend *b)
{
    enum { MOST = 11, ROOM = 2049 };
    static const size_t lengths[] = {0, 1, 16, 17, 64, 65, 2047, 2048, 2049},
                        aads[] = {0, 63, 64, 65};
    static struct tr_gcm_key keys[2], plain;
    static uint8_t out[MOST][ROOM];
    uint8_t tags[MOST][16], tag[16];
    struct tr_gcm_job jobs[MOST];
    bool good = tr_gcm_set_key(&keys[0], b, raw, 16) == TR_OK &&
                tr_gcm_set_key(&plain, &tr_bitslice, raw, 16) == TR_OK;
    keys[1] = keys[0];
    for (size_t at = 0; good && at < 2 * 9 * 4; at++) {
        const size_t len = lengths[at / 4 % 9], aad = aads[at % 4], own_keys = at / 36;
        for (size_t count = 7; good && count <= MOST; count++) {
            for (size_t i = 0; i < count; i++)
                jobs[i] = (struct tr_gcm_job){&keys[own_keys * i % 2],
                                              text + i,
                                              12,
                                              text,
                                              aad,
                                              out[i],
                                              text + i,
                                              len,
                                              tags[i],
                                              16,
                                              TR_OK};
            good = tr_gcm_seal_many(jobs, count) == TR_OK;
            for (size_t i = 0; good && i < count; i++)
                good = tr_gcm_seal(&plain, text + i, 12, text, aad, got, text + i, len, tag, 16) ==
                           TR_OK &&
                       tap_same(out[i], got, len) && tap_same(tags[i], tag, 16);
        }
        if (!good)
            tap_diag("%zu bytes, %zu of AAD, %zu keys", len, aad, 1 + own_keys);
    }
    return good;
}

/* Whether XTS data units of 700 to 1533 blocks, most of them ragged, equal bitslice's in both
 * directions. A call for one unit and a call for many take different code on some processors. */
static bool long_units(const struct tr_backend *b)
{
    struct tr_xts_key key, plain;
    bool good = tr_xts_set_key(&key, b, raw, 32) == TR_OK &&
                tr_xts_set_key(&plain, &tr_bitslice, raw, 32) == TR_OK;
    for (size_t len = 700 * 16; good && len <= LONG; len += 16 * 83 + 5)
        good = tr_xts_encrypt(&plain, iv, expected, text, len) == TR_OK &&
               tr_xts_encrypt(&key, iv, got, text, len) == TR_OK && tap_same(got, expected, len) &&
               tr_xts_decrypt(&key, iv, got, got, len) == TR_OK && tap_same(got, text, len) &&
               tr_xts_encrypt_units(&key, iv, got, text, len, 1) == TR_OK &&
               tap_same(got, expected, len) &&
               tr_xts_decrypt_units(&key, iv, got, got, len, 1) == TR_OK &&
               tap_same(got, text, len);
    return good;
}

/* ---- OCB after many blocks ---- */

static void doubled(uint8_t x[16])
{
    const unsigned carry = x[0] >> 7;
    for (unsigned i = 0; i < 15; i++)
        x[i] = (uint8_t)(x[i] << 1 | x[i + 1] >> 7);
    x[15] = (uint8_t)(x[15] << 1 ^ (carry ? 0x87 : 0));
}

/* Whether OCB is right around block `middle`, a multiple of a large power of two. The test sets the
 * block index in the message, and computes the offsets by the definition (RFC 7253 section 4.2).
 * There, L_0 is E(0) doubled twice. */
static bool ocb_around(const struct tr_backend *b, uint64_t middle, bool decrypt)
{
    enum { BLOCKS = 160 };
    const struct tr_aes_key aes = key_for(&tr_bitslice, raw, 16);
    struct tr_ocb_key key;
    struct tr_ocb o;
    uint8_t l_0[16] = {0}, offset[16];
    bool good = tr_ocb_set_key(&key, b, raw, 16) == TR_OK &&
                tr_ocb_start(&o, &key, iv, 12, 16) == TR_OK &&
                tr_ecb_encrypt(&aes, l_0, l_0, 16) == TR_OK;
    doubled(l_0);
    doubled(l_0);
    memcpy(offset, o.run.offset, 16);
    o.run.index = middle - BLOCKS / 2;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        uint8_t l[16], *const block = expected + 16 * i;
        memcpy(l, l_0, 16);
        for (uint64_t n = o.run.index + 1 + i; n % 2 == 0; n /= 2)
            doubled(l);
        for (unsigned j = 0; j < 16; j++)
            block[j] = text[16 * i + j] ^ (offset[j] ^= l[j]);
        good = good && (decrypt ? tr_ecb_decrypt : tr_ecb_encrypt)(&aes, block, block, 16) == TR_OK;
        for (unsigned j = 0; j < 16; j++)
            block[j] ^= offset[j];
    }
    return good &&
           (decrypt ? tr_ocb_decrypt : tr_ocb_encrypt)(&o, got, text, 16 * BLOCKS) == TR_OK &&
           tap_same(got, expected, 16 * BLOCKS);
}

static bool ocb_far(const struct tr_backend *b)
{
    bool good = true;
    for (unsigned n = 7; good && n < 63; n += n < 20 ? 1 : 7)
        good =
            ocb_around(b, (uint64_t)1 << n, n % 2) && ocb_around(b, (uint64_t)3 << (n - 1), false);
    return good;
}

static bool aad_lengths(const struct tr_backend *b)
{
    return ccm_aad(b, 0xfeff) && ccm_aad(b, 0xff00) && ccm_aad(b, 0xff01);
}
static bool bytes(const struct tr_backend *b)
{
    return segments(b, false);
}
static bool bits(const struct tr_backend *b)
{
    return segments(b, true) && cfb1_overlap(b);
}

static const struct {
    const char *what;
    bool (*holds)(const struct tr_backend *);
} tests[] = {
    {"GCM limits the length of a message over several calls", gcm_length},
    {"CCM limits the length of a message by the nonce length", ccm_length},
    {"CCM formats AAD of about 0xff00 bytes as the standard does", aad_lengths},
    {"SIV accepts 126 AAD components and no more", siv_components},
    {"CFB8: one call equals calls of one byte each", bytes},
    {"CFB1: one call equals calls of one bit each; refuses an overlap in the last byte", bits},
    {"ciphertext stealing leaves the same IV in both directions", stealing_iv},
    {"the flags `decrypt`, `padding` and `inverse` are true if they are not 0", flags},
    {"struct tr_cipher is right for any overlap with bytes in the buffer", all_overlaps},
    {"struct tr_cipher begins a new message after final()", after_final},
    {"CTR carries beyond the low 32 to 64 bits", counters},
    {"GCM: a long call is right anywhere in the message", gcm_after},
    {"GCM: many messages are right where the code for them begins and ends", gcm_many},
    {"XTS is right for long data units", long_units},
    {"OCB is right around multiples of large powers of two", ocb_far},
};
#define TESTS (sizeof(tests) / sizeof(*tests))

int main(void)
{
    const struct tr_backend *b;
    tap_plan(backend_count() * (unsigned)TESTS);
    rng = tap_random(0);
    tap_fill(&rng, text, sizeof(text));
    tap_fill(&rng, raw, sizeof(raw));
    for (unsigned n = 0; (b = tr_backend_at(n)) != NULL; n++) {
        if (backend_skip(b, (unsigned)TESTS))
            continue;
        for (size_t i = 0; i < TESTS; i++)
            tap_ok(tests[i].holds(b), "%s: %s", tr_backend_name(b), tests[i].what);
    }
    return tap_done();
}
