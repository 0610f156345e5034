/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES by vector permutation, for processors without AES instructions. No memory address depends on
 * a secret: PSHUFB (SSSE3) or TBL (NEON) looks up 16 bytes in a table of 16 bytes in a register.
 * The round is in vperm.h.
 *
 * The bound is the number of operations. An encryption round of one block has 12 shuffles and 14
 * other operations. Four blocks in flight hide the latency of a round. The serial modes are
 * latency-bound: the latencies in a round add up to 13 cycles, and a round takes 16.2 cycles
 * (Emerald Rapids; docs/tuning/software.md).
 */
#include "dispatch/backend.h"
#include "portable/expand.h"
#include "portable/ghash.h"
#include "unroll.h"
#include "util.h"
#if TR_X86 || TR_ARM64
#    if TR_X86
#        include <tmmintrin.h>
#        define TR_TARGET __attribute__((target("ssse3")))
#        define FEATURE   TR_FEATURE_SSSE3
#        define KEEP(x)   __asm__("" : "+x"(x))
#    else
#        include <arm_neon.h>
#        define TR_TARGET
#        define FEATURE TR_FEATURE_NEON
#        define KEEP(x) __asm__("" : "+w"(x))
#    endif
#    define NAME(name)   tr_vperm_##name
#    define VPERM_BLOCKS 4u
/* SLICED: whether long calls are bitsliced. The stack of a kernel is too small for sliced round
 * keys, 32-bit code has 8 registers, and on Arm nobody has measured it. */
#    if defined(__x86_64__) && TR_ENV_STACK >= 16384
#        define SLICED 1
#    else
#        define SLICED 0
#    endif
/* The fewest blocks for which eight bitsliced ones are faster. */
#    define SLICED_FROM 6u

typedef uint8_t V __attribute__((vector_size(16)));
typedef int8_t signed_bytes __attribute__((vector_size(16)));
typedef uint32_t words __attribute__((vector_size(16)));
typedef uint64_t x64 __attribute__((vector_size(16)));

TR_INLINE TR_TARGET V load(const uint8_t *p)
{
    V x;
    __builtin_memcpy(&x, p, sizeof(x));
    return x;
}

TR_INLINE TR_TARGET void store(uint8_t *p, V x)
{
    __builtin_memcpy(p, &x, sizeof(x));
}

/* Returns the bytes of x that `index` selects. An index is below 16, or has its high bit set, which
 * gives zero. */
TR_INLINE TR_TARGET V v_shuffle(V x, V index)
{
#    if TR_X86
    return (V)_mm_shuffle_epi8((__m128i)x, (__m128i)index);
#    else
    return (V)vqtbl1q_u8((uint8x16_t)x, (uint8x16_t)index);
#    endif
}

TR_INLINE TR_TARGET V v_lanes(const uint8_t p[16])
{
    return load((const uint8_t *)__builtin_assume_aligned(p, 16));
}

TR_INLINE TR_TARGET V high_nibbles(V x)
{
#    if TR_X86 /* x86 cannot shift bytes */
    x &= 0xf0;
    KEEP(x);
    return (V)((words)x >> 4);
#    else
    return x >> 4;
#    endif
}

TR_INLINE TR_TARGET V low_nibbles(V x)
{
    return x & 0x0f;
}

#    include "simd/vperm.h"
#    if SLICED
#        include "simd/sliced8.h"
#        define BLOCKS SLICED_BLOCKS
#    else
#        define BLOCKS VPERM_BLOCKS
#    endif

/* ---- Keys ---- */

struct schedule {
    union {
        uint8_t row[15][TR_BLOCK];
#    if SLICED
        x64 sliced[15][8];
#    endif
    } round;
    size_t used; /* the bytes of `round` that are set */
    unsigned rounds;
    int is_sliced;
} TR_ALIGNED(16);

/* Returns the first or the last round key, in the standard basis. The first of encryption and the
 * last of decryption do not include the S-box constant. */
TR_INLINE TR_TARGET V outer_key(const struct tr_aes_key *key, int is_last, int inverse)
{
    const unsigned r = is_last ? key->rounds : 0;
    const V k = load(inverse ? key->dec[r] : key->enc[r]);
    return is_last == inverse ? k : k ^ 0x63;
}

/* Returns another round key, in the form that encrypt_round() XORs late or decrypt_round() XORs. It
 * includes the S-box constant. */
TR_INLINE TR_TARGET V middle_key(const struct tr_aes_key *key, unsigned r, int inverse)
{
    if (inverse)
        return map_bytes(enter_decryption, load(key->dec[r]) ^ 0x63);
    const V k = load(key->enc[r]), low = look_up(enter_round_key, low_nibbles(k));
    return move_rows(low ^ look_up(enter_encryption[1], high_nibbles(k)), 0, r);
}

/* All groups of eight are bitsliced, but not the blocks after them if they are few. */
TR_INLINE size_t NAME(part)(size_t blocks)
{
    const size_t rest = blocks % BLOCKS;
    if (!SLICED || rest == 0 || rest >= SLICED_FROM)
        return blocks;
    return blocks != rest ? blocks - rest : rest < VPERM_BLOCKS ? rest : VPERM_BLOCKS;
}

TR_TARGET static void NAME(prepare)(struct schedule *s, const struct tr_aes_key *key, int inverse,
                                    size_t blocks)
{
    s->rounds = key->rounds;
    s->is_sliced = SLICED && blocks >= SLICED_FROM;
    s->used = (s->rounds + 1) * (s->is_sliced ? 8 : 1) * TR_BLOCK;
#    if SLICED
    if (s->is_sliced) {
        sliced8_keys(s->round.sliced, key);
        return;
    }
#    endif
    store(s->round.row[0], outer_key(key, 0, inverse));
    for (unsigned r = 1; r < s->rounds; r++)
        store(s->round.row[r], middle_key(key, r, inverse));
    store(s->round.row[s->rounds], outer_key(key, 1, inverse));
}

/* Computes SubWord without a table in memory. */
TR_TARGET static uint32_t vperm_sub_word(uint32_t word)
{
    struct inverse v = invert_bytes(map_bytes(enter_encryption, (V)(words){word}));
    return ((words)(look_up_both(sub_last, v.io, v.jo) ^ 0x63))[0];
}

TR_INLINE TR_TARGET V twice(V x)
{
    V carry = (V)((signed_bytes)x < 0) & 0x1b;
    return (x + x) ^ carry;
}

/* InvMixColumns (FIPS-197 section 5.3.3). Let R[r] be row r: R[r] becomes 14 R[r] ^ 11 R[r + 1] ^
 * 13 R[r + 2] ^ 9 R[r + 3]. */
TR_TARGET static V vperm_inv_mix_columns(V x)
{
    V x2 = twice(x), x4 = twice(x2), x8 = twice(x4), x9 = x8 ^ x;
    V e = x8 ^ x4 ^ x2;
    V b = move_rows(x9 ^ x2, 1, 0);
    V d = move_rows(x9 ^ x4, 2, 0);
    return e ^ b ^ d ^ move_rows(x9, 3, 0);
}

TR_TARGET void tr_vperm_expand_key(struct tr_aes_key *key, const uint8_t *raw)
{
    tr_expand_words(key, raw, vperm_sub_word);
    unsigned n = key->rounds;
    for (unsigned r = 0; r <= n; r++) {
        V k = load(key->enc[n - r]);
        store(key->dec[r], r == 0 || r == n ? k : vperm_inv_mix_columns(k));
    }
}

/* ---- Blocks ---- */

TR_INLINE TR_TARGET void crypt_blocks(const struct schedule *s, uint8_t *b, unsigned n, int inverse)
{
    const uint8_t(*keys)[16] = s->round.row;
    V x[VPERM_BLOCKS], k = load(keys[0]);
    UNROLL
    for (unsigned j = 0; j < n; j++) {
        x[j] = k ^ load(b + j * TR_BLOCK);
        x[j] = map_bytes(inverse ? enter_decryption : enter_encryption, x[j]);
    }
    for (unsigned r = 1; r < s->rounds; r++) {
        k = load(keys[r]);
        UNROLL
        for (unsigned j = 0; j < n; j++)
            x[j] = inverse ? decrypt_round(x[j], k) : encrypt_round(x[j], k, r, 0);
    }
    k = load(keys[s->rounds]);
    UNROLL
    for (unsigned j = 0; j < n; j++)
        store(b + j * TR_BLOCK, last_round(x[j], k, inverse, s->rounds));
}

TR_INLINE TR_TARGET void crypt_any(const struct schedule *s, uint8_t *b, unsigned n, int inverse)
{
#    if SLICED
    if (s->is_sliced) {
        sliced8_crypt(s->round.sliced, s->rounds, b, inverse);
        return;
    }
#    endif
    if (n == 1)
        crypt_blocks(s, b, 1, inverse);
    else
        crypt_blocks(s, b, VPERM_BLOCKS, inverse);
}

TR_TARGET static void NAME(encrypt)(const struct schedule *s, uint8_t *b, unsigned n)
{
    crypt_any(s, b, n, 0);
}

TR_TARGET static void NAME(decrypt)(const struct schedule *s, uint8_t *b, unsigned n)
{
    crypt_any(s, b, n, 1);
}

/* Returns the block that is XORed between two runs of the cipher: the next plaintext block (CBC),
 * the current plaintext block (CFB), or zero (OFB). */
TR_INLINE TR_TARGET V chained(enum tr_op op, const uint8_t *in, size_t blocks_left)
{
    if (op == TR_OP_CFB_ENCRYPT)
        return load(in);
    return op == TR_OP_CBC_ENCRYPT && blocks_left > 1 ? load(in + TR_BLOCK) : (V){0};
}

/* The serial modes. The chain stays in registers, in the basis of the state between rounds
 * (vperm.h). The last round's result goes straight into the next block's first round. The chain
 * does not wait for the output. The first block maps the round keys, in the shadow of its rounds'
 * latency, and stores them for the others. */
TR_TARGET static void NAME(serial)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                   size_t blocks, uint8_t *iv, enum tr_op op)
{
    uint8_t mapped[15][TR_BLOCK] TR_ALIGNED(16);
    const unsigned rounds = key->rounds;
    const V first = outer_key(key, 0, 0), last = outer_key(key, 1, 0);
    const int keep = blocks != 1;
    V output = load(iv), start = output ^ first;
    if (op == TR_OP_CBC_ENCRYPT)
        start ^= load(in);
    V x = map_bytes(enter_encryption, start);
    for (int is_first = 1; blocks != 0; is_first = 0, blocks--, in += TR_BLOCK, out += TR_BLOCK) {
        V added = first ^ last ^ chained(op, in, blocks);
        V next = map_bytes(enter_encryption, added);
        for (unsigned r = 1; is_first && r < rounds; r++) {
            const V k = middle_key(key, r, 0);
            x = encrypt_round(x, k, r, 0);
            if (keep)
                store(mapped[r], early_key(k, r));
        }
        if (!is_first) {
            x = encrypt_round(x, load(mapped[1]), 1, 1);
            for (unsigned r = 2; r < rounds; r += 2) {
                x = encrypt_round(x, load(mapped[r]), r, 1);
                x = encrypt_round(x, load(mapped[r + 1]), r + 1, 1);
            }
        }
        struct inverse v = invert_bytes(x);
        x = move_rows(look_up_both(sub_1, v.io, v.jo), 0, rounds) ^ next;
        output = move_rows(look_up_both(sub_last, v.io, v.jo), 0, rounds) ^ last;
        if (op == TR_OP_CFB_ENCRYPT)
            output ^= load(in);
        store(out, op == TR_OP_OFB ? output ^ load(in) : output);
    }
    store(iv, output);
    if (keep)
        tr_cleanse(mapped, rounds * sizeof(mapped[0]));
}

/* Encrypts or decrypts a block. */
TR_TARGET static void NAME(single)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                   int inverse)
{
    V x = map_bytes(inverse ? enter_decryption : enter_encryption,
                    load(in) ^ outer_key(key, 0, inverse));
    for (unsigned r = 1; r < key->rounds; r++) {
        const V k = middle_key(key, r, inverse);
        x = inverse ? decrypt_round(x, k) : encrypt_round(x, k, r, 0);
    }
    store(out, last_round(x, outer_key(key, 1, inverse), inverse, key->rounds));
}
#    define OWN_SERIAL 1
#    include "portable/loops.h"

/* ---- GHASH ---- */

#    include "simd/vperm_ghash.h"

/* Interleaves the bytes of the first or of the second halves of a and b. */
TR_INLINE TR_TARGET V interleave(V a, V b, int second)
{
#    if TR_X86
    __m128i x = (__m128i)a, y = (__m128i)b;
    return (V)(second ? _mm_unpackhi_epi8(x, y) : _mm_unpacklo_epi8(x, y));
#    else
    uint8x16_t x = (uint8x16_t)a, y = (uint8x16_t)b;
    return (V)(second ? vzip2q_u8(x, y) : vzip1q_u8(x, y));
#    endif
}

TR_INLINE TR_TARGET void interleave_halves(V new[16], const V old[16])
{
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        new[2 * i] = interleave(old[i], old[i + 8], 0);
        new[2 * i + 1] = interleave(old[i], old[i + 8], 1);
    }
}

/* Transposes 16 x 16 bytes. Each interleave_halves() rotates a byte's 8-bit index (row, column) by
 * one bit. Four calls therefore swap row and column. */
TR_INLINE TR_TARGET void transpose(V row[16])
{
    V other[16];
    interleave_halves(other, row);
    interleave_halves(row, other);
    interleave_halves(other, row);
    interleave_halves(row, other);
    tr_cleanse_inline(other, sizeof(other));
}

TR_TARGET void tr_vperm_ghash_tables(struct ghash_tables *tables, const uint8_t h[TR_BLOCK])
{
    uint64_t high = tr_load64_be(h), low = tr_load64_be(h + 8);
    for (unsigned t = 0; t < 2; t++) {
        V row[16];
        row[0] = (V){0};
        for (unsigned bit = 8; bit != 0;
             bit /= 2) { /* the highest bit of a byte is the lowest power of x */
            row[bit] = (V)(x64){__builtin_bswap64(high), __builtin_bswap64(low)};
            uint64_t carry = 0 - (low & 1);
            low = low >> 1 | high << 63;
            high = high >> 1 ^ (carry & 0xe100000000000000);
        }
        for (unsigned n = 3; n < 16; n++) {
            if ((n & (n - 1)) != 0)
                row[n] = row[n & (n - 1)] ^ row[n & (0 - n)];
        }
        transpose(row);
        for (unsigned j = 0; j < TR_BLOCK; j++)
            store(tables->byte[t][j], row[j]);
        tr_cleanse_inline(row, sizeof(row));
    }
}

TR_TARGET void tr_vperm_ghash_multiply(uint8_t x[TR_BLOCK], const struct ghash_tables *tables)
{
    V y = load(x);
    store(x, ghash_multiply(tables, &y, 1));
}

static void tr_vperm_ghash_key(struct tr_ghash_key *key)
{
    tr_vperm_ghash_tables((struct ghash_tables *)key->power, key->h);
    key->powers_state = (uintptr_t)key;
    key->powers_wanted = 0;
}

/* Shortest call, in blocks, that gains from ghash_groups(), which first computes the multiplication
 * tables of more powers. */
#    define GHASH_LONG 48u

TR_TARGET static void tr_vperm_ghash(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                     size_t blocks, void *state)
{
    struct tr_ghash *g = state;
    (void)key, (void)out;
#    if TR_ENV_STACK >= 16384
    if (blocks >= GHASH_LONG) {
        size_t done = ghash_groups(g, in, blocks);
        in += done * TR_BLOCK;
        blocks -= done;
    }
#    endif
    V y = load(g->hash);
    for (; blocks != 0; blocks--, in += TR_BLOCK) {
        y ^= load(in);
        y = ghash_multiply((const struct ghash_tables *)g->key->power, &y, 1);
    }
    KEEP(y); /* else gcc 14 stores y to the stack first, and leaves it there */
    store(g->hash, y);
}

const struct tr_backend tr_vperm = {
    .name = "vperm",
    .features = FEATURE,
    .weaker = &tr_bitslice,
    .expand_key = tr_vperm_expand_key,
    .ghash_key = tr_vperm_ghash_key,
    .ghash_key_refused = tr_portable_ghash_tables,
    .bulk = {TR_PORTABLE_OPS, [TR_OP_GHASH] = tr_vperm_ghash},
};
#endif
