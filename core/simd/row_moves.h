/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Byte-shuffle indices that move the rows of an AES state (FIPS-197 section 3.4), for AES without
 * AES instructions.
 *
 * ROW_MOVES(a, rows, b) are 16 indices. A shuffle with them does ShiftRows a times, then replaces
 * each row r by row r + rows (modulo 4), then does ShiftRows b times. If a or b is negative, the
 * shuffle does the inverse of ShiftRows instead. Row r, column c of a state is byte 4 c + r.
 */
#ifndef TR_SIMD_ROW_MOVES_H
#define TR_SIMD_ROW_MOVES_H

#include "util.h"

#define ROW_BELOW(r, rows) (((r) + (rows)) % 4)
#define ROW_MOVE(r, c, a, rows, b)                                                                 \
    (4 * (((c) + (a)*ROW_BELOW(r, rows) + (b) * (r) + 32) % 4) + ROW_BELOW(r, rows))
#define ROW_MOVES_OF_COLUMN(c, a, rows, b)                                                         \
    ROW_MOVE(0, c, a, rows, b), ROW_MOVE(1, c, a, rows, b), ROW_MOVE(2, c, a, rows, b),            \
        ROW_MOVE(3, c, a, rows, b)
#define ROW_MOVES(a, rows, b)                                                                      \
    {                                                                                              \
        ROW_MOVES_OF_COLUMN(0, a, rows, b), ROW_MOVES_OF_COLUMN(1, a, rows, b),                    \
            ROW_MOVES_OF_COLUMN(2, a, rows, b), ROW_MOVES_OF_COLUMN(3, a, rows, b)                 \
    }

/*
 * The moves of round r, where ShiftRows takes no operation. Let S be ShiftRows. After round r, the
 * code holds S^-r of the state. MixColumns of round r then becomes S^-r MixColumns S^r, and its row
 * moves become other shuffles. They repeat every four rounds. Adomnicai and Peyrin have this idea
 * ("Fixslicing AES-like Ciphers", TCHES 2021).
 *
 * row_moves[r][n] is S^-r (the move by n rows) S^r, but S^-r if n is 0.
 */
#define ROW_MOVES_OF_ROUND(r)                                                                      \
    {                                                                                              \
        ROW_MOVES(-(r), 0, 0), ROW_MOVES(r, 1, -(r)), ROW_MOVES(r, 2, -(r)), ROW_MOVES(r, 3, -(r)) \
    }
#define ROW_MOVES_FOUR                                                                             \
    ROW_MOVES_OF_ROUND(0), ROW_MOVES_OF_ROUND(1), ROW_MOVES_OF_ROUND(2), ROW_MOVES_OF_ROUND(3)
static const uint8_t row_moves[16][4][16] TR_ALIGNED(16) = {ROW_MOVES_FOUR, ROW_MOVES_FOUR,
                                                            ROW_MOVES_FOUR, ROW_MOVES_FOUR};

#endif
