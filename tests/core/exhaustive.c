/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests all inputs, or a basis of the space of inputs. This comes close to a proof:
 *
 * - S-boxes: each of the 256 values of a byte, at each of the 16 positions of a block. The test
 *   compares the results with the textbook cipher (reference.h), in calls of few blocks and in long
 *   calls. The S-box of the first round then gets every input at every position. A wrong output
 *   there changes the state, and the later rounds do not undo that. With 128-bit keys, each block
 *   passes through each lane of the vectors that run together (at most 16 vectors of 4 lanes).
 * - Key expansion: each value of each key byte. The first SubWord then gets every input, and with
 *   256-bit keys the second one, too. The later SubWords are the same code.
 * - GHASH: a proof by linearity. The hash of n blocks is an XOR of products of a block and a power
 *   of H. The code consists of XOR, shifts, shuffles and carry-less products of a block and a power
 *   of H. So the hash and the code's result are both bilinear in the block and the power. Two
 *   bilinear maps are equal if they agree on a basis of each space. For each exponent k, the test
 *   takes the 128 unit vectors as the block, and subkeys whose powers H^k span GF(2)^128. It checks
 *   this by elimination. Messages of 1 to 36 blocks use all powers that a key stores. Both kinds
 *   of reduction occur: of one product, and of the XOR of several. POLYVAL is tested in the same
 *   way, with the byte-reversed blocks (RFC 8452 appendix A). Under some subkeys, every backend
 *   also hashes 100 blocks.
 * - The portable GHASH uses integer multiplication and masks the carries, so its steps are not
 *   linear. Most carries occur where all bits of both factors are set. The test takes such factors
 *   and random ones, too.
 * - GCM's fused code contains a separate GHASH. The change of the tag is bilinear in the change of
 *   the ciphertext and the power of H. The test changes the ciphertext by each unit vector, in each
 *   block of a message, in streaming and in one-shot calls. Under the subkeys whose powers span the
 *   field, it takes some message lengths of 1 to 36 blocks. Under the AES key's own subkey, it
 *   takes all lengths up to 40 blocks, and some up to 150.
 * - partial_up() of core/partial_block.h moves a block up by 0 to 15 bytes. It is linear, too, so
 *   unit vectors suffice for each distance.
 */
#include "common.h"
#include "modes/ghash.h"
#include "partial_block.h"
#include "reference.h"

#define VALUES 4096u /* each byte value at each position */
#define LANES  64u

static struct tap_random rng;
static uint8_t raw[32];

/* ---- S-boxes ---- */

static uint8_t blocks[VALUES + LANES][16], plain[VALUES + LANES][16], sealed[VALUES + LANES][16],
    got[VALUES + LANES][16];

/* Makes the blocks and the textbook's results. Block i has the value i % 256 at position
 * i / 256 % 16. Its other bytes are random, but the same in all blocks. */
static void make_blocks(const struct reference_key *key)
{
    tap_fill(&rng, plain[0], 16);
    for (unsigned i = 0; i < VALUES + LANES; i++) {
        memcpy(plain[i], plain[0], 16);
        plain[i][i / 256 % 16] = (uint8_t)i;
        memcpy(sealed[i], plain[i], 16);
        reference_encrypt_block(key, sealed[i]);
        /* For decryption, `plain` serves as the ciphertext, and `blocks` gets the result. */
        memcpy(blocks[i], plain[i], 16);
        reference_decrypt_block(key, blocks[i]);
    }
}

static bool every_value(const struct tr_backend *b, size_t key_len)
{
    const struct tr_aes_key key = key_for(b, raw, key_len);
    struct reference_key reference;
    bool good = true;
    reference_expand(&reference, raw, key_len);
    make_blocks(&reference);
    /* A backend processes groups of at most LANES blocks together. Calls that begin at each `first`
     * put each block into each lane of such a group. */
    const unsigned lanes = key_len == 16 ? LANES : 1;
    for (unsigned first = 0; good && first < lanes; first++)
        good = tr_ecb_encrypt(&key, got[0], plain[first], sizeof(got) - 16 * LANES) == TR_OK &&
               tap_same(got, sealed[first], sizeof(got) - 16 * LANES) &&
               tr_ecb_decrypt(&key, got[0], plain[first], sizeof(got) - 16 * LANES) == TR_OK &&
               tap_same(got, blocks[first], sizeof(got) - 16 * LANES);
    for (size_t n = 1; n <= 4; n++)
        for (unsigned i = 0; good && i < VALUES; i++)
            good = tr_ecb_encrypt(&key, got[0], plain[i], 16 * n) == TR_OK &&
                   tap_same(got, sealed[i], 16 * n) &&
                   tr_ecb_decrypt(&key, got[0], plain[i], 16 * n) == TR_OK &&
                   tap_same(got, blocks[i], 16 * n);
    return good;
}

/* ---- Key expansion ---- */

static bool same_expansion(const struct tr_backend *b, const uint8_t *secret, size_t len)
{
    const struct tr_aes_key key = key_for(b, secret, len);
    struct reference_key reference;
    bool good = true;
    reference_expand(&reference, secret, len);
    for (unsigned i = 0; i <= reference.rounds; i++)
        good &= memcmp(key.enc[i], reference.w[i], 16) == 0;
    return good;
}

static bool every_key_byte(const struct tr_backend *b)
{
    bool good = true;
    for (size_t k = 0; k < 3; k++) {
        const size_t len = key_lengths[k];
        for (size_t at = 0; at < len; at++) {
            uint8_t secret[32];
            memcpy(secret, raw, 32);
            for (unsigned value = 0; good && value < 256; value++) {
                secret[at] = (uint8_t)value;
                good = same_expansion(b, secret, len);
            }
        }
    }
    return good;
}

/* ---- GHASH ---- */

/* An element of GF(2^128). Bit i, counted from the highest bit of the first byte, is the
 * coefficient of x^i. */
struct element {
    uint64_t high, low;
};

static struct element element_of(const uint8_t p[16])
{
    return (struct element){tr_load64_be(p), tr_load64_be(p + 8)};
}

static struct element times_x(struct element a)
{
    const uint64_t carry = a.low & 1;
    a.low = a.low >> 1 | a.high << 63;
    a.high = a.high >> 1 ^ (carry ? 0xe100000000000000 : 0);
    return a;
}

/* Multiplies in GF(2^128) (SP 800-38D section 6.3, algorithm 1). */
static struct element product(struct element a, struct element b)
{
    struct element sum = {0, 0};
    for (unsigned i = 0; i < 128; i++, b = times_x(b)) {
        if ((i < 64 ? a.high >> (63 - i) : a.low >> (127 - i)) & 1) {
            sum.high ^= b.high;
            sum.low ^= b.low;
        }
    }
    return sum;
}

#define SUBKEYS 150u
#define POWERS  36u
#define FAR     100u /* blocks: enough for the long-message code of every software GHASH */
static struct element powers[SUBKEYS][POWERS + 1]; /* [h][k]: H^k */

/* Whether the powers H^k of all subkeys span the field. */
static bool span(unsigned k)
{
    struct element row[128];
    bool have[128] = {false};
    unsigned rank = 0;
    for (unsigned h = 0; h < SUBKEYS; h++) {
        struct element e = powers[h][k];
        for (unsigned i = 0; i < 128; i++) {
            if (!((i < 64 ? e.high >> (63 - i) : e.low >> (127 - i)) & 1))
                continue;
            if (!have[i]) {
                row[i] = e;
                have[i] = true;
                rank++;
                break;
            }
            e.high ^= row[i].high;
            e.low ^= row[i].low;
        }
    }
    return rank == 128;
}

static bool make_subkeys(void)
{
    bool good = true;
    for (unsigned h = 0; h < SUBKEYS; h++) {
        uint8_t bytes[16];
        tap_fill(&rng, bytes, 16);
        powers[h][0] = (struct element){(uint64_t)1 << 63, 0};
        for (unsigned k = 1; k <= POWERS; k++)
            powers[h][k] = product(powers[h][k - 1], element_of(bytes));
    }
    for (unsigned k = 1; k <= POWERS; k++)
        good &= span(k);
    return good;
}

/* Whether the hash of n blocks is right for each unit vector as the first block, followed by zeros.
 * `op` is GHASH or POLYVAL, whose blocks are byte-reversed. `expected` is H^n, the hash for the
 * first unit vector. If `kept`, the first call that needs more powers of H stores them in the key.
 * Otherwise each call computes them on its stack. */
static bool basis_is_right(struct tr_gcm_key *key, enum tr_op op, struct element expected,
                           unsigned n, bool kept)
{
    static uint8_t data[FAR][16];
    bool good = true;
    for (unsigned i = 0; good && i < 128; i++, expected = times_x(expected)) {
        struct tr_ghash g = {.key = &key->hash};
        const unsigned at = op == TR_OP_POLYVAL ? 15 - i / 8 : i / 8;
        data[0][at] = (uint8_t)(0x80 >> i % 8);
        key->hash.powers_wanted = kept;
        good = tr_bulk(&key->aes, op, NULL, data[0], n, &g) == n;
        data[0][at] = 0;
        const struct element result = element_of(g.hash);
        good &= result.high == expected.high && result.low == expected.low;
    }
    return good;
}

/* Replaces the hash subkey by h, which is not E(0) under the key's AES key. */
static void set_subkey(struct tr_gcm_key *key, const struct tr_backend *b, struct element h)
{
    memset(&key->hash, 0, sizeof(key->hash));
    tr_store64_be(key->hash.h, h.high);
    tr_store64_be(key->hash.h + 8, h.low);
    tr_ghash_expand(&key->hash, b);
}

static bool has_clmul(const struct tr_backend *b)
{
    return (b->features & TR_FEATURE_CLMUL) != 0;
}

/* The longest message to hash under all subkeys, in blocks. A few blocks suffice for a backend that
 * shares the code of an earlier one. */
static unsigned most_blocks(const struct tr_backend *b)
{
    static tr_bulk_fn *seen[16];
    static unsigned n;
    tr_bulk_fn *const own = tr_backend_doing(b, TR_OP_GHASH)->bulk[TR_OP_GHASH];
    if (has_clmul(b))
        return POWERS;
    for (unsigned i = 0; i < n; i++)
        if (seen[i] == own)
            return 5;
    seen[n++ % 16] = own;
    return POWERS;
}

/* Whether the operation is right under all subkeys, with the powers of H in the key or on the
 * stack. */
static bool ghash_is_right(const struct tr_backend *b, enum tr_op op, unsigned most, bool kept)
{
    bool good = true;
    for (unsigned h = 0; good && h < SUBKEYS; h++) {
        struct tr_gcm_key key;
        memset(&key, 0, sizeof(key));
        key.aes.backend = b;
        key.aes.rounds = 10;
        set_subkey(&key, b, powers[h][1]);
        for (unsigned n = 1; good && n <= most; n++) {
            good = basis_is_right(&key, op, powers[h][n], n, kept);
            if (!good)
                tap_diag("%s: wrong %s of %u blocks, powers of H %s", tr_backend_name(b),
                         op == TR_OP_GHASH ? "GHASH" : "POLYVAL", n,
                         kept ? "in the key" : "on the stack");
        }
        struct element far = powers[h][1];
        for (unsigned n = 1; n < FAR; n++)
            far = product(far, powers[h][1]);
        good = good && (h % 32 != 0 || basis_is_right(&key, op, far, FAR, kept));
    }
    return good;
}

static bool hashes_are_right(const struct tr_backend *b)
{
    const unsigned most = most_blocks(b);
    if (!has_clmul(b)) /* such a backend never adds powers to a key, and has no POLYVAL */
        return ghash_is_right(b, TR_OP_GHASH, most, false);
    return ghash_is_right(b, TR_OP_GHASH, most, false) &&
           ghash_is_right(b, TR_OP_GHASH, most, true) &&
           ghash_is_right(b, TR_OP_POLYVAL, most, false) &&
           ghash_is_right(b, TR_OP_POLYVAL, most, true);
}

/* Whether GHASH of one block is right for factors that cause the most carries in integer
 * multiplication, and for random ones. Some factors have only every fourth bit set. */
static bool dense_is_right(const struct tr_backend *b)
{
    bool good = true;
    for (unsigned i = 0; good && i < 4096; i++) {
        struct tr_gcm_key key;
        struct tr_ghash g = {.key = &key.hash};
        uint8_t bytes[2][16];
        tap_fill(&rng, bytes[0], sizeof(bytes));
        for (unsigned k = 0; k < 2; k++)
            if ((i >> k & 1) != 0)
                memset(bytes[k], i >> 2 & 1 ? 0xff : 0x11 << (i >> 3 & 3), 16);
        memset(&key, 0, sizeof(key));
        key.aes.backend = b;
        key.aes.rounds = 10;
        set_subkey(&key, b, element_of(bytes[0]));
        tr_bulk(&key.aes, TR_OP_GHASH, NULL, bytes[1], 1, &g);
        const struct element expected = product(element_of(bytes[0]), element_of(bytes[1])),
                             result = element_of(g.hash);
        good = result.high == expected.high && result.low == expected.low;
    }
    return good;
}

/* Returns the tag, or 0 on an error. `data` is the ciphertext of the streaming calls, or the
 * plaintext of the one-shot call. Flipping a bit of the plaintext flips the same bit of the
 * ciphertext. So flipping bits of `data` changes the tag by the same value in both cases. */
static struct element tag_of(const struct tr_gcm_key *key, const uint8_t *data, size_t len,
                             bool streaming)
{
    static uint8_t out[160 * 16];
    uint8_t tag[16] = {0};
    struct tr_gcm g;
    if (!streaming) {
        const enum tr_status status = tr_gcm_seal(key, raw, 12, NULL, 0, out, data, len, tag, 16);
        return status == TR_OK ? element_of(tag) : (struct element){0, 0};
    }
    if (tr_gcm_start(&g, key, raw, 12) != TR_OK || tr_gcm_decrypt(&g, out, data, len) != TR_OK ||
        tr_gcm_tag(&g, tag, 16) != TR_OK)
        return (struct element){0, 0};
    return element_of(tag);
}

/* Whether the tag of n blocks of ciphertext changes by x^i * H^(n + 1 - place) if bit i of block
 * `place` changes. The number of the first block is 0. The exponent includes 1 for the length
 * block, which follows the ciphertext. */
static bool gcm_is_linear(const struct tr_gcm_key *key, struct element h, size_t n, bool streaming)
{
    static uint8_t data[160][16];
    bool good = true;
    const struct element zero = tag_of(key, data[0], 16 * n, streaming);
    struct element power = h;
    for (size_t place = n; good && place-- > 0;) {
        struct element expected = power = product(power, h);
        for (unsigned i = 0; good && i < 128; i++, expected = times_x(expected)) {
            data[place][i / 8] = (uint8_t)(0x80 >> i % 8);
            const struct element tag = tag_of(key, data[0], 16 * n, streaming);
            data[place][i / 8] = 0;
            good = (tag.high ^ zero.high) == expected.high && (tag.low ^ zero.low) == expected.low;
        }
    }
    if (!good)
        tap_diag("wrong tag of %zu blocks", n);
    return good;
}

/* Runs gcm_is_linear() under all subkeys: at all `lengths` with 128-bit keys, at the first 5 with
 * longer keys, whose rounds are separate code. */
static bool fused_is_bilinear(const struct tr_backend *b, struct tr_gcm_key *key, size_t key_len)
{
    static const uint8_t lengths[] = {1, 4, 9, 17, 36, 2, 3, 5, 8, 16, 24, 32, 33};
    const size_t count = key_len == 16 ? sizeof(lengths) : 5;
    bool good = true;
    for (unsigned h = 0; good && h < SUBKEYS; h++) {
        set_subkey(key, b, powers[h][1]);
        for (size_t i = 0; good && i < count; i++)
            good = gcm_is_linear(key, powers[h][1], lengths[i], true) &&
                   gcm_is_linear(key, powers[h][1], lengths[i], false);
    }
    return good;
}

static bool fused_is_right(const struct tr_backend *b)
{
    bool good = true;
    for (size_t k = 0; good && k < 3; k++) {
        struct tr_gcm_key key;
        uint8_t zero[16] = {0};
        good = tr_gcm_set_key(&key, b, raw, key_lengths[k]) == TR_OK &&
               tr_ecb_encrypt(&key.aes, zero, zero, 16) == TR_OK;
        for (size_t n = 1; good && n <= (has_clmul(b) ? 150 : 3); n += n < 40 ? 1 : 37)
            good = gcm_is_linear(&key, element_of(zero), n, true) &&
                   gcm_is_linear(&key, element_of(zero), n, false);
        good = good && (!has_clmul(b) || fused_is_bilinear(b, &key, key_lengths[k]));
    }
    return good;
}

/* ---- partial_up() ---- */

static bool parts_move_up(void)
{
    bool good = true;
    for (unsigned n = 0; n < 16; n++) {
        for (unsigned bit = 0; bit < 128; bit++) {
            const struct partial_block v = {bit < 64 ? (uint64_t)1 << bit : 0,
                                            bit < 64 ? 0 : (uint64_t)1 << (bit - 64)};
            const struct partial_block moved = partial_up(v, n);
            const unsigned to = bit + 8 * n;
            good &= moved.low == (to < 64 ? (uint64_t)1 << to : 0) &&
                    moved.high == (to >= 64 && to < 128 ? (uint64_t)1 << (to - 64) : 0);
        }
    }
    return good;
}

int main(void)
{
    const struct tr_backend *b;
    tap_plan(2 + 4 * backend_count());
    rng = tap_random(0);
    tap_fill(&rng, raw, sizeof(raw));
    tap_ok(parts_move_up(), "partial_up() moves every bit by every distance");
    tap_ok(make_subkeys(), "the powers of %u subkeys span the field", SUBKEYS);
    for (unsigned n = 0; (b = tr_backend_at(n)) != NULL; n++) {
        const char *name = tr_backend_name(b);
        if (backend_skip(b, 4))
            continue;
        tap_ok(every_value(b, 16) && every_value(b, 24) && every_value(b, 32),
               "%s: the cipher is right for every byte value, position and lane", name);
        tap_ok(every_key_byte(b), "%s: key expansion is right for every value of every key byte",
               name);
        tap_ok(hashes_are_right(b) && dense_is_right(b),
               "%s: GHASH and POLYVAL are right for a basis of blocks and subkeys", name);
        tap_ok(fused_is_right(b), "%s: GCM's tag is right for a basis of ciphertexts", name);
    }
    return tap_done();
}
