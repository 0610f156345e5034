/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bitsliced AES without tables, for every processor. sliced.h has the rounds.
 *
 * A word is one element of 64 bits, or a compiler vector of several. Each element holds bits of its
 * own four blocks. Bit 16 r + 4 c + k belongs to the byte in row r and column c (FIPS-197 section
 * 3.4) of block k. ShiftRows therefore rotates within 16 bits, and MixColumns rotates the element
 * by multiples of 16 bits. No operation moves bits between elements. This layout with rows of 16
 * bits is Pornin's (BearSSL, "constant-time AES").
 */
#include "dispatch/backend.h"
#include "partial_block.h"
#include "portable/expand.h"
#include "portable/ghash.h"
#include "unroll.h"
#include "util.h"

/* A word has two elements where the compiler may assume SSE2 or NEON: always on x86-64 and on
 * 64-bit Arm Linux. A word has one element elsewhere, and in a kernel, where code must first
 * request the vector registers. */
#if (defined(__SSE2__) || defined(__aarch64__)) && !defined(__KERNEL__)
#    define ELEMENTS 2u
typedef uint64_t word __attribute__((vector_size(8 * ELEMENTS)));
#else
#    define ELEMENTS 1u
typedef uint64_t word;
#endif
#define NAME(name) tr_bitslice_##name
#define BLOCKS     (4 * ELEMENTS) /* blocks per call of the cipher */

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Rotates row r left by r columns: its 16 bits rotate right by 4 r. */
TR_INLINE void bitslice_shift_rows(word q[8])
{
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        word x = q[i];
        q[i] = (x & 0x000000000000ffffu) | (x & 0x00000000fff00000u) >> 4 |
               (x & 0x00000000000f0000u) << 12 | (x & 0x0000ff0000000000u) >> 8 |
               (x & 0x000000ff00000000u) << 8 | (x & 0xf000000000000000u) >> 12 |
               (x & 0x0fff000000000000u) << 4;
    }
}

TR_INLINE void bitslice_inv_shift_rows(word q[8])
{
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        word x = q[i];
        q[i] = (x & 0x000000000000ffffu) | (x & 0x000000000fff0000u) << 4 |
               (x & 0x00000000f0000000u) >> 12 | (x & 0x0000ff0000000000u) >> 8 |
               (x & 0x000000ff00000000u) << 8 | (x & 0x000f000000000000u) << 12 |
               (x & 0xfff0000000000000u) >> 4;
    }
}

/* Moves row i + n (modulo 4) to row i, for every i. */
TR_INLINE word bitslice_rows_up(word x, unsigned n)
{
    return x >> 16 * n | x << 16 * (4 - n);
}

#define WORD              word
#define TR_TARGET         /* none */
#define rows_up(x, n, r)  ((void)(r), bitslice_rows_up(x, n))
#define shift_rows(q)     bitslice_shift_rows(q)
#define inv_shift_rows(q) bitslice_inv_shift_rows(q)
#include "portable/sliced.h"

/* The same for single elements. */
#if ELEMENTS > 1
DEFINE_TRANSPOSE(bitslice_transpose_element, uint64_t)
DEFINE_SUB_BYTES(bitslice_sub_bytes_element, uint64_t)
#else
#    define bitslice_transpose_element sliced_transpose
#    define bitslice_sub_bytes_element sliced_sub_bytes
#endif

/* ---- Slicing ------------------------------------------------------------------------------- */

/* bitslice_spread() puts the four bytes of v into the even bytes of an element; bitslice_gather()
 * reverses this. */
static uint64_t bitslice_spread(uint32_t v)
{
    uint64_t x = v;
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    return (x | x << 8) & 0x00ff00ff00ff00ffu;
}

static uint32_t bitslice_gather(uint64_t x)
{
    x &= 0x00ff00ff00ff00ffu;
    x = (x | x >> 8) & 0x0000ffff0000ffffu;
    return (uint32_t)(x | x >> 16);
}

/* Loads four blocks into one element of each word, ready for sliced_transpose(). The byte in row
 * r and column c of block k becomes byte 2 r + c div 2 of element[4 (c mod 2) + k]. In the
 * transposition, the element's index 4 (c mod 2) + k becomes the bit number within the byte. So
 * each bit moves to position 8 (2 r + c div 2) + 4 (c mod 2) + k, which is 16 r + 4 c + k. */
static void bitslice_load_element(uint64_t element[8], const uint8_t *in)
{
    for (unsigned k = 0; k < 4; k++, in += TR_BLOCK) {
        element[k] = bitslice_spread((uint32_t)partial_load32(in)) |
                     bitslice_spread((uint32_t)partial_load32(in + 8)) << 8;
        element[4 + k] = bitslice_spread((uint32_t)partial_load32(in + 4)) |
                         bitslice_spread((uint32_t)partial_load32(in + 12)) << 8;
    }
}

static void bitslice_store_element(uint8_t *out, const uint64_t element[8])
{
    for (unsigned k = 0; k < 4; k++, out += TR_BLOCK) {
        partial_store32(out, bitslice_gather(element[k]));
        partial_store32(out + 4, bitslice_gather(element[4 + k]));
        partial_store32(out + 8, bitslice_gather(element[k] >> 8));
        partial_store32(out + 12, bitslice_gather(element[4 + k] >> 8));
    }
}

static void bitslice_slice(word q[8], const uint8_t in[TR_BLOCK * BLOCKS])
{
    for (unsigned e = 0; e < ELEMENTS; e++) {
        uint64_t element[8];
        bitslice_load_element(element, in + 4 * TR_BLOCK * e);
        for (unsigned i = 0; i < 8; i++)
            __builtin_memcpy((uint8_t *)&q[i] + 8 * e, &element[i], 8);
        tr_cleanse_inline(element, sizeof(element));
    }
    sliced_transpose(q);
}

static void bitslice_unslice(uint8_t out[TR_BLOCK * BLOCKS], word q[8])
{
    sliced_transpose(q);
    for (unsigned e = 0; e < ELEMENTS; e++) {
        uint64_t element[8];
        for (unsigned i = 0; i < 8; i++)
            __builtin_memcpy(&element[i], (uint8_t *)&q[i] + 8 * e, 8);
        bitslice_store_element(out + 4 * TR_BLOCK * e, element);
        tr_cleanse_inline(element, sizeof(element));
    }
}

/* ---- Keys ---------------------------------------------------------------------------------- */

struct schedule {
    word round[15][8];
    unsigned rounds;
    size_t used;
};

TR_INLINE size_t NAME(part)(size_t blocks)
{
    return blocks;
}

/* Bitslices four round keys at a time, as the four blocks of one element. Copies each key to all
 * blocks of all elements. All keys but the first include the S-box's constant (sliced.h). */
static void NAME(prepare)(struct schedule *sk, const struct tr_aes_key *key, int inverse,
                          size_t blocks)
{
    (void)inverse, (void)blocks; /* both directions use `enc` */
    uint8_t four[4 * TR_BLOCK] = {0};
    uint64_t element[8];
    sk->rounds = key->rounds;
    sk->used = (key->rounds + 1) * sizeof(sk->round[0]);
    for (unsigned r = 0; r <= key->rounds; r++) {
        if (r % 4 == 0) {
            unsigned n = key->rounds + 1 - r < 4 ? key->rounds + 1 - r : 4;
            __builtin_memcpy(four, key->enc[r], (size_t)TR_BLOCK * n);
            bitslice_load_element(element, four);
            bitslice_transpose_element(element);
        }
        for (unsigned i = 0; i < 8; i++) {
            uint64_t bits = element[i] >> r % 4 & 0x1111111111111111u;
            bits ^= r != 0 && (SLICED_CONSTANT >> i & 1) != 0 ? 0x1111111111111111u : 0;
            sk->round[r][i] = (word){0} | ((bits << 4) - bits);
        }
    }
    tr_cleanse(four, sizeof(four));
    tr_cleanse(element, sizeof(element));
}

static uint32_t bitslice_sub_word(uint32_t w)
{
    uint64_t q[8] = {w};
    bitslice_transpose_element(q);
    bitslice_sub_bytes_element(q);
    bitslice_transpose_element(q);
    w = (uint32_t)q[0] ^ SLICED_CONSTANT * 0x01010101;
    tr_cleanse(q, sizeof(q));
    return w;
}

void tr_portable_expand_encryption_key(struct tr_aes_key *key, const uint8_t *raw)
{
    tr_expand_words(key, raw, bitslice_sub_word);
}

/* Multiplies each of four bytes by x in GF(2^8) (FIPS-197 section 4.2.1). */
static uint32_t bitslice_times_x(uint32_t a)
{
    return (a & 0x7f7f7f7f) << 1 ^ (a >> 7 & 0x01010101) * 0x1b;
}

/* InvMixColumns (FIPS-197 section 5.3.3) of one column. The multiples by 0e, 0b, 0d and 09 are XORs
 * of a, 2 a, 4 a and 8 a. */
static uint32_t bitslice_inv_mix_column(uint32_t a)
{
    uint32_t a2 = bitslice_times_x(a), a4 = bitslice_times_x(a2), a8 = bitslice_times_x(a4);
    uint32_t a9 = a8 ^ a, ab = a9 ^ a2, ad = a9 ^ a4, ae = a8 ^ a4 ^ a2;
    return ae ^ (ab >> 8 | ab << 24) ^ (ad >> 16 | ad << 16) ^ (a9 >> 24 | a9 << 8);
}

void tr_portable_expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    tr_portable_expand_encryption_key(key, raw);
    __builtin_memcpy(key->dec[0], key->enc[key->rounds], TR_BLOCK);
    for (unsigned i = 1; i < key->rounds; i++)
        for (unsigned j = 0; j < TR_BLOCK; j += 4)
            partial_store32(key->dec[i] + j, bitslice_inv_mix_column((uint32_t)partial_load32(
                                                 key->enc[key->rounds - i] + j)));
    __builtin_memcpy(key->dec[key->rounds], key->enc[0], TR_BLOCK);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

/* Always encrypts BLOCKS blocks, even if fewer are used. */
static void NAME(encrypt)(const struct schedule *sk, uint8_t b[TR_BLOCK * BLOCKS], unsigned n)
{
    (void)n;
    word q[8];
    bitslice_slice(q, b);
    sliced_encrypt(q, sk->round, sk->rounds);
    bitslice_unslice(b, q);
    tr_cleanse_inline(q, sizeof(q));
}

static void NAME(decrypt)(const struct schedule *sk, uint8_t b[TR_BLOCK * BLOCKS], unsigned n)
{
    (void)n;
    word q[8];
    bitslice_slice(q, b);
    sliced_decrypt(q, sk->round, sk->rounds);
    bitslice_unslice(b, q);
    tr_cleanse_inline(q, sizeof(q));
}

#define OWN_SERIAL 0
#include "portable/loops.h"

const struct tr_backend tr_bitslice = {
    .name = "bitslice",
    .expand_key = tr_portable_expand_encryption_key,
    .ghash_key = tr_portable_ghash_key,
    .ghash_key_refused = tr_portable_ghash_key,
    .bulk = {TR_PORTABLE_OPS, [TR_OP_GHASH] = tr_portable_ghash},
};
