/* SPDX-License-Identifier: BSD-2-Clause */
/* SIV, RFC 5297 section 2. */
#include "modes/aead.h"

enum phase { IDLE, AAD, DONE };

/* The largest number of AAD components (RFC 5297 section 2.6). */
#define MAX_COMPONENTS 126

static const uint8_t zeros[TR_BLOCK];

enum tr_status tr_siv_set_key(struct tr_siv_key *k, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    size_t half = key_len / 2;
    if (key_len % 2 != 0)
        return TR_ERR_KEY_LENGTH;
    enum tr_status status = tr_cmac_set_key(&k->mac, backend, raw, half);
    if (status == TR_OK)
        status = tr_aes_set_encryption_key(&k->ctr, backend, raw + half, half);
    if (status == TR_OK)
        status = tr_cmac_sign(&k->mac, zeros, TR_BLOCK, k->zero, TR_BLOCK);
    return status;
}

void tr_siv_rebind(struct tr_siv *s, const struct tr_siv_key *key)
{
    s->key = key;
}

enum tr_status tr_siv_start(struct tr_siv *s, const struct tr_siv_key *key)
{
    if (!tr_is_set(&key->ctr))
        return TR_ERR_STATE;
    s->key = key;
    __builtin_memcpy(s->sum, key->zero, TR_BLOCK);
    s->components = 0;
    s->phase = AAD;
    return TR_OK;
}

enum tr_status tr_siv_again(struct tr_siv *s)
{
    if (s->phase != DONE || !tr_is_set(&s->key->ctr))
        return TR_ERR_STATE;
    s->phase = AAD;
    return TR_OK;
}

enum tr_status tr_siv_aad(struct tr_siv *s, const uint8_t *aad, size_t len)
{
    uint8_t mac[TR_BLOCK];
    if (s->phase != AAD || !tr_is_set(&s->key->ctr))
        return TR_ERR_STATE;
    if (s->components == MAX_COMPONENTS)
        return TR_ERR_LENGTH;
    enum tr_status status = tr_cmac_sign(&s->key->mac, aad, len, mac, TR_BLOCK);
    if (status != TR_OK)
        return status;
    tr_double(s->sum, s->sum);
    tr_xor_block(s->sum, s->sum, mac);
    s->components++;
    tr_cleanse(mac, sizeof(mac));
    return TR_OK;
}

/* Processes the plaintext, the last string of S2V (section 2.4), and stores the synthetic IV in v.
 * S2V's variable D is in s->sum. If the plaintext has at least 16 bytes, XORs D into a copy of the
 * last 16. Otherwise, XORs the doubled D into a padded copy of the plaintext. */
static enum tr_status siv_s2v_last(struct tr_siv *s, const uint8_t *data, size_t len, uint8_t v[16])
{
    uint8_t block[TR_BLOCK] = {0}, doubled[TR_BLOCK] = {0};
    struct tr_cmac mac;
    enum tr_status status = tr_cmac_start(&mac, &s->key->mac);
    if (len >= TR_BLOCK) {
        if (status == TR_OK)
            status = tr_cmac_update(&mac, data, len - TR_BLOCK);
        tr_xor_block(block, data + len - TR_BLOCK, s->sum);
    } else {
        if (len != 0)
            __builtin_memcpy(block, data, len);
        block[len] = 0x80;
        tr_double(doubled, s->sum);
        tr_xor_block(block, block, doubled);
    }
    if (status == TR_OK)
        status = tr_cmac_update(&mac, block, TR_BLOCK);
    if (status == TR_OK)
        status = tr_cmac_tag(&mac, v, TR_BLOCK);
    tr_cleanse_inline(&mac, sizeof(mac));
    tr_cleanse_inline(block, sizeof(block));
    tr_cleanse_inline(doubled, sizeof(doubled));
    return status;
}

/* Counter mode (section 2.5). The first counter is V with two bits cleared. */
static enum tr_status siv_counter_mode(struct tr_siv *s, const uint8_t v[16], uint8_t *out,
                                       const uint8_t *in, size_t len)
{
    uint8_t counter[TR_BLOCK], keystream[TR_BLOCK];
    unsigned used = 0;
    __builtin_memcpy(counter, v, TR_BLOCK);
    counter[8] &= 0x7f;
    counter[12] &= 0x7f;
    enum tr_status status = tr_ctr(&s->key->ctr, counter, keystream, &used, out, in, len);
    tr_cleanse(keystream, sizeof(keystream));
    return status;
}

static enum tr_status siv_check(const struct tr_siv *s, const uint8_t *out, const uint8_t *in,
                                size_t len)
{
    if (s->phase != AAD || !tr_is_set(&s->key->ctr))
        return TR_ERR_STATE;
    return tr_bad_overlap(out, in, len) ? TR_ERR_OVERLAP : TR_OK;
}

enum tr_status tr_siv_encrypt(struct tr_siv *s, uint8_t *out, const uint8_t *in, size_t len,
                              uint8_t tag[16])
{
    enum tr_status status = siv_check(s, out, in, len);
    if (status != TR_OK)
        return status;
    uint8_t v[TR_BLOCK];
    status = siv_s2v_last(s, in, len, v);
    TR_PUBLISH(v, TR_BLOCK); /* the tag is public; CTR branches on the counter made of it */
    if (status == TR_OK)
        status = siv_counter_mode(s, v, out, in, len);
    if (status != TR_OK)
        return status;
    __builtin_memcpy(tag, v, TR_BLOCK);
    s->phase = DONE;
    return TR_OK;
}

enum tr_status tr_siv_decrypt(struct tr_siv *s, uint8_t *out, const uint8_t *in, size_t len,
                              const uint8_t tag[16])
{
    enum tr_status status = siv_check(s, out, in, len);
    if (status != TR_OK)
        return status;
    uint8_t expected[TR_BLOCK];
    status = siv_counter_mode(s, tag, out, in, len);
    if (status == TR_OK)
        status = siv_s2v_last(s, out, len, expected);
    s->phase = DONE;
    if (status != TR_OK || !TR_PUBLIC(tr_equal(expected, tag, TR_BLOCK))) {
        tr_cleanse(out, len);
        status = TR_ERR_TAG;
    }
    tr_cleanse(expected, sizeof(expected));
    return status;
}

enum tr_status tr_siv_seal(const struct tr_siv_key *key, const uint8_t *aad, size_t aad_len,
                           uint8_t *out, const uint8_t *in, size_t len, uint8_t tag[16])
{
    struct tr_siv s;
    enum tr_status status =
        TR_STEPS(tr_siv_start(&s, key), aad == NULL ? TR_OK : tr_siv_aad(&s, aad, aad_len),
                 tr_siv_encrypt(&s, out, in, len, tag));
    tr_cleanse_inline(&s, sizeof(s));
    return status;
}

enum tr_status tr_siv_open(const struct tr_siv_key *key, const uint8_t *aad, size_t aad_len,
                           uint8_t *out, const uint8_t *in, size_t len, const uint8_t tag[16])
{
    struct tr_siv s;
    enum tr_status status =
        TR_STEPS(tr_siv_start(&s, key), aad == NULL ? TR_OK : tr_siv_aad(&s, aad, aad_len),
                 tr_siv_decrypt(&s, out, in, len, tag));
    tr_cleanse_inline(&s, sizeof(s));
    return status;
}
