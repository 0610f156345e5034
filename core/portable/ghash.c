/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GHASH (SP 800-38D section 6.4) with integer multiplications. It is for processors without
 * carry-less multiplication, and for calls to which the environment refuses the vector registers.
 * No branch or index depends on data. The 64-bit integer multiplication takes the same time for all
 * operands on the processors that run this code (x86-64, Armv8).
 *
 * A bit of an integer product equals the bit of the carry-less product if no carry reaches it. So
 * each factor is split into four parts, each with every fourth bit. In the product of two parts,
 * terms fall only on every fourth bit. Below bit 60, at most 15 terms fall on a bit. Their carries
 * reach only the three bits above that bit, and the code masks these bits. A bit from 60 to 63 can
 * get 16 terms, but their carry leaves the 64-bit word. The XOR of the 16 masked products is the
 * low half of the carry-less product. For the high half, the code multiplies the bit-reversed
 * factors. It then reverses the low half of the product, and shifts this half right by one bit.
 * (Pornin, "BearSSL: GHASH, constant-time multiplications".)
 */
#include "portable/ghash.h"

#include "dispatch/backend.h"
#include "dispatch/ghash.h"
#include "util.h"

/* Returns the low 64 bits of the carry-less product. */
static uint64_t multiply_low(uint64_t x, uint64_t y)
{
    uint64_t a[4], b[4], z = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t mask = 0x1111111111111111u << i;
        a[i] = x & mask;
        b[i] = y & mask;
    }
    for (unsigned i = 0; i < 4; i++) {
        uint64_t sum = 0;
        for (unsigned j = 0; j < 4; j++)
            sum ^= a[j] * b[(i - j) % 4];
        z |= sum & 0x1111111111111111u << i;
    }
    return z;
}

static uint64_t reverse_bits(uint64_t x)
{
    x = (x & 0x5555555555555555u) << 1 | (x >> 1 & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) << 2 | (x >> 2 & 0x3333333333333333u);
    x = (x & 0x0f0f0f0f0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0fu);
    return __builtin_bswap64(x);
}

/* A factor: its low half, its high half and the XOR of both halves, then the same three words with
 * their bits reversed. */
struct factor {
    uint64_t half[3], reversed[3];
};

static void set_factor(struct factor *f, uint64_t low, uint64_t high)
{
    f->half[0] = low;
    f->half[1] = high;
    f->half[2] = low ^ high;
    for (unsigned i = 0; i < 3; i++)
        f->reversed[i] = reverse_bits(f->half[i]);
}

/*
 * Multiplies y by h modulo the polynomial. The first 8 bytes of the block are y[1]. The highest bit
 * of y[1] is the coefficient of x^0. Karatsuba over the halves gives 255 bits in v[0] (lowest) to
 * v[3]. A left shift by one bit makes the highest bit of v[3] the coefficient of x^0. The code then
 * folds v[0] and v[1] (x^128 and higher) into v[2] and v[3], because x^128 is x^7 + x^2 + x + 1.
 *
 * TR_INLINE is necessary: gcc would not inline this function by itself, because it has two callers.
 * The calls would take 8 % of the time of a long GCM message with bitsliced AES (Zen 4).
 */
TR_INLINE void multiply(uint64_t y[2], const struct factor *h)
{
    struct factor f;
    uint64_t low[3], high[3], v[4];
    set_factor(&f, y[0], y[1]);
    for (unsigned i = 0; i < 3; i++) {
        low[i] = multiply_low(f.half[i], h->half[i]);
        high[i] = reverse_bits(multiply_low(f.reversed[i], h->reversed[i])) >> 1;
    }
    low[2] ^= low[0] ^ low[1];
    high[2] ^= high[0] ^ high[1];
    v[0] = low[0];
    v[1] = high[0] ^ low[2];
    v[2] = low[1] ^ high[2];
    v[3] = high[1];
    for (unsigned i = 3; i > 0; i--)
        v[i] = v[i] << 1 | v[i - 1] >> 63;
    v[0] <<= 1;
    for (unsigned i = 0; i < 2; i++) {
        v[i + 2] ^= v[i] ^ v[i] >> 1 ^ v[i] >> 2 ^ v[i] >> 7;
        v[i + 1] ^= v[i] << 63 ^ v[i] << 62 ^ v[i] << 57;
    }
    y[0] = v[2];
    y[1] = v[3];
}

void tr_portable_ghash_key(struct tr_ghash_key *key)
{
    key->powers_state = (uintptr_t)key;
    key->powers_wanted = 0;
}

/* Cleanses the stack that the function called just before has used. Cleansing inside that function
 * would force its variables into memory, which is slower. */
static __attribute__((__noinline__)) void ghash_cleanse_frame(void)
{
    uint8_t frame[sizeof(void *) == 8 ? 512 : 1024];
    tr_cleanse_inline(frame, sizeof(frame));
}

static __attribute__((__noinline__)) void ghash_store_powers(struct tr_ghash_key *key)
{
    const uint64_t low = tr_load64_be(key->h + 8), high = tr_load64_be(key->h);
    uint64_t power[2] = {low, high};
    struct factor h;
    set_factor(&h, low, high);
    for (unsigned n = 1; n <= TR_GHASH_FIRST_POWERS; n++) {
        /* Sets `form` to H^n x^-1 (simd/gcm/ghash.h): shifts H^n left by one bit. If that shifts
         * out a 1, XORs the polynomial. */
        uint64_t carry = power[1] >> 63;
        uint64_t form[2] = {power[0] << 1 | carry,
                            (power[1] << 1 | power[0] >> 63) ^ ((0 - carry) & 0xc200000000000000)};
        uint8_t *to = key->power[TR_GHASH_POWERS - n];
        tr_store64_be(to, __builtin_bswap64(form[0]));
        tr_store64_be(to + 8, __builtin_bswap64(form[1]));
        multiply(power, &h);
    }
}

void tr_portable_ghash_powers(struct tr_ghash_key *key)
{
    ghash_store_powers(key);
    ghash_cleanse_frame();
    tr_portable_ghash_key(key);
}

void tr_portable_ghash_tables(struct tr_ghash_key *key)
{
    uint8_t multiple[8][TR_BLOCK]; /* h, h x, .. h x^7 */
    uint64_t high = tr_load64_be(key->h), low = tr_load64_be(key->h + 8);
    for (unsigned i = 0; i < 8; i++) {
        tr_store64_be(multiple[i], high);
        tr_store64_be(multiple[i] + 8, low);
        uint64_t carry = 0 - (low & 1);
        low = low >> 1 | high << 63;
        high = high >> 1 ^ (carry & 0xe100000000000000);
    }
    /* Writes 16 multiplication tables for the high nibble of a byte, then 16 for the low nibble.
     * Entry n of table j is byte j of the product of nibble n and h. The highest bit of a nibble is
     * the coefficient of its lowest power of x. */
    uint8_t *to = key->power[0];
    for (unsigned nibble = 0; nibble < 2; nibble++)
        for (unsigned j = 0; j < TR_BLOCK; j++)
            for (unsigned n = 0; n < 16; n++) {
                uint8_t sum = 0;
                for (unsigned bit = 0; bit < 4; bit++)
                    sum ^= (uint8_t)((0u - (n >> (3 - bit) & 1u)) & multiple[4 * nibble + bit][j]);
                *to++ = sum;
            }
    tr_portable_ghash_key(key);
    tr_cleanse(multiple, sizeof(multiple));
}

/* Hashes 1 or more blocks. Leaves most of its variables in its stack frame, because they do not fit
 * in registers. The caller must cleanse this frame. */
static __attribute__((__noinline__)) void ghash_hash_blocks(struct tr_ghash *ghash,
                                                            const uint8_t *in, size_t blocks)
{
    struct factor h;
    uint64_t y[2] = {tr_load64_be(ghash->hash + 8), tr_load64_be(ghash->hash)};
    set_factor(&h, tr_load64_be(ghash->key->h + 8), tr_load64_be(ghash->key->h));
    for (; blocks != 0; blocks--, in += TR_BLOCK) {
        y[0] ^= tr_load64_be(in + 8);
        y[1] ^= tr_load64_be(in);
        multiply(y, &h);
    }
    tr_store64_be(ghash->hash + 8, y[0]);
    tr_store64_be(ghash->hash, y[1]);
}

void tr_portable_ghash(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks,
                       void *state)
{
    (void)key, (void)out;
    ghash_hash_blocks(state, in, blocks);
    ghash_cleanse_frame();
}
