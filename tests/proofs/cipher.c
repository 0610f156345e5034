/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves the streaming object for ECB, CBC, CFB128, OFB and CTR (core/modes/cipher.c) by the method
 * of tests/proofs/gcm.c. Stubs replace the modes and copy their input. With ECB and CBC, the output
 * and the new buffer together must be the old buffer followed by the input: no byte is lost,
 * repeated or moved. The proofs of tr_cipher_update() take up to 20 bytes, after up to 16 buffered
 * bytes.
 *
 * proof_update_16_16 detects this mutation: `total % TR_BLOCK` for `(total - 1) % TR_BLOCK + 1` in
 * kept().
 *
 * CBMC: --max-field-sensitivity-array-size 64 --unwind 18 --unwindset memcmp.0:130
 */
#include <string.h>

#define LONGEST 36u /* 16 buffered bytes and 20 bytes of input */
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    (void)op;
    return stub_plain(aes, out, in, blocks, state);
}

#include "modes/cipher.c"

static struct tr_aes_key key;
static struct tr_cipher c, before;

/* The checks of all modes. ECB and CBC pass NULL for `used` and need whole blocks. For the other
 * modes, *used must be less than 16. */
static enum tr_status stub_checks(const uint8_t *out, const uint8_t *in, size_t len, unsigned *used)
{
    assert(__CPROVER_r_ok(in, len) && __CPROVER_w_ok(out, len));
    if (used == NULL ? len % TR_BLOCK != 0 : *used >= TR_BLOCK)
        return TR_ERR_LENGTH;
    if (stub_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    if (used != NULL)
        *used = (unsigned)((*used + len) % TR_BLOCK);
    return TR_OK;
}

static enum tr_status stub_blocks(uint8_t *out, const uint8_t *in, size_t len)
{
    enum tr_status status = stub_checks(out, in, len, NULL);
    /* cipher_buffered_update() passes c.buffer in place, and ignores the status, because the real
     * mode never reports an overlap there. This stub can report one, and then copies anyway. */
    if (status == TR_OK || (status == TR_ERR_OVERLAP && c.used != 0))
        memmove(out, in, len);
    return status;
}

#define STUB(name)                                                                                 \
    enum tr_status name(const struct tr_aes_key *k, uint8_t *out, const uint8_t *in, size_t len)   \
    {                                                                                              \
        assert(k == &key);                                                                         \
        return stub_blocks(out, in, len);                                                          \
    }
STUB(tr_ecb_encrypt)
STUB(tr_ecb_decrypt)
#undef STUB
#define STUB(name)                                                                                 \
    enum tr_status name(const struct tr_aes_key *k, uint8_t iv[16], uint8_t *out,                  \
                        const uint8_t *in, size_t len)                                             \
    {                                                                                              \
        assert(k == &key && __CPROVER_w_ok(iv, TR_BLOCK));                                         \
        return stub_blocks(out, in, len);                                                          \
    }
STUB(tr_cbc_encrypt)
STUB(tr_cbc_decrypt)
#undef STUB
#define STUB(name)                                                                                 \
    enum tr_status name(const struct tr_aes_key *k, uint8_t iv[16], unsigned *used, uint8_t *out,  \
                        const uint8_t *in, size_t len)                                             \
    {                                                                                              \
        assert(k == &key && __CPROVER_w_ok(iv, TR_BLOCK));                                         \
        enum tr_status status = stub_checks(out, in, len, used);                                   \
        if (status == TR_OK)                                                                       \
            memmove(out, in, len);                                                                 \
        return status;                                                                             \
    }
STUB(tr_cfb128_encrypt)
STUB(tr_cfb128_decrypt)
STUB(tr_ofb)
#undef STUB

enum tr_status tr_ctr(const struct tr_aes_key *k, uint8_t counter[16], uint8_t keystream[16],
                      unsigned *used, uint8_t *out, const uint8_t *in, size_t len)
{
    assert(__CPROVER_w_ok(keystream, TR_BLOCK));
    return tr_ofb(k, counter, used, out, in, len);
}

static bool pads_last(void)
{
    return c.decrypt && c.padding;
}

static bool invariant(void)
{
    return c.mode <= TR_CTR && c.decrypt <= 1 && c.padding <= 1 &&
           (is_block_mode(&c) && pads_last() ? c.used <= TR_BLOCK : c.used < TR_BLOCK);
}

static void begin(void)
{
    key.backend = nondet_bool() ? &stub : NULL;
    __CPROVER_havoc_object(&c);
    c.key = nondet_bool() ? &key : NULL;
    ASSUME(invariant());
    memcpy(&before, &c, sizeof(c));
    data_begin();
}

static bool has_key(void)
{
    return before.key != NULL && key.backend != NULL;
}

void proof_start(void)
{
    begin();
    const int mode = (int)nondet_unsigned();
    const uint8_t *iv = nondet_bool() ? in_object : NULL;
    const enum tr_status status =
        tr_cipher_start(&c, &key, (enum tr_mode)mode, nondet_bool(), nondet_bool(), iv);
    const bool known = mode > 0 && mode <= TR_CTR && (iv != NULL || mode == TR_ECB);
    assert(status == (key.backend == NULL ? TR_ERR_STATE : known ? TR_OK : TR_ERR_MODE));
    if (status == TR_OK)
        assert(invariant() && c.used == 0 && c.mode == mode && c.key == &key);
    else
        assert(memcmp(&c, &before, sizeof(c)) == 0);
}

/* A call of `len` bytes after `used` buffered bytes. CBMC knows both as constants. */
static void update_one(unsigned used, size_t len)
{
    size_t n = nondet_size();
    begin();
    ASSUME(c.used == used);
    c.used = before.used = used;
    d.len = len;
    const bool blocks = is_block_mode(&c);
    const size_t expected = tr_cipher_room(&c, d.len), total = before.used + d.len;
    assert(expected <= LONGEST);
    const size_t size = used + len, at = nondet_bool() ? LONGEST - size : 0;
    d.in = in_object + at;
    d.out = nondet_bool() ? d.in : out_object + at;
    const enum tr_status status = tr_cipher_update(&c, d.out, &n, d.in, d.len);
    assert(invariant());
    assert((status == TR_ERR_STATE) == !has_key());
    assert(!has_key() || (status == TR_ERR_MODE) == (c.mode == TR_MODE_NONE));
    /* A call in place after buffered bytes may be an error, too: its first block of output may
     * overwrite unread input. */
    if (status == TR_ERR_OVERLAP)
        assert(d.len != 0 && (d.overlap || (d.out == d.in && blocks && before.used != 0)));
    else if (has_key() && c.mode != TR_MODE_NONE)
        assert(status == TR_OK);
    if (status != TR_OK) {
        assert(n == 0 && memcmp(&c, &before, sizeof(c)) == 0);
        data_unchanged(false);
        return;
    }
    assert(n == expected);
    if (!blocks) {
        assert(n == d.len);
        return;
    }
    assert(n % TR_BLOCK == 0 && c.used == total - n);
    assert(pads_last() ? total == 0 || c.used != 0 : c.used < TR_BLOCK);
    /* Byte i of the stream: buffered before, or from the input. */
    const size_t i = any_up_to(LONGEST + TR_BLOCK);
    if (i >= total)
        return;
    const uint8_t byte = i < before.used ? before.buffer[i]
                                         : in_before[(size_t)(d.in - in_object) + i - before.used];
    assert((i < n ? d.out[i] : c.buffer[i - n]) == byte);
    /* Nothing outside of the first n bytes of the output changes. */
    const size_t j = any_up_to(LONGEST - 1);
    const uint8_t *p = in_object + j, *q = out_object + j;
    assert((d.out == d.in && p >= d.in && p < d.in + n) || *p == in_before[j]);
    assert((d.out != d.in && q >= d.out && q < d.out + n) || *q == out_before[j]);
}

/* The lengths of each proof are constants, because CBMC is then faster. */
void proof_update_0_16(void)
{
    update_one(0, 16);
}
void proof_update_0_20(void)
{
    update_one(0, 20);
}
void proof_update_1_15(void)
{
    update_one(1, 15);
}
void proof_update_15_20(void)
{
    update_one(15, 20);
}
void proof_update_16_16(void)
{
    update_one(16, 16);
}

void proof_final(void)
{
    uint8_t out[TR_BLOCK];
    size_t n = nondet_size();
    begin();
    d.overlap = false; /* `out` and c.buffer are disjoint */
    const bool padded = is_block_mode(&c) && c.padding;
    const enum tr_status status = tr_cipher_final(&c, out, &n);
    if (!has_key() || c.mode == TR_MODE_NONE) {
        assert(status == (has_key() ? TR_ERR_MODE : TR_ERR_STATE) && n == 0);
    } else if (!padded) {
        assert(status == (is_block_mode(&c) && before.used != 0 ? TR_ERR_LENGTH : TR_OK) && n == 0);
    } else if (!before.decrypt) {
        const size_t i = any_up_to(TR_BLOCK - 1);
        assert(status == TR_OK && n == TR_BLOCK && c.used == 0 && c.buffer[i] == 0);
        assert(out[i] == (i < before.used ? before.buffer[i] : TR_BLOCK - before.used));
    } else if (before.used != TR_BLOCK) {
        assert(status == TR_ERR_LENGTH && n == 0);
    } else {
        /* RFC 5652 section 6.3 */
        const unsigned pad = before.buffer[TR_BLOCK - 1];
        bool right = pad >= 1 && pad <= TR_BLOCK;
        for (unsigned i = 0; i < TR_BLOCK; i++)
            right = right && (i >= pad || before.buffer[TR_BLOCK - 1 - i] == pad);
        assert(status == (right ? TR_OK : TR_ERR_PADDING));
        assert(n == (right ? TR_BLOCK - pad : 0));
        const size_t i = any_up_to(TR_BLOCK - 1);
        assert(i >= n || out[i] == before.buffer[i]);
    }
    assert(invariant());
}
