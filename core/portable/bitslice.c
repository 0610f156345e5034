/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bitsliced AES without tables. Eight words hold the bits of several blocks, one word for each bit
 * of a byte. The S-box is a circuit of logic gates. No branch and no memory index depends on data.
 *
 * In sliced form, word b holds bit b of every byte. A word is one element of 64 bits, or a compiler
 * vector of several. Each element holds bits of its own four blocks. Bit 16 r + 4 c + k belongs to
 * the byte in row r and column c (FIPS-197 section 3.4) of block k. ShiftRows therefore rotates
 * within 16 bits, and MixColumns rotates the element by multiples of 16 bits. No operation moves
 * bits between elements.
 *
 * Sources: bitsliced AES is by Matsui, and by Käsper and Schwabe ("Faster and Timing-Attack
 * Resistant AES-GCM", CHES 2009). The layout with rows of 16 bits is Pornin's (BearSSL,
 * "constant-time AES"). The S-box is the circuit of Boyar and Peralta with 115 gates ("A new
 * combinational logic minimization technique with applications to cryptology", SEA 2010).
 */
#include "dispatch/backend.h"
#include "partial_block.h"
#include "portable/expand.h"
#include "portable/ghash.h"
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

/* ---- Slicing ------------------------------------------------------------------------------- */

/* Swaps the bits of y that mask selects with the bits of x that mask << shift selects. */
#define SWAP(x, y, mask, shift)                                                                    \
    do {                                                                                           \
        T t_ = ((x) >> (shift) ^ (y)) & (mask);                                                    \
        (y) ^= t_;                                                                                 \
        (x) ^= t_ << (shift);                                                                      \
    } while (0)

/* Exchanges the word index (3 bits) with the lowest 3 bits of the bit position. This transposes an
 * 8 x 8 matrix of bits at every byte position. The function is its own inverse, and exists for
 * whole words and for single elements. */
#define DEFINE_TRANSPOSE(name, type)                                                               \
    static void name(type q[8])                                                                    \
    {                                                                                              \
        typedef type T;                                                                            \
        for (unsigned i = 0; i < 8; i += 2)                                                        \
            SWAP(q[i], q[i + 1], 0x5555555555555555u, 1);                                          \
        for (unsigned i = 0; i < 8; i += i % 2 == 0 ? 1 : 3) {                                     \
            SWAP(q[i], q[i + 2], 0x3333333333333333u, 2);                                          \
        }                                                                                          \
        for (unsigned i = 0; i < 4; i++)                                                           \
            SWAP(q[i], q[i + 4], 0x0f0f0f0f0f0f0f0fu, 4);                                          \
    }
DEFINE_TRANSPOSE(bitslice_transpose, word)
#if ELEMENTS > 1
DEFINE_TRANSPOSE(bitslice_transpose_element, uint64_t)
#else
#    define bitslice_transpose_element bitslice_transpose
#endif

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

/*
 * Loads four blocks into one element of each word, ready for bitslice_transpose(). The byte in row
 * r and column c of block k becomes byte 2 r + c div 2 of element[4 (c mod 2) + k]. In the
 * transposition, the element's index 4 (c mod 2) + k becomes the bit number within the byte. So
 * each bit moves to position 8 (2 r + c div 2) + 4 (c mod 2) + k, which is 16 r + 4 c + k.
 */
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
    bitslice_transpose(q);
}

static void bitslice_unslice(uint8_t out[TR_BLOCK * BLOCKS], word q[8])
{
    bitslice_transpose(q);
    for (unsigned e = 0; e < ELEMENTS; e++) {
        uint64_t element[8];
        for (unsigned i = 0; i < 8; i++)
            __builtin_memcpy(&element[i], (uint8_t *)&q[i] + 8 * e, 8);
        bitslice_store_element(out + 4 * TR_BLOCK * e, element);
        tr_cleanse_inline(element, sizeof(element));
    }
}

/* ---- The round, FIPS-197 sections 5.1 and 5.3 ----------------------------------------------- */

/* SubBytes on q[0] (the lowest bits) to q[7]. Variable names are Boyar and Peralta's, where x0 is
 * the highest bit. */
#define DEFINE_SUB_BYTES(name, T)                                                                  \
    static void name(T q[8])                                                                       \
    {                                                                                              \
        T x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4], x4 = q[3], x5 = q[2], x6 = q[1], x7 = q[0];  \
        /* The top linear layer. */                                                                \
        T y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2;                  \
        T y1 = t0 ^ x7, y4 = y1 ^ x3, y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6;                 \
        T y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5, y20 = t1 ^ x1, y6 = y15 ^ x7;                \
        T y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8;          \
        T y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;                                         \
        /* The inversion in GF(2^8). */                                                            \
        T t2 = y12 & y15, t3 = y3 & y6, t4 = t3 ^ t2, t5 = y4 & x7, t6 = t5 ^ t2;                  \
        T t7 = y13 & y16, t8 = y5 & y1, t9 = t8 ^ t7, t10 = y2 & y7, t11 = t10 ^ t7;               \
        T t12 = y9 & y11, t13 = y14 & y17, t14 = t13 ^ t12, t15 = y8 & y10, t16 = t15 ^ t12;       \
        T t17 = t4 ^ t14, t18 = t6 ^ t16, t19 = t9 ^ t14, t20 = t11 ^ t16, t21 = t17 ^ y20;        \
        T t22 = t18 ^ y19, t23 = t19 ^ y21, t24 = t20 ^ y18, t25 = t21 ^ t22, t26 = t21 & t23;     \
        T t27 = t24 ^ t26, t28 = t25 & t27, t29 = t28 ^ t22, t30 = t23 ^ t24, t31 = t22 ^ t26;     \
        T t32 = t31 & t30, t33 = t32 ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35;     \
        T t37 = t36 ^ t34, t38 = t27 ^ t36, t39 = t29 & t38, t40 = t25 ^ t39, t41 = t40 ^ t37;     \
        T t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41;                      \
        T z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1;             \
        T z5 = t29 & y7, z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12;           \
        T z10 = t37 & y3, z11 = t33 & y4, z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2;         \
        T z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;                                         \
        /* The bottom linear layer, with the constant 0x63. */                                     \
        T t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12;        \
        T t51 = z2 ^ z5, t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17;             \
        T t56 = z12 ^ t48, t57 = t50 ^ t53, t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57;       \
        T t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58, t64 = z4 ^ t59, t65 = t61 ^ t62;      \
        T t66 = z1 ^ t63, t67 = t64 ^ t65, s3 = t53 ^ t66;                                         \
        q[7] = t59 ^ t63;                                                                          \
        q[6] = ~(t64 ^ s3);                                                                        \
        q[5] = ~(t55 ^ t67);                                                                       \
        q[4] = s3;                                                                                 \
        q[3] = t51 ^ t66;                                                                          \
        q[2] = t47 ^ t65;                                                                          \
        q[1] = ~(t56 ^ t62);                                                                       \
        q[0] = ~(t48 ^ t60);                                                                       \
    }
DEFINE_SUB_BYTES(bitslice_sub_bytes, word)
#if ELEMENTS > 1
DEFINE_SUB_BYTES(bitslice_sub_bytes_element, uint64_t)
#else
#    define bitslice_sub_bytes_element bitslice_sub_bytes
#endif

/* The S-box is S(x) = A x^-1 ^ 0x63, where A is a matrix of bits (FIPS-197 section 5.1.1). This
 * function computes L(y) = A^-1 (y ^ 0x63), the inverse of the affine map (section 5.3.2). */
static void bitslice_inverse_affine(word q[8])
{
    word y[8];
    for (unsigned i = 0; i < 8; i++)
        y[i] = q[i];
    for (unsigned i = 0; i < 8; i++)
        q[i] = y[(i + 2) % 8] ^ y[(i + 5) % 8] ^ y[(i + 7) % 8];
    q[0] = ~q[0];
    q[2] = ~q[2];
}

/* Computes the inverse S-box of y, which is the inverse of L(y) in GF(2^8). The inverse of any x is
 * L(S(x)), so the inverse S-box is L(S(L(y))). */
static void bitslice_inv_sub_bytes(word q[8])
{
    bitslice_inverse_affine(q);
    bitslice_sub_bytes(q);
    bitslice_inverse_affine(q);
}

/* Rotates row r left by r columns: its 16 bits rotate right by 4 r. */
static void bitslice_shift_rows(word q[8])
{
    for (unsigned i = 0; i < 8; i++) {
        word x = q[i];
        q[i] = (x & 0x000000000000ffffu) | (x & 0x00000000fff00000u) >> 4 |
               (x & 0x00000000000f0000u) << 12 | (x & 0x0000ff0000000000u) >> 8 |
               (x & 0x000000ff00000000u) << 8 | (x & 0xf000000000000000u) >> 12 |
               (x & 0x0fff000000000000u) << 4;
    }
}

static void bitslice_inv_shift_rows(word q[8])
{
    for (unsigned i = 0; i < 8; i++) {
        word x = q[i];
        q[i] = (x & 0x000000000000ffffu) | (x & 0x000000000fff0000u) << 4 |
               (x & 0x00000000f0000000u) >> 12 | (x & 0x0000ff0000000000u) >> 8 |
               (x & 0x000000ff00000000u) << 8 | (x & 0x000f000000000000u) << 12 |
               (x & 0xfff0000000000000u) >> 4;
    }
}

/* Moves row r + n (mod 4) to row r, for every r. */
#define ROWS_UP(x, n) ((x) >> 16 * (n) | (x) << 16 * (4 - (n)))

/* Sets r to 2 t in GF(2^8), with x^8 = x^4 + x^3 + x + 1 (FIPS-197 section 4.2.1). The arrays r and
 * t must be different. */
static void bitslice_twice(word r[8], const word t[8])
{
    for (unsigned i = 1; i < 8; i++)
        r[i] = t[i - 1];
    r[0] = t[7];
    r[1] ^= t[7];
    r[3] ^= t[7];
    r[4] ^= t[7];
}

/* MixColumns of a row a0, with the rows a1, a2 and a3 after it, is 2 a0 ^ 3 a1 ^ a2 ^ a3. Let
 * t = a0 ^ a1, and let t2 = a2 ^ a3, which is t moved by two rows. The code then computes the equal
 * value 2 t ^ a1 ^ t2. */
static void bitslice_mix_columns(word q[8])
{
    word t[8], doubled[8];
    for (unsigned i = 0; i < 8; i++)
        t[i] = q[i] ^ ROWS_UP(q[i], 1);
    bitslice_twice(doubled, t);
    for (unsigned i = 0; i < 8; i++)
        q[i] = doubled[i] ^ ROWS_UP(q[i], 1) ^ ROWS_UP(t[i], 2);
}

/* InvMixColumns is MixColumns after a product with the circulant matrix of {5, 0, 4, 0}. The code
 * computes this product, 5 a0 ^ 4 a2, as a0 ^ 4 (a0 ^ a2), where a2 is two rows after a0. */
static void bitslice_inv_mix_columns(word q[8])
{
    word t[8], doubled[8];
    for (unsigned i = 0; i < 8; i++)
        t[i] = q[i] ^ ROWS_UP(q[i], 2);
    bitslice_twice(doubled, t);
    bitslice_twice(t, doubled);
    for (unsigned i = 0; i < 8; i++)
        q[i] ^= t[i];
    bitslice_mix_columns(q);
}

/* ---- Keys ---------------------------------------------------------------------------------- */

struct schedule {
    word round[15][8];
    unsigned rounds;
};

/* Bitslices four round keys at a time, as the four blocks of one element. Copies each key to all
 * blocks of all elements. */
static void NAME(prepare)(struct schedule *sk, const struct tr_aes_key *key, int inverse)
{
    (void)inverse; /* both directions use `enc` */
    uint8_t four[4 * TR_BLOCK] = {0};
    uint64_t element[8];
    sk->rounds = key->rounds;
    for (unsigned r = 0; r <= key->rounds; r++) {
        if (r % 4 == 0) {
            unsigned n = key->rounds + 1 - r < 4 ? key->rounds + 1 - r : 4;
            __builtin_memcpy(four, key->enc[r], (size_t)TR_BLOCK * n);
            bitslice_load_element(element, four);
            bitslice_transpose_element(element);
        }
        for (unsigned i = 0; i < 8; i++) {
            uint64_t bits = element[i] >> r % 4 & 0x1111111111111111u;
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
    w = (uint32_t)q[0];
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

static void bitslice_add_round_key(word q[8], const word k[8])
{
    for (unsigned i = 0; i < 8; i++)
        q[i] ^= k[i];
}

/* Always encrypts BLOCKS blocks, even if fewer are used. */
static void NAME(encrypt)(const struct schedule *sk, uint8_t b[TR_BLOCK * BLOCKS], unsigned n)
{
    (void)n;
    word q[8];
    bitslice_slice(q, b);
    bitslice_add_round_key(q, sk->round[0]);
    for (unsigned r = 1; r <= sk->rounds; r++) {
        bitslice_sub_bytes(q);
        bitslice_shift_rows(q);
        if (r != sk->rounds)
            bitslice_mix_columns(q);
        bitslice_add_round_key(q, sk->round[r]);
    }
    bitslice_unslice(b, q);
    tr_cleanse_inline(q, sizeof(q));
}

static void NAME(decrypt)(const struct schedule *sk, uint8_t b[TR_BLOCK * BLOCKS], unsigned n)
{
    (void)n;
    word q[8];
    bitslice_slice(q, b);
    bitslice_add_round_key(q, sk->round[sk->rounds]);
    for (unsigned r = sk->rounds; r-- > 0;) {
        bitslice_inv_shift_rows(q);
        bitslice_inv_sub_bytes(q);
        bitslice_add_round_key(q, sk->round[r]);
        if (r != 0)
            bitslice_inv_mix_columns(q);
    }
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
