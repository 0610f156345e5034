/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that calls leave no secret value on the stack, in two ways.
 *
 * First, it counts bytes. Each call runs on a cleared stack under one key, then under another that
 * differs in every byte, with the same text and IV. A byte that differs between both runs depends
 * on the key. At most `most` bytes may, without ciphertext: the compiler may spill registers. In
 * 64-bit code, every limit is below the size of a table of AES states (4 KiB) or of products of H
 * (2 KiB).
 *
 * Then it computes the secrets of a call, and searches the call's stack for them. The secrets are
 * keystream, plaintext, round keys, tweaks, tag masks, and the hash subkey and its powers. So are
 * full tags that a call truncates, and the AES states that long calls keep in tables. The search
 * looks for each half of a block, in both byte orders, at every address. It also looks for the two
 * 64-bit words into which bitslice.c spreads a block, and for the bitsliced round keys of vperm.
 * These are tables of 00 and ff, of which too few bytes differ to be counted. 32-bit code has 8
 * registers of each kind and spills values in nearly every call, so there the test looks for round
 * keys alone.
 *
 * A call may leave only what the compiler spills from registers, because no code can cleanse that:
 *
 * - round keys: at most the number of rounds minus 3;
 * - XTS and OCB with AES instructions: tweaks, or offsets and L_0, of a group of blocks, because
 *   not all of them fit in registers;
 * - XTS without AES instructions: one tweak, or three with gcc 16;
 * - GCM with carry-less multiplication: the encrypted J0, which waits in a register for the end of
 *   the message;
 * - GCM in pieces: 7 bytes of keystream, in a register that a callee pushes; XTS encryption without
 *   carry-less multiplication: 7 bytes of plaintext. The search finds them as half a block if the
 *   byte beside them has the right value by chance (4 of 600 seeds);
 * - GCM-SIV of long messages: powers of H, on vector types with 16 registers;
 * - multi-buffer calls with one key: two vectors of plaintext (vaes256 with gcc 14; none with gcc
 *   12);
 * - one AES state: after one round, the states of two counters differ in 4 bytes, and the stack has
 *   such a difference by chance (2 of about 40 seeds). A table has more;
 * - other calls: blocks of plaintext from the end of an unrolled loop, or half a block of plaintext
 *   in a register that a callee pushes.
 */
#define _GNU_SOURCE
#include "aead.h"

#include "modes/ghash.h"
#include "reference.h"
#include "util.h"

#include <ucontext.h>

#define LEN    (700 * 16u + 9)
#define JOBS   24u
#define SHORT  407u
#define AAD    20u
/* The most tweaks that the search may find after XTS with AES instructions: the code spills 16, in
 * 8 YMM registers. */
#define TWEAKS 16u

static uint8_t text[LEN], sealed[LEN + 16], out[LEN + 16], raw[64], aad[AAD];
/* Messages and buffers that may hold secrets after a call. They are not on the stack. */
static uint8_t iv[16], keystream[16], tag[16], forged[16], ivs[JOBS][16];
static unsigned used;
static size_t len, out_len;
static struct tr_aes_key aes, others[JOBS];
static struct tr_xts_key xts;
static struct tr_cmac_key cmac;
static struct aead_state aeads[AEADS];
static struct tr_cipher cipher;
static struct tr_cmac cmac_message;
static bool good;
#define GCM_KEY (aeads[AEAD_gcm].key.gcm)

/* ---- Calls ---- */

static const uint8_t first_iv[16] = {1};
/* The length of most tags here. The rest of the tag must not stay on the stack. */
#define CUT 6u

#define CALL(name, ...)                                                                            \
    static void name(void)                                                                         \
    {                                                                                              \
        memcpy(iv, first_iv, sizeof(iv));                                                          \
        used = 0;                                                                                  \
        good = (__VA_ARGS__) == TR_OK;                                                             \
    }
#define WHOLE (len / 16 * 16)

CALL(ecb_encrypt, tr_ecb_encrypt(&aes, out, text, WHOLE))
CALL(ecb_decrypt, tr_ecb_decrypt(&aes, out, sealed, WHOLE))
CALL(cbc_encrypt, tr_cbc_encrypt(&aes, iv, out, text, WHOLE))
CALL(cbc_decrypt, tr_cbc_decrypt(&aes, iv, out, sealed, WHOLE))
CALL(cs1_encrypt, tr_cbc_cts_encrypt(&aes, TR_CS1, iv, out, text, len))
CALL(cs1_decrypt, tr_cbc_cts_decrypt(&aes, TR_CS1, iv, out, sealed, len))
CALL(cs3_encrypt, tr_cbc_cts_encrypt(&aes, TR_CS3, iv, out, text, len))
CALL(cs3_decrypt, tr_cbc_cts_decrypt(&aes, TR_CS3, iv, out, sealed, len))
CALL(cfb_encrypt, tr_cfb128_encrypt(&aes, iv, &used, out, text, len))
CALL(cfb_decrypt, tr_cfb128_decrypt(&aes, iv, &used, out, sealed, len))
CALL(ofb, tr_ofb(&aes, iv, &used, out, text, len))
CALL(ctr, tr_ctr(&aes, iv, keystream, &used, out, text, len))
CALL(cfb8_encrypt, tr_cfb8_encrypt(&aes, iv, out, text, len))
CALL(cfb8_decrypt, tr_cfb8_decrypt(&aes, iv, out, sealed, len))
CALL(cfb1_encrypt, tr_cfb1_encrypt(&aes, iv, out, text, len))
CALL(cfb1_decrypt, tr_cfb1_decrypt(&aes, iv, out, sealed, len))
CALL(kw_wrap, tr_kw_wrap(&aes, 0, NULL, out, text, len / 8 * 8))
CALL(kw_unwrap, tr_kw_unwrap(&aes, 0, NULL, out, sealed, len / 8 * 8 + 8))
CALL(kwp_wrap, tr_kwp_wrap(&aes, 0, NULL, out, text, len))
CALL(kwp_unwrap, tr_kwp_unwrap(&aes, 0, NULL, out, &out_len, sealed, (len + 7) / 8 * 8 + 8))
CALL(xts_encrypt, tr_xts_encrypt(&xts, iv, out, text, len))
CALL(xts_decrypt, tr_xts_decrypt(&xts, iv, out, sealed, len))
CALL(xts_units, tr_xts_encrypt_units(&xts, iv, out, text, len / 2, 2))
CALL(cmac_sign, tr_cmac_sign(&cmac, text, len, tag, CUT))
CALL(cmac_verify, tr_cmac_verify(&cmac, text, len, forged, CUT) != TR_ERR_TAG)
CALL(set_key, tr_aes_set_key(&aes, aes.backend, raw, aes.rounds * 4 - 24))
CALL(gcm_hashed_iv, tr_gcm_seal(&GCM_KEY, iv, 16, aad, AAD, out, text, len, tag, CUT))
CALL(set_gcm_key, tr_gcm_set_key(&GCM_KEY, aes.backend, raw, aes.rounds * 4 - 24))

/* Messages in two pieces, the first of which ends in mid-block where the mode allows it. */
#define FIRST (len / 2 | 1)
static enum tr_status by_cipher(enum tr_mode mode, int decrypt, const uint8_t *in)
{
    size_t n = 0, more = 0, last = 0;
    const size_t total = decrypt && mode <= TR_CBC ? len / 16 * 16 + 16 : len;
    if (tr_cipher_start(&cipher, &aes, mode, decrypt, 1, iv) != TR_OK ||
        tr_cipher_update(&cipher, out, &n, in, FIRST) != TR_OK ||
        tr_cipher_update(&cipher, out + n, &more, in + FIRST, total - FIRST) != TR_OK)
        return TR_ERR_STATE;
    return tr_cipher_final(&cipher, out + n + more, &last);
}
CALL(cipher_ctr, by_cipher(TR_CTR, 0, text))
CALL(cipher_ofb, by_cipher(TR_OFB, 0, text))
CALL(cipher_cfb, by_cipher(TR_CFB128, 0, text))
CALL(cipher_cbc, by_cipher(TR_CBC, 0, text))
CALL(cipher_cbc_decrypt, by_cipher(TR_CBC, 1, sealed))

/* How a call of an authenticated mode goes: one-shot or in two pieces, with the right tag or a
 * forged one. The first message of a key that needs more powers of H computes them on the stack. */
enum way { SEALS, OPENS, REFUSES, PIECES, CHECKS, FIRST_SEALS, FIRST_PIECES, WAYS };
static const char *const way_names[WAYS] = {"seal",  "open",       "refuse",         "pieces",
                                            "check", "first seal", "first in pieces"};

static enum tr_status in_pieces(const struct aead *a, struct aead_state *s,
                                const struct aead_lengths *n, bool decrypt, uint8_t *t)
{
    const size_t first = a->unit == 1 ? FIRST : len < a->unit ? 0 : a->unit;
    const uint8_t *in = decrypt ? sealed : text;
    enum tr_status status = a->start(s, iv, n);
    if (status == TR_OK)
        status = a->aad(s, aad, AAD);
    if (status == TR_OK && first != 0)
        status = a->crypt(s, decrypt, out, in, first, t);
    if (status == TR_OK)
        status = a->crypt(s, decrypt, out + first, in + first, len - first, t);
    return status == TR_OK && a->end != NULL ? a->end(s, decrypt, t, n->tag) : status;
}

static void aead_call(size_t mode, enum way way)
{
    const struct aead *const a = &all_aeads[mode];
    struct aead_state *const s = &aeads[mode];
    const bool refuses = way == REFUSES || way == CHECKS, decrypt = refuses || way == OPENS;
    uint8_t *const t = refuses ? forged : tag;
    const struct aead_lengths n = {.iv = a->aad_in_one_call ? 0 : 12,
                                   .aad = AAD,
                                   .text = len,
                                   .tag = a->end != NULL ? CUT : 16};
    enum tr_status status = TR_OK;
    memcpy(iv, first_iv, sizeof(iv));
    if (way >= FIRST_SEALS)
        status = a->set_key(s, aes.backend, raw, aes.rounds * 4 - 24);
    if (status == TR_OK && (way == PIECES || way == CHECKS || way == FIRST_PIECES))
        status = in_pieces(a, s, &n, decrypt, t);
    else if (status == TR_OK)
        status = a->whole(s, decrypt, &n, iv, aad, out, decrypt ? sealed : text, t);
    good = status == (refuses ? TR_ERR_TAG : TR_OK);
}

CALL(cmac_pieces, tr_cmac_start(&cmac_message, &cmac) == TR_OK &&
                          tr_cmac_update(&cmac_message, text, FIRST) == TR_OK &&
                          tr_cmac_update(&cmac_message, text + FIRST, len - FIRST) == TR_OK
                      ? tr_cmac_tag(&cmac_message, tag, CUT)
                      : TR_ERR_STATE)

static enum tr_status many(bool own)
{
    static struct tr_stream jobs[JOBS];
    memset(ivs, 7, sizeof(ivs));
    const size_t n = len / JOBS / 16 * 16;
    for (unsigned i = 0; i < JOBS; i++)
        jobs[i] = (struct tr_stream){own ? &others[i] : &aes, ivs[i], out + i * n, text + i * n,
                                     n - 16 * (i % 3)};
    return tr_cbc_encrypt_many(jobs, JOBS);
}

/* Many messages with at most one block of data and one of AAD have code of their own. */
#define SHORT_AAD_LEN 16u

/* All jobs are the same message. The tag of the first is in `tag`, which all opened jobs have. */
static enum tr_status gcm_jobs(bool decrypt, uint8_t *opened, bool own, size_t aad_len)
{
    static struct tr_gcm_job jobs[JOBS];
    static struct tr_gcm_key copy;
    copy = GCM_KEY;
    static uint8_t outs[JOBS][2048], tags[JOBS][16];
    for (unsigned i = 0; i < JOBS; i++)
        jobs[i] = (struct tr_gcm_job){.key = own && i % 2 != 0 ? &copy : &GCM_KEY,
                                      .iv = iv,
                                      .iv_len = 12,
                                      .aad = aad,
                                      .aad_len = aad_len,
                                      .out = i == 0 ? out : outs[i],
                                      .in = decrypt ? sealed : text,
                                      .len = len,
                                      .tag = decrypt  ? opened
                                             : i == 0 ? tag
                                                      : tags[i],
                                      .tag_len = 16};
    return (decrypt ? tr_gcm_open_many : tr_gcm_seal_many)(jobs, JOBS);
}
CALL(gcm_seal_many, gcm_jobs(false, NULL, false, AAD))
CALL(gcm_open_many, gcm_jobs(true, tag, false, AAD))
CALL(gcm_refuse_many, gcm_jobs(true, forged, false, AAD) == TR_ERR_TAG ? TR_OK : TR_ERR_STATE)
CALL(gcm_seal_blocks, gcm_jobs(false, NULL, false, SHORT_AAD_LEN))
CALL(gcm_open_blocks, gcm_jobs(true, tag, false, SHORT_AAD_LEN))
CALL(gcm_seal_keys, gcm_jobs(false, NULL, true, AAD))
CALL(gcm_open_keys, gcm_jobs(true, tag, true, AAD))
CALL(one_key, many(false))
CALL(own_keys, many(true))

/* ---- The search ---- */

static uint8_t stack[128 * 1024] __attribute__((aligned(4096)));
static ucontext_t test_context, call_context;

/* The halves of the secrets, in a hash table. Each has the index of its secret. */
#define SLOTS 32768u
static struct slot {
    uint64_t half;
    unsigned secret;
    bool found;
} slots[SLOTS];
static struct secret {
    const char *what;
    unsigned found; /* halves */
} secrets[4096];
static unsigned count;

static struct slot *slot_of(uint64_t half)
{
    unsigned i = (unsigned)(half * 0x9e3779b97f4a7c15u >> 40) % SLOTS;
    while (slots[i].half != 0 && slots[i].half != half)
        i = (i + 1) % SLOTS;
    return &slots[i];
}

static void add_half(const uint8_t bytes[8])
{
    uint64_t half;
    memcpy(&half, bytes, 8);
    for (unsigned i = 0; i < 2; i++, half = __builtin_bswap64(half))
        if (half != 0)
            *slot_of(half) = (struct slot){half, count, false};
}

/* Adds a secret of 8 to 16 bytes. */
static void add(const char *what, const uint8_t *bytes, size_t n)
{
    add_half(bytes);
    add_half(bytes + n - 8);
    if (n == 16) {
        uint8_t element[2][8]; /* as load_element() in bitslice.c spreads a block */
        for (unsigned i = 0; i < 4; i++) {
            element[0][2 * i] = bytes[i];
            element[0][2 * i + 1] = bytes[8 + i];
            element[1][2 * i] = bytes[4 + i];
            element[1][2 * i + 1] = bytes[12 + i];
        }
        add_half(element[0]);
        add_half(element[1]);
    }
    secrets[count++] = (struct secret){what, 0};
}

static void add_all(const char *what, const uint8_t *bytes, size_t n)
{
    for (; n >= 8; n -= n < 16 ? n : 16, bytes += 16)
        add(what, bytes, n < 16 ? n : 16);
}

static void add_round_keys(const char *what, const struct tr_aes_key *key)
{
    for (unsigned i = 0; i <= key->rounds; i++)
        add(what, key->enc[i], 16);
    for (unsigned i = 1; i < key->rounds; i++)
        add(what, key->dec[i], 16);
}

static void add_xor(const char *what, const uint8_t *a, const uint8_t *b, size_t n)
{
    static uint8_t both[LEN];
    for (size_t i = 0; i < n; i++)
        both[i] = a[i] ^ b[i];
    add_all(what, both, n);
}

static void store_be(uint8_t p[4], size_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* Adds the AES state after some rounds for each of 256 counters from `counter` on: gcm/long.h
 * stores it after two rounds, gcm/many.h after one. Also adds the XOR of each state with that of
 * counter `from`, as ctr_states.h and gcm/many.h store it. */
static void add_states(size_t key_len, unsigned counter, unsigned rounds, unsigned from)
{
    uint8_t block[16] = {0}, base[16];
    struct reference_key key;
    reference_expand(&key, raw, key_len);
    memcpy(block, first_iv, 12);
    memcpy(base, block, 12);
    store_be(base + 12, from);
    reference_first_rounds(&key, base, rounds);
    for (unsigned i = 0; i < 256; i++, counter++) {
        uint8_t state[16];
        memcpy(state, block, 12);
        store_be(state + 12, counter);
        reference_first_rounds(&key, state, rounds);
        add("AES state", state, 16);
        tr_xor_block(state, state, base);
        add("AES state", state, 16);
    }
}

/* Sets `folded` to the image of a power of H that gcm/many.h keeps beside it (folded_power()): its
 * halves exchanged, XOR the product of its low half and x^63 + x^62 + x^57. */
static void fold(uint8_t folded[16], const uint8_t power[16])
{
    static const unsigned exponents[] = {57, 62, 63};
    uint64_t half[2], image[2];
    memcpy(half, power, 16);
    image[0] = half[1];
    image[1] = half[0];
    for (unsigned i = 0; i < 3; i++) {
        image[0] ^= half[0] << exponents[i];
        image[1] ^= half[0] >> (64 - exponents[i]);
    }
    memcpy(folded, image, 16);
}

static void add_powers(const struct tr_ghash_key *hash)
{
    const unsigned n = tr_ghash_powers_at(tr_ghash_published(hash));
    if ((aes.backend->features & TR_FEATURE_CLMUL) == 0) /* .power holds tables */
        return;
    for (unsigned i = TR_GHASH_POWERS - n; i < TR_GHASH_POWERS; i++) {
        uint8_t folded[16];
        fold(folded, hash->power[i]);
        add("power of H", hash->power[i], 16);
        add("folded power of H", folded, 16);
    }
}

static bool encrypted(const struct tr_aes_key *key, uint8_t block[16])
{
    return tr_ecb_encrypt(key, block, block, 16) == TR_OK;
}

/* What a call must not leave. */
enum {
    STREAM = 1,  /* keystream: text XOR ciphertext */
    PLAIN = 2,   /* the plaintext */
    GCM = 4,     /* H and its powers, the encrypted J0, the whole tag, the last keystream block, and
                  * the AES states of the first counters */
    CCM = 8,     /* the encrypted counter block 0, the last keystream block */
    OCB = 16,    /* L_*, L_$, L_0, Ktop, the offsets, and the keystream of the last bytes */
    CMAC = 32,   /* E(0), the subkeys, the whole tag */
    SIV = 64,    /* the CMAC of the AAD, and the variable D of S2V */
    TWEAK = 128, /* the tweaks */
    SMALL = 256, /* keystream of CFB8, and of CFB1 for the first bit of each byte */
    CFB = 512,   /* the last keystream block */
    CTR = 1024,  /* the last keystream block, and the AES states of the first counters */
    DERIVED = 4096,    /* GCM-SIV: H and its powers, of the short messages */
    VERIFIES = 8192,   /* its input is right for one key only */
    DECRYPTS = 2048,   /* reads `sealed`, the output of the nearest row above without this flag */
    SHORT_AAD = 16384, /* the AAD has SHORT_AAD_LEN bytes */
};

static bool add_secrets(unsigned kinds)
{
    uint8_t block[16] = {0}, whole[16], mask[16] = {0}, last[16] = {0};
    bool right = true;
    memset(slots, 0, sizeof(slots));
    count = 0;
    add_round_keys("round key", &aes);
    add_round_keys("round key", &xts.tweak);
    for (unsigned i = 0; i < JOBS; i++)
        add_round_keys("round key", &others[i]);
    if (kinds & PLAIN)
        add_all("plaintext", text, len);
    if (kinds & STREAM)
        add_xor("keystream", text, sealed, len);
    if (kinds & GCM) {
        memcpy(last, first_iv, 12);
        store_be(last + 12, 2 + len / 16);
        memcpy(mask, first_iv, 12);
        mask[15] = 1;
        right &= encrypted(&aes, block) && encrypted(&aes, mask) &&
                 tr_gcm_seal(&GCM_KEY, first_iv, 12, aad, kinds & SHORT_AAD ? SHORT_AAD_LEN : AAD,
                             out, text, len, whole, 16) == TR_OK;
        add("H", block, 16);
        add("tag mask", mask, 16);
        add("uncut tag", whole + CUT, 10);
        add_xor("GHASH", whole, mask, 16);
        add_states(4 * ((size_t)aes.rounds - 6), 2, 2, 0);
        add_states(4 * ((size_t)aes.rounds - 6), 1, 1, 1);
        add_powers(&GCM_KEY.hash);
    }
    if (kinds & DERIVED) {
        struct aead_state *const siv = &aeads[AEAD_gcm_siv];
        struct tr_gcm_siv *const m = &siv->message.gcm_siv;
        struct tr_aes_key derived;
        right &= tr_gcm_siv_start(m, &siv->key.gcm_siv, first_iv) == TR_OK &&
                 tr_gcm_siv_aad(m, aad, AAD) == TR_OK;
        right &=
            tr_aes_set_key(&derived, aes.backend, m->aes.enc[0], m->aes.rounds * 4 - 24) == TR_OK &&
            tr_gcm_siv_encrypt(m, out, text, len, whole) == TR_OK;
        add_round_keys("derived round key", &derived);
        add("H", m->hash.h, 16);
        /* The hash of long messages keeps powers in registers, which the compiler spills. */
        if (len <= SHORT)
            add_powers(&m->hash);
    }
    if (kinds & CCM) {
        mask[0] = last[0] = 2;
        memcpy(mask + 1, first_iv, 12);
        memcpy(last + 1, first_iv, 12);
        last[14] = (uint8_t)((1 + len / 16) >> 8);
        last[15] = (uint8_t)(1 + len / 16);
        right &= encrypted(&aes, mask);
        add("tag mask", mask, 16);
    }
    if (kinds & CTR) {
        memcpy(last, first_iv, 12);
        store_be(last + 12, len / 16);
        add_states(4 * ((size_t)aes.rounds - 6), 0, 2, 0);
    }
    if (kinds & (GCM | CCM | CTR)) { /* including bytes after the end of the text */
        right &= encrypted(&aes, last);
        add("keystream", last, 16);
    }
    if (kinds & OCB) {
        struct aead_state *const o = &aeads[AEAD_ocb];
        const struct tr_ocb_key *const ocb = &o->key.ocb;
        uint8_t offset[16], top[16] = {CUT * 8 << 1, 0, 0, 1};
        memcpy(top + 4, first_iv, 12);
        top[15] &= 0xc0;
        right &=
            encrypted(&aes, top) && tr_ocb_start(&o->message.ocb, ocb, first_iv, 12, CUT) == TR_OK;
        add("Ktop", top, 16);
        memcpy(offset, o->message.ocb.run.offset, 16);
        for (size_t i = 1; i <= len / 16; i++) {
            add("offset", offset, 16);
            for (unsigned j = 0; j < 16; j++)
                offset[j] ^= ocb->l[__builtin_ctzll(i)][j];
        }
        add("offset", offset, 16);
        add_xor("keystream", text + WHOLE, sealed + WHOLE, len % 16);
        add("L_*", ocb->l_star, 16);
        add("L_$", ocb->l_dollar, 16);
        add("L_0", ocb->l[0], 16);
    }
    if (kinds & CMAC) {
        right &= encrypted(&aes, block) && tr_cmac_sign(&cmac, text, len, whole, 16) == TR_OK;
        add("E(0)", block, 16);
        add("subkey", cmac.subkey[0], 16);
        add("subkey", cmac.subkey[1], 16);
        add("uncut tag", whole + CUT, 10);
    }
    for (size_t i = 0; kinds & SMALL && i <= len; i++) {
        uint8_t string[16 + sizeof(sealed)];
        memcpy(string, first_iv, 16);
        memcpy(string + 16, sealed, len);
        memcpy(block, string + i, 16);
        right &= encrypted(&aes, block);
        add("keystream", block, 16);
    }
    if (kinds & CFB) {
        memcpy(last, sealed + WHOLE - 16, 16);
        right &= encrypted(&aes, last);
        add("keystream", last, 16);
    }
    if (kinds & SIV) {
        uint8_t d[16];
        const struct tr_siv_key *const siv = &aeads[AEAD_siv].key.siv;
        right &= tr_cmac_sign(&siv->mac, aad, AAD, whole, 16) == TR_OK;
        tr_double(d, siv->zero);
        tr_xor_block(d, d, whole);
        add("CMAC of the AAD", whole, 16);
        add("D of S2V", d, 16);
        tr_double(d, d);
        add("D of S2V", d, 16);
    }
    if (kinds & TWEAK) {
        memcpy(block, first_iv, 16);
        right &= encrypted(&xts.tweak, block);
        for (size_t i = 0; i <= len; i += 16, tr_xts_double(block, block))
            add("tweak", block, 16);
    }
    return right;
}

/* Returns how many round keys are on the stack in the form of vperm's eight bitsliced blocks
 * (simd/sliced8.h). Let S be ShiftRows. Word i of eight has bit i of each byte of S^-r of
 * round key r, as a byte of 00 or ff. The S-box's constant is XORed into all but the first. */
static unsigned sliced_round_keys(void)
{
    unsigned n = 0;
    for (unsigned r = 0; r <= aes.rounds; r++) {
        uint8_t sliced[8][16];
        for (unsigned i = 0; i < 8; i++) {
            for (unsigned at = 0; at < 16; at++) {
                const unsigned row = at % 4, column = (at / 4 - r * row) % 4;
                const uint8_t byte = aes.enc[r][4 * column + row] ^ (r != 0 ? 0x63 : 0);
                sliced[i][at] = (byte >> i & 1) != 0 ? 0xff : 0;
            }
        }
        n += memmem(stack, sizeof(stack), sliced, sizeof(sliced)) != NULL;
    }
    return n;
}

static bool run(void (*call)(void))
{
    memset(stack, 0, sizeof(stack));
    if (getcontext(&call_context) != 0)
        return false;
    call_context.uc_stack.ss_sp = stack;
    call_context.uc_stack.ss_size = sizeof(stack);
    call_context.uc_link = &test_context;
    makecontext(&call_context, call, 0);
    return swapcontext(&test_context, &call_context) == 0 && good;
}

/* Counts the halves of each secret on the stack (`found`). Returns the number of all halves. Bytes
 * that belong to one secret do not count for another of the same kind. Eight doublings shift a
 * tweak by a byte. So bytes 1 to 8 of a tweak can equal the first half of the tweak 8 blocks
 * before. */
static unsigned search(void)
{
    unsigned n = 0;
    size_t end = 0; /* of the last half found, and its kind */
    const char *kind = NULL;
    for (size_t i = 0; i + 8 <= sizeof(stack); i++) {
        uint64_t half;
        memcpy(&half, stack + i, 8);
        if (half == 0)
            continue;
        struct slot *s = slot_of(half);
        if (s->half != half || (i < end && secrets[s->secret].what == kind))
            continue;
        end = i + 8;
        kind = secrets[s->secret].what;
        if (!s->found) {
            s->found = true;
            secrets[s->secret].found++;
            n++;
        }
    }
    return n;
}

/* What a call may leave: blocks, or "halves of" blocks. How many: if the backend has `feature`, and
 * if not. */
struct spill {
    const char *values;
    tr_features feature;
    unsigned with, without;
};
#define NONE                                                                                       \
    {                                                                                              \
        "", 0, 0, 0                                                                                \
    }
#define SPILL(values, feature, with, without)                                                      \
    {                                                                                              \
#        values, TR_FEATURE_##feature, with, without                                               \
    }

/* The limits `most`, in bytes. */
#define MOST      1500u
#define MOST_HASH 1700u /* for GCM, whose GHASH spills */
/* For GCM-SIV, which also expands keys. 32-bit code has 8 vector registers, and spills more. */
#define MOST_SIV  (sizeof(void *) == 8 ? 2000u : 2300u)

static const struct {
    unsigned kinds, most;
    struct spill whole, pieces;
} modes[AEADS] = {
    [AEAD_gcm] = {PLAIN | STREAM | GCM, MOST_HASH, SPILL(tag mask, CLMUL, 1, 0),
                  SPILL(tag mask or halves of keystream, CLMUL, 2, 1)},
    [AEAD_ccm] = {PLAIN | STREAM | CCM, MOST, NONE, SPILL(plaintext, AES, 1, 1)},
    [AEAD_ocb] = {PLAIN | OCB, MOST, SPILL(plaintext or offset or L_0, AES, 5, 0),
                  SPILL(plaintext or offset or L_0, AES, 5, 0)},
    [AEAD_siv] = {PLAIN | STREAM | CMAC | SIV, MOST, NONE, NONE},
    [AEAD_gcm_siv] = {PLAIN | STREAM | DERIVED, MOST_SIV, NONE, NONE},
};

static struct call {
    const char *name;
    void (*call)(void); /* NULL: aead_call(mode, way) */
    unsigned kinds;
    struct spill spill;
    size_t shortest, longest;
    unsigned most; /* 0: MOST */
    size_t mode;
    enum way way;
} calls[128] = {
#define ROW(name, kinds, spill, ...)                                                               \
    {                                                                                              \
#        name, name, kinds, spill, __VA_ARGS__, 0, 0, SEALS                                        \
    }
#define GCM_JOBS (PLAIN | STREAM | GCM)
#define GCM_MASK SPILL(tag mask, CLMUL, 1, 0)
#define HASH_ROW(name, call, kinds, spill, longest)                                                \
    {                                                                                              \
        "GCM, " name, call, kinds, spill, 0, longest, MOST_HASH, 0, SEALS                          \
    }
    ROW(ecb_encrypt, PLAIN, NONE, 16, LEN),
    ROW(ecb_decrypt, PLAIN | DECRYPTS, NONE, 16, LEN),
    ROW(cbc_encrypt, PLAIN, NONE, 16, LEN),
    ROW(cbc_decrypt, PLAIN | DECRYPTS, SPILL(plaintext, AES, 1, 1), 16, LEN),
    ROW(cs1_encrypt, PLAIN, NONE, 16, LEN),
    ROW(cs1_decrypt, PLAIN | DECRYPTS, SPILL(plaintext, AES, 1, 1), 16, LEN),
    ROW(cs3_encrypt, PLAIN, NONE, 16, LEN),
    ROW(cs3_decrypt, PLAIN | DECRYPTS, SPILL(plaintext, AES, 1, 1), 16, LEN),
    ROW(cfb_encrypt, PLAIN | STREAM, SPILL(plaintext, AES, 1, 1), 0, LEN),
    ROW(cfb_decrypt, PLAIN | CFB | STREAM | DECRYPTS, NONE, 0, LEN),
    ROW(ofb, PLAIN | STREAM, NONE, 0, LEN),
    ROW(ctr, PLAIN | STREAM | CTR, NONE, 0, LEN),
    ROW(cfb8_encrypt, PLAIN | SMALL, NONE, 0, 407),
    ROW(cfb8_decrypt, PLAIN | SMALL | DECRYPTS, NONE, 0, 407),
    ROW(cfb1_encrypt, PLAIN | SMALL, NONE, 0, 407),
    ROW(cfb1_decrypt, PLAIN | SMALL | DECRYPTS, NONE, 0, 407),
    ROW(kw_wrap, PLAIN, NONE, 16, 407),
    ROW(kw_unwrap, PLAIN | DECRYPTS | VERIFIES, NONE, 16, 407),
    ROW(kwp_wrap, PLAIN, NONE, 0, 407),
    ROW(kwp_unwrap, PLAIN | DECRYPTS | VERIFIES, NONE, 0, 407),
    ROW(xts_encrypt, PLAIN | TWEAK, SPILL(halves of plaintext, CLMUL, 0, 1), 16, LEN),
    ROW(xts_decrypt, PLAIN | TWEAK | DECRYPTS, SPILL(plaintext, AES, 2, 0), 16, LEN),
    ROW(xts_units, PLAIN | TWEAK, NONE, 32, LEN),
    ROW(cmac_sign, CMAC, NONE, 0, LEN),
    ROW(cmac_verify, CMAC, NONE, 0, LEN),
    ROW(cmac_pieces, CMAC, NONE, 0, LEN),
    ROW(cipher_ctr, PLAIN | STREAM | CTR, NONE, 0, LEN),
    ROW(cipher_ofb, PLAIN | STREAM, NONE, 0, LEN),
    ROW(cipher_cfb, PLAIN | STREAM, SPILL(plaintext, AES, 1, 1), 0, LEN),
    ROW(cipher_cbc, PLAIN, NONE, 0, LEN),
    ROW(cipher_cbc_decrypt, PLAIN | DECRYPTS | VERIFIES, SPILL(plaintext, AES, 1, 1), 0, LEN),
    ROW(set_key, 0, NONE, 0, 40),
    ROW(set_gcm_key, GCM, NONE, 0, 40),
    HASH_ROW("hashed IV", gcm_hashed_iv, PLAIN | STREAM, NONE, LEN),
    HASH_ROW("seal many", gcm_seal_many, GCM_JOBS, GCM_MASK, 2048),
    HASH_ROW("open many", gcm_open_many, GCM_JOBS | DECRYPTS | VERIFIES, GCM_MASK, 2048),
    HASH_ROW("refuse many", gcm_refuse_many, GCM_JOBS | DECRYPTS | VERIFIES, GCM_MASK, 2048),
    HASH_ROW("seal many blocks", gcm_seal_blocks, GCM_JOBS | SHORT_AAD, GCM_MASK, 16),
    HASH_ROW("open many blocks", gcm_open_blocks, GCM_JOBS | SHORT_AAD | DECRYPTS | VERIFIES,
             GCM_MASK, 16),
    HASH_ROW("seal many keys", gcm_seal_keys, GCM_JOBS, GCM_MASK, 16),
    HASH_ROW("open many keys", gcm_open_keys, GCM_JOBS | DECRYPTS | VERIFIES, GCM_MASK, 16),
    ROW(one_key, PLAIN, SPILL(plaintext, VAES, 4, 0), 4000, LEN),
    ROW(own_keys, PLAIN, NONE, 4000, LEN),
};
static size_t rows; /* of calls[] */

/* Adds the rows of the authenticated modes. */
static bool add_rows(void)
{
    bool all = true;
    while (calls[rows].name != NULL)
        rows++;
    for (size_t i = 0; i < AEADS; i++) {
        all &= modes[i].kinds != 0;
        for (enum way way = SEALS; way < (i == AEAD_gcm ? WAYS : FIRST_SEALS); way++) {
            const bool opens = way == OPENS || way == REFUSES || way == CHECKS;
            const bool pieces = way == PIECES || way == CHECKS || way == FIRST_PIECES;
            calls[rows++] = (struct call){
                .kinds = modes[i].kinds | (opens ? DECRYPTS | VERIFIES : 0),
                .spill = pieces ? modes[i].pieces : modes[i].whole,
                .longest = LEN,
                .most = modes[i].most,
                .mode = i,
                .way = way,
            };
        }
    }
    return all;
}

/* ---- The test ---- */

static bool set_keys(const struct tr_backend *b, size_t key_len)
{
    bool set = tr_aes_set_key(&aes, b, raw, key_len) == TR_OK &&
               tr_xts_set_key(&xts, b, raw, key_len == 24 ? 32 : 2 * key_len) == TR_OK &&
               tr_cmac_set_key(&cmac, b, raw, key_len) == TR_OK;
    for (size_t i = 0; i < AEADS; i++)
        set &=
            all_aeads[i].set_key(&aeads[i], b, raw, key_len * all_aeads[i].key.min / 16) == TR_OK;
    for (unsigned i = 0; set && i < JOBS; i++) {
        uint8_t other[32];
        memcpy(other, raw + 7, 32);
        other[0] ^= (uint8_t)i;
        set = tr_aes_set_key(&others[i], b, other, key_len) == TR_OK;
    }
    return set;
}

static void do_call(const struct call *c)
{
    if (c->call != NULL)
        c->call();
    else
        aead_call(c->mode, c->way);
}

static const struct call *now; /* the call that run() makes */
static void call_now(void)
{
    do_call(now);
}

static const char *name_of(const struct call *c)
{
    static char name[64];
    if (c->name != NULL)
        return c->name;
    snprintf(name, sizeof(name), "%s, %s", all_aeads[c->mode].name, way_names[c->way]);
    return name;
}

/* ---- Bytes that depend on the key ---- */

/* Clears every copy of a block of ciphertext on the stack. */
static void forget_ciphertext(void)
{
    for (size_t at = 0; at + 16 <= len; at += 16)
        for (uint8_t *p = stack;
             (p = memmem(p, (size_t)(stack + sizeof(stack) - p), out + at, 16));)
            memset(p, 0, 16);
}

static unsigned key_dependent(const uint8_t *before)
{
    unsigned n = 0;
    for (size_t i = 0; i < sizeof(stack); i++)
        n += stack[i] != 0 && stack[i] != before[i];
    return n;
}

/* Whether the call leaves few bytes that depend on the key. Both runs use the same stack, so that
 * the addresses in it are equal. Before each, the call runs on the normal stack. The first
 * multi-buffer call also runs known-answer tests, and a GCM call may compute powers of H. */
static bool leaves_few_bytes(const struct tr_backend *b, size_t key_len, const struct call *c)
{
    static uint8_t before[sizeof(stack)];
    if (c->kinds & VERIFIES)
        return true;
    now = c;
    bool right = true;
    for (unsigned i = 0; i < 2; i++) {
        memcpy(before, stack, sizeof(stack));
        for (size_t j = 0; j < sizeof(raw); j++)
            raw[j] = (uint8_t)~raw[j];
        right &= set_keys(b, key_len);
        do_call(c);
        right &= good && run(call_now);
    }
    unsigned n = key_dependent(before);
    const unsigned most = c->most != 0 ? c->most : MOST;
    if (n > most) {
        forget_ciphertext();
        n = key_dependent(before);
    }
    if (right && n <= most)
        return true;
    tap_diag("%s, %zu-bit key, %zu bytes: leaves %u bytes that depend on the key", name_of(c),
             8 * key_len, len, n);
    return false;
}

/* ---- Secrets ---- */

static unsigned most_of(const struct call *c, const char *what, bool spills)
{
    if (strstr(what, "round key") != NULL)
        return aes.rounds - 3;
    if (strcmp(what, "tweak") == 0)
        return aes.backend->features & TR_FEATURE_AES ? TWEAKS : 3;
    if (!spills)
        return strcmp(what, "AES state") == 0;
    return aes.backend->features & c->spill.feature ? c->spill.with : c->spill.without;
}

static bool leaves_nothing(size_t key_len, const struct call *c)
{
    now = c;
    do_call(c);
    if (!(c->kinds & DECRYPTS) && good)
        memcpy(sealed, out, sizeof(sealed));
    if (!good || !add_secrets(c->kinds) || !run(call_now)) {
        tap_diag("%s, %zu bytes: the call fails", name_of(c), len);
        return false;
    }
    search();
    const unsigned sliced =
        strcmp(tr_backend_name(aes.backend), "vperm") == 0 ? sliced_round_keys() : 0;
    bool right = sliced == 0;
    if (!right)
        tap_diag("%s, %zu-bit key, %zu bytes: leaves %u bitsliced round keys", name_of(c),
                 8 * key_len, len, sliced);
    for (unsigned i = 0; i < count; i++) {
        const char *what = secrets[i].what;
        const char *spills = strstr(c->spill.values, what);
        const bool halves = spills != NULL && strncmp(c->spill.values, "halves", 6) == 0;
        unsigned n = 0;
        if (secrets[i].found == 0)
            continue;
        for (unsigned j = 0; j < count; j++) /* all of one kind at once */
            if (secrets[j].found != 0 && strcmp(secrets[j].what, what) == 0) {
                n += halves ? secrets[j].found : 1;
                secrets[j].found = 0;
            }
        if (n <= most_of(c, what, spills != NULL) ||
            (sizeof(void *) < 8 && strstr(what, "round key") == NULL))
            continue;
        right = false;
        tap_diag("%s, %zu-bit key, %zu bytes: leaves %u times: %s", name_of(c), 8 * key_len, len, n,
                 what);
    }
    return right;
}

/* ---- The test ---- */

static void test_backend(const struct tr_backend *b)
{
    static const size_t lengths[] = {1, 16, 31, 40, SHORT, 4077, LEN};
    unsigned n = 0, right = 0;
    for (size_t k = 0; k < 3; k++) {
        if (!set_keys(b, key_lengths[k])) {
            tap_diag("a key of %zu bits cannot be set", 8 * key_lengths[k]);
            n++;
            continue;
        }
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
            len = lengths[i];
            for (const struct call *c = calls; c != calls + rows; c++)
                if (len >= c->shortest && len <= c->longest) {
                    right +=
                        leaves_nothing(key_lengths[k], c) && leaves_few_bytes(b, key_lengths[k], c);
                    n++;
                }
        }
    }
    tap_ok(n != 0 && right == n, "%s: %u of %u calls leave no secret on the stack",
           tr_backend_name(b), right, n);
}

/* Leaves half a block of plaintext and a round-key schedule, to test the search. */
static void leave_secrets(void)
{
    uint8_t local[1024];
    memcpy(local + 3, text + 24, 8);
    memcpy(local + 32, aes.enc, sizeof(aes.enc));
    __asm__ volatile("" : : "r"(local) : "memory");
    good = true;
}

int main(void)
{
    const struct tr_backend *b;
    struct tap_random rng = tap_random(0);
    tap_plan(2 + backend_count());
    tap_fill(&rng, text, sizeof(text));
    tap_fill(&rng, aad, sizeof(aad));
    tap_fill(&rng, raw, sizeof(raw));
    tap_fill(&rng, forged, sizeof(forged));
    len = 40;
    tap_ok(add_rows(), "the test knows the secrets of every authenticated mode");
    tap_ok(set_keys(&tr_bitslice, 16) && add_secrets(PLAIN) && run(leave_secrets) &&
               search() == 1 + 2 * 11,
           "the search finds half a block and all round keys on the stack");
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++)
        if (!backend_skip(b, 1))
            test_backend(b);
    return tap_done();
}
