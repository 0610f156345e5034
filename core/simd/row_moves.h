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

#endif
