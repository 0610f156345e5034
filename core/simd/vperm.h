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
 * and `jo` include the factors of MixColumns. In encryption, ShiftRows takes no operation
 * (row_moves.h), and MixColumns three shuffles. In decryption, both together take four. The S-box's
 * constant 0x63 passes MixColumns unchanged and is part of the round keys. vperm_tables.h has the
 * tables.
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
    V i = high_nibbles(x), k = low_nibbles(x);
    V ak = look_up(invert[1], k), j = i ^ k;
    KEEP(j);
    V iak = look_up(invert[0], i) ^ ak, jak = look_up(invert[0], j) ^ ak;
    return (struct inverse){look_up(invert[0], iak) ^ j, look_up(invert[0], jak) ^ i};
}

/* Moves by this many rows in round r; with 0 rows, takes back ShiftRows r times (row_moves.h). */
TR_INLINE TR_TARGET V move_rows(V x, unsigned rows, unsigned r)
{
    return v_shuffle(x, v_lanes(row_moves[r][rows]));
}

/* Round r of encryption. MixColumns takes three moves: let sum be two ^ one moved by one row. Then
 * the result is sum ^ sum moved by one row ^ one moved by three. The XOR of the key is off the
 * chain in two places. The early one needs early_key(), and makes a long chain 1 % faster. The late
 * one needs less work per key. */
TR_INLINE TR_TARGET V encrypt_round(V x, V key, unsigned r, int early)
{
    struct inverse v = invert_bytes(x);
    V one = look_up(sub_1[0], v.io), two = look_up_both(sub_2, v.io, v.jo);
    if (early) {
        one ^= key;
        KEEP(one);
    }
    one ^= look_up(sub_1[1], v.jo);
    V sum = two ^ move_rows(one, 1, r);
    KEEP(sum);
    V rest = move_rows(one, 3, r);
    if (!early) {
        rest ^= key;
        KEEP(rest);
    }
    rest ^= sum;
    KEEP(rest);
    return rest ^ move_rows(sum, 1, r);
}

/* Returns the key that encrypt_round() XORs early. The round then XORs this key moved by one, by
 * two and by three rows. The XOR of these three is the round key. */
TR_INLINE TR_TARGET V early_key(V key, unsigned r)
{
    const V below = move_rows(key, 1, r);
    return below ^ move_rows(key ^ below, 2, r);
}

/* Does the inverse of ShiftRows, then replaces each row r by row r + rows. */
TR_INLINE TR_TARGET V move_rows_back(V x, unsigned rows)
{
    static const uint8_t moves[4][16] TR_ALIGNED(16) = {ROW_MOVES(-1, 0, 0), ROW_MOVES(-1, 1, 0),
                                                        ROW_MOVES(-1, 2, 0), ROW_MOVES(-1, 3, 0)};
    return v_shuffle(x, v_lanes(moves[rows]));
}

TR_INLINE TR_TARGET V decrypt_round(V x, V key)
{
    struct inverse v = invert_bytes(x);
    V e = look_up_both(inv_sub_e, v.io, v.jo), b = look_up_both(inv_sub_b, v.io, v.jo);
    V d = look_up_both(inv_sub_d, v.io, v.jo), nine = look_up_both(inv_sub_9, v.io, v.jo);
    key ^= move_rows_back(e, 0);
    key ^= move_rows_back(b, 1);
    key ^= move_rows_back(d, 2);
    return key ^ move_rows_back(nine, 3);
}

/* The last of an even number of rounds, so that S^-rounds is its own inverse (row_moves.h). Its key
 * is in the standard basis. */
TR_INLINE TR_TARGET V last_round(V x, V key, int inverse, unsigned rounds)
{
    struct inverse v = invert_bytes(x);
    V last = look_up_both(inverse ? inv_sub_last : sub_last, v.io, v.jo);
    return (inverse ? move_rows_back(last, 0) : move_rows(last, 0, rounds)) ^ key;
}

#endif
