/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares bitslice, the reference for the other backends, with the textbook implementation
 * (reference.h). Covers the modes of struct tr_cipher at every valid length up to 600 bytes. Also
 * tests the key expansion of every backend, and the textbook implementation itself against
 * FIPS-197. */
#include "common.h"
#include "reference.h"

#define LONGEST 600

static struct tap_random rng;

static bool textbook_is_right(void)
{
    static const struct {
        size_t len;
        uint8_t ciphertext[16];
    } appendix_c[] = {
        {16,
         {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5,
          0x5a}},
        {24,
         {0xdd, 0xa9, 0x7c, 0xa4, 0x86, 0x4c, 0xdf, 0xe0, 0x6e, 0xaf, 0x70, 0xa0, 0xec, 0x0d, 0x71,
          0x91}},
        {32,
         {0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60,
          0x89}},
    };
    bool good = true;
    for (int i = 0; i < 3; i++) {
        struct reference_key key;
        uint8_t raw[32], plaintext[16], block[16];
        for (uint8_t j = 0; j < 32; j++)
            raw[j] = j;
        for (uint8_t j = 0; j < 16; j++)
            plaintext[j] = block[j] = (uint8_t)(j * 0x11);
        reference_expand(&key, raw, appendix_c[i].len);
        reference_encrypt_block(&key, block);
        good &= tap_same(block, appendix_c[i].ciphertext, 16);
        reference_decrypt_block(&key, block);
        good &= tap_same(block, plaintext, 16);
    }
    return good;
}

/* Compares both round-key schedules with the textbook ones. The decryption schedule is the
 * encryption schedule in reverse, with InvMixColumns applied to all round keys but the first and
 * the last (FIPS-197 section 5.3.5). The backend bitslice has no decryption schedule. */
static bool same_schedules(const struct tr_backend *b, const uint8_t *raw, size_t len)
{
    const struct tr_aes_key key = key_for(b, raw, len);
    struct reference_key reference;
    reference_expand(&reference, raw, len);
    bool good = key.rounds == reference.rounds;
    for (unsigned i = 0; i <= reference.rounds && good; i++) {
        uint8_t dec[16];
        memcpy(dec, reference.w[reference.rounds - i], 16);
        if (i > 0 && i < reference.rounds)
            reference_inv_mix_columns(dec);
        good = tap_same(key.enc[i], reference.w[i], 16) &&
               (b == &tr_bitslice || tap_same(key.dec[i], dec, 16));
    }
    return good;
}

static void test_keys(const struct tr_backend *b, size_t len)
{
    unsigned good = 0;
    const unsigned n = 500;
    for (unsigned i = 0; i < n; i++) {
        uint8_t raw[32];
        tap_fill(&rng, raw, sizeof(raw));
        if (i < 2)
            memset(raw, i == 0 ? 0 : 0xff, sizeof(raw));
        good += same_schedules(b, raw, len);
    }
    tap_ok(good == n, "%s: %u of %u key expansions equal the textbook's, %zu-byte keys",
           tr_backend_name(b), good, n, len);
}

static void test_mode(enum tr_mode mode, bool decrypt, size_t key_len)
{
    static uint8_t in[LONGEST], out[LONGEST], expected[LONGEST];
    uint8_t raw[32], iv[16];
    unsigned good = 0, n = 0;
    const size_t step = mode_is_blocks(mode) ? 16 : 1;
    for (size_t len = 0; len <= LONGEST; len += step) {
        tap_fill(&rng, raw, sizeof(raw));
        random_iv(&rng, mode, iv);
        tap_fill(&rng, in, len);
        const struct tr_aes_key key = key_for(&tr_bitslice, raw, key_len);
        struct reference_key reference;
        reference_expand(&reference, raw, key_len);
        reference_message(&reference, mode, decrypt, iv, expected, in, len);
        struct position p = position_at(iv);
        good += mode_run(&key, mode, decrypt, &p, out, in, len) == TR_OK &&
                tap_same(out, expected, len);
        n++;
    }
    tap_ok(good == n, "bitslice equals the textbook at %u of %u lengths of %s-%zu %s", good, n,
           mode_name(mode), key_len * 8, decrypt ? "decryption" : "encryption");
}

int main(void)
{
    tap_plan(1 + 3 * backend_count() + 3 * MODES * 2);
    rng = tap_random(0);
    tap_ok(textbook_is_right(), "the textbook implementation agrees with FIPS-197 appendix C");
    const struct tr_backend *b;
    for (unsigned k = 0; (b = tr_backend_at(k)) != NULL; k++)
        for (int i = 0; i < 3; i++)
            if (!backend_skip(b, 1))
                test_keys(b, key_lengths[i]);
    for (int i = 0; i < 3; i++)
        for (int m = 0; m < MODES; m++)
            for (int decrypt = 0; decrypt < 2; decrypt++)
                test_mode(all_modes[m], decrypt, key_lengths[i]);
    return tap_done();
}
