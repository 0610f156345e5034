/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A round of AES by vector permutation. The idea is Hamburg's
 * ("Accelerating AES with Vector Permute Instructions", CHES 2009).
 *
 * The S-box is a linear map of the inverse in GF(256), XORed with a constant. A change of basis
 * turns a byte into two elements i and k of the subfield GF(16), one in each nibble. Five table
 * look-ups give two nibbles, `io` and `jo`. Any linear function of the inverse is the XOR of two
 * table entries, one at `io` and one at `jo` (docs/tuning/software.md has the derivation). The
 * derivation divides by 0 for some bytes. The look-ups represent 1/0 by a byte with its high bit
 * set. With such a byte as index, a look-up gives 0, the inverse of 1/0.
 *
 * Between rounds, the state stays in this basis. In decryption, the state between rounds has also
 * passed the S-box's inverse affine map, so a round begins with the inversion. The tables for `io`
 * and `jo` include the factors of MixColumns. MixColumns and ShiftRows together then take four
 * permutations. The S-box's constant 0x63 passes MixColumns unchanged and is part of the round
 * keys. vperm_tables.h has the tables.
 *
 * This is a template. Define these names before you include it:
 *
 *   V                    the vector type, of 16 bytes
 *   TR_TARGET            the target attribute of every function over V
 *   v_lanes(p)           16 bytes of memory, aligned
 *   v_shuffle(x, index)  the bytes of x that `index` selects; an index is below 16, or has its
 *                        high bit set, which gives zero
 *   high_nibbles(x), low_nibbles(x)
 *                        the nibbles of every byte
 *   KEEP(x)              keeps x in a register; the compiler moves no XOR of x across it
 */
#ifndef TR_SIMD_VPERM_H
#define TR_SIMD_VPERM_H

#include "simd/row_moves.h"
#include "simd/vperm_tables.h"

TR_INLINE TR_TARGET V look_up(const uint8_t table[16], V x)
{
    return v_shuffle(v_lanes(table), x);
}

/* Returns the XOR of table[0] at a and table[1] at b. */
TR_INLINE TR_TARGET V look_up_both(const uint8_t table[2][16], V a, V b)
{
    return look_up(table[0], a) ^ look_up(table[1], b);
}

/* Applies a linear map to each byte, by nibbles. */
TR_INLINE TR_TARGET V map_bytes(const uint8_t table[2][16], V x)
{
    return look_up_both(table, low_nibbles(x), high_nibbles(x));
}

struct inverse {
    V io, jo;
};

TR_INLINE TR_TARGET struct inverse invert_bytes(V x)
{
    V i = high_nibbles(x), k = low_nibbles(x), j = i ^ k;
    V ak = look_up(invert[1], k);
    V iak = look_up(invert[0], i) ^ ak, jak = look_up(invert[0], j) ^ ak;
    return (struct inverse){look_up(invert[0], iak) ^ j, look_up(invert[0], jak) ^ i};
}

/* moves[1 + step][rows] does ShiftRows `step` times, then replaces each row r by row r + rows. */
static const uint8_t moves[3][4][16] TR_ALIGNED(16) = {
    {ROW_MOVES(-1, 0, 0), ROW_MOVES(-1, 1, 0), ROW_MOVES(-1, 2, 0), ROW_MOVES(-1, 3, 0)},
    {ROW_MOVES(0, 0, 0), ROW_MOVES(0, 1, 0), ROW_MOVES(0, 2, 0), ROW_MOVES(0, 3, 0)},
    {ROW_MOVES(1, 0, 0), ROW_MOVES(1, 1, 0), ROW_MOVES(1, 2, 0), ROW_MOVES(1, 3, 0)}};

/* Does ShiftRows if `step` is 1, its inverse if -1, and neither if 0. Then replaces rows as in
 * moves[]. */
TR_INLINE TR_TARGET V move_rows(V x, unsigned rows, int step)
{
    return v_shuffle(x, v_lanes(moves[step + 1][rows]));
}

TR_INLINE TR_TARGET V mix_columns(V one, V two, V key)
{
    V three = one ^ two, sum = move_rows(one, 2, 1);
    key ^= move_rows(two, 0, 1);
    KEEP(key);
    three = move_rows(three, 1, 1);
    sum ^= key;
    KEEP(sum);
    three ^= move_rows(one, 3, 1);
    KEEP(three);
    return sum ^ three;
}

TR_INLINE TR_TARGET V encrypt_round(V x, V key)
{
    struct inverse v = invert_bytes(x);
    return mix_columns(look_up_both(sub_1, v.io, v.jo), look_up_both(sub_2, v.io, v.jo), key);
}

TR_INLINE TR_TARGET V decrypt_round(V x, V key)
{
    struct inverse v = invert_bytes(x);
    V e = look_up_both(inv_sub_e, v.io, v.jo), b = look_up_both(inv_sub_b, v.io, v.jo);
    V d = look_up_both(inv_sub_d, v.io, v.jo), nine = look_up_both(inv_sub_9, v.io, v.jo);
    key ^= move_rows(e, 0, -1);
    key ^= move_rows(b, 1, -1);
    key ^= move_rows(d, 2, -1);
    return key ^ move_rows(nine, 3, -1);
}

/* The last round. Its key is in the standard basis. */
TR_INLINE TR_TARGET V last_round(V x, V key, int inverse)
{
    struct inverse v = invert_bytes(x);
    V last = look_up_both(inverse ? inv_sub_last : sub_last, v.io, v.jo);
    return move_rows(last, 0, inverse ? -1 : 1) ^ key;
}

#endif
