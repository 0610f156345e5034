/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rounds of bitsliced AES, for words of any width. In sliced form, word b of eight holds bit b
 * of every byte of several blocks. The S-box is a circuit of logic gates. No branch and no memory
 * index depends on data.
 *
 * The S-box's constant 0x63 is part of all round keys but the first: MixColumns and its inverse
 * leave it unchanged. Both directions use the same round keys.
 *
 * A round of encryption has 115 operations in the S-box and 51 others, of which 16 move rows. That
 * is without ShiftRows, which costs nothing if rows_up() depends on the round (simd/sliced8.h).
 * InvMixColumns adds 29, the inverse S-box 5.
 *
 * Sources: bitsliced AES is by Matsui, and by Käsper and Schwabe ("Faster and Timing-Attack
 * Resistant AES-GCM", CHES 2009). The S-box is the circuit of Boyar and Peralta with 115 gates ("A
 * new combinational logic minimization technique with applications to cryptology", SEA 2010).
 *
 * This is a template. Define these names before you include it:
 *
 *   WORD                the type of a word: elements of 64 bits
 *   TR_TARGET           the target attribute of every function over WORD
 *   rows_up(x, n, r)    moves row i + n (modulo 4) to row i, for every i; r is the round
 *   shift_rows(q), inv_shift_rows(q)
 *                       ShiftRows and its inverse, on the eight words q
 */
#ifndef TR_PORTABLE_SLICED_H
#define TR_PORTABLE_SLICED_H

#include "unroll.h"
#include "util.h"

#define SLICED_CONSTANT 0x63u

/* Swaps bits in every pair of words x and y whose indices differ by n. The bits of y that mask
 * selects and the bits of x that mask << n selects change places. */
#define SLICED_SWAP(T, q, mask, n)                                                                 \
    UNROLL                                                                                         \
    for (unsigned i = 0; i < 8; i++) {                                                             \
        if ((i & (n)) == 0) {                                                                      \
            T t = ((q)[i] >> (n) ^ (q)[i + (n)]) & (mask);                                         \
            (q)[i + (n)] ^= t;                                                                     \
            (q)[i] ^= t << (n);                                                                    \
        }                                                                                          \
    }

/* Exchanges the word index (3 bits) with the lowest 3 bits of the bit position. This transposes an
 * 8 x 8 matrix of bits at every byte position. The function is its own inverse. */
#define DEFINE_TRANSPOSE(name, T)                                                                  \
    TR_INLINE TR_TARGET void name(T q[8])                                                          \
    {                                                                                              \
        SLICED_SWAP(T, q, 0x5555555555555555u, 1)                                                  \
        SLICED_SWAP(T, q, 0x3333333333333333u, 2)                                                  \
        SLICED_SWAP(T, q, 0x0f0f0f0f0f0f0f0fu, 4)                                                  \
    }
DEFINE_TRANSPOSE(sliced_transpose, WORD)

/* The inversion in GF(2^8), between the linear layers of SubBytes and its inverse. Variable names
 * are Boyar and Peralta's. From x7 and y1 to y21 it computes z0 to z17. */
#define SLICED_INVERSE(T)                                                                          \
    T t2 = y12 & y15, t3 = y3 & y6, t4 = t3 ^ t2, t5 = y4 & x7, t6 = t5 ^ t2;                      \
    T t7 = y13 & y16, t8 = y5 & y1, t9 = t8 ^ t7, t10 = y2 & y7, t11 = t10 ^ t7;                   \
    T t12 = y9 & y11, t13 = y14 & y17, t14 = t13 ^ t12, t15 = y8 & y10, t16 = t15 ^ t12;           \
    T t17 = t4 ^ t14, t18 = t6 ^ t16, t19 = t9 ^ t14, t20 = t11 ^ t16, t21 = t17 ^ y20;            \
    T t22 = t18 ^ y19, t23 = t19 ^ y21, t24 = t20 ^ y18, t25 = t21 ^ t22, t26 = t21 & t23;         \
    T t27 = t24 ^ t26, t28 = t25 & t27, t29 = t28 ^ t22, t30 = t23 ^ t24, t31 = t22 ^ t26;         \
    T t32 = t31 & t30, t33 = t32 ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35;         \
    T t37 = t36 ^ t34, t38 = t27 ^ t36, t39 = t29 & t38, t40 = t25 ^ t39, t41 = t40 ^ t37;         \
    T t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41;                          \
    T z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1;                 \
    T z5 = t29 & y7, z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12;               \
    T z10 = t37 & y3, z11 = t33 & y4, z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2;             \
    T z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;

/* SubBytes without the constant 0x63, on q[0] (the lowest bits) to q[7]. The input x0 has the
 * highest bits. */
#define DEFINE_SUB_BYTES(name, T)                                                                  \
    TR_INLINE TR_TARGET void name(T q[8])                                                          \
    {                                                                                              \
        T x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4], x4 = q[3], x5 = q[2], x6 = q[1], x7 = q[0];  \
        /* The top linear layer. */                                                                \
        T y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2;                  \
        T y1 = t0 ^ x7, y4 = y1 ^ x3, y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6;                 \
        T y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5, y20 = t1 ^ x1, y6 = y15 ^ x7;                \
        T y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8;          \
        T y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;                                         \
        SLICED_INVERSE(T)                                                                          \
        /* The bottom linear layer. */                                                             \
        T t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12;        \
        T t51 = z2 ^ z5, t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17;             \
        T t56 = z12 ^ t48, t57 = t50 ^ t53, t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57;       \
        T t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58, t64 = z4 ^ t59, t65 = t61 ^ t62;      \
        T t66 = z1 ^ t63, t67 = t64 ^ t65, s3 = t53 ^ t66;                                         \
        q[7] = t59 ^ t63;                                                                          \
        q[6] = t64 ^ s3;                                                                           \
        q[5] = t55 ^ t67;                                                                          \
        q[4] = s3;                                                                                 \
        q[3] = t51 ^ t66;                                                                          \
        q[2] = t47 ^ t65;                                                                          \
        q[1] = t56 ^ t62;                                                                          \
        q[0] = t48 ^ t60;                                                                          \
    }
DEFINE_SUB_BYTES(sliced_sub_bytes, WORD)

/* The inverse S-box of x ^ 0x63, on q[0] to q[7]. The S-box is S(x) = A x^-1 ^ 0x63, where A is a
 * matrix of bits (FIPS-197 section 5.1.1). The inverse S-box of x ^ 0x63 is the inverse in GF(2^8)
 * of A^-1 x. So its linear layers are those of SubBytes, multiplied by A^-1 at each end. A greedy
 * search for common subexpressions found these, with 23 and 35 operations. */
TR_INLINE TR_TARGET void sliced_inv_sub_bytes(WORD q[8])
{
    WORD y3 = q[4] ^ q[7], y5 = q[4] ^ q[6], y6 = q[6] ^ y3, y8 = q[4] ^ y6;
    WORD y9 = q[3] ^ q[4], y1 = q[0] ^ y9, y10 = y6 ^ y1, y13 = q[1] ^ y1, y2 = y5 ^ y13;
    WORD y4 = y9 ^ y2, y7 = q[5] ^ y4, y12 = y3 ^ y4, y14 = q[3] ^ y6, y16 = y1 ^ y7;
    WORD y18 = q[5] ^ y9, y19 = q[0] ^ q[3], y21 = q[1] ^ y7, u0 = q[2] ^ q[7];
    WORD x7 = q[5] ^ u0, y11 = y4 ^ u0, y15 = y6 ^ x7, y17 = y10 ^ y11, y20 = y9 ^ y11;
    SLICED_INVERSE(WORD)
    WORD u1 = z6 ^ z15, u2 = z13 ^ u1, u3 = z12 ^ z16, u4 = z8 ^ u2, u5 = z3 ^ z4;
    WORD u6 = z2 ^ z10, u7 = u3 ^ u4, u8 = z5 ^ u7, u9 = z9 ^ z17, u10 = z1 ^ z14;
    WORD u11 = u3 ^ u5, u12 = z11 ^ u6, u13 = z0 ^ z4, u14 = z7 ^ u2, u15 = u10 ^ u11;
    WORD u16 = z12 ^ u14, u17 = z1 ^ u13, u18 = z8 ^ u12, u19 = u1 ^ u15, u20 = u9 ^ u10;
    WORD u21 = u6 ^ u20, u22 = u12 ^ u16, u23 = z17 ^ u22, u24 = z5 ^ u13, u25 = u8 ^ u17;
    WORD u26 = z11 ^ z15, u27 = u4 ^ u5, u28 = z0 ^ u7, u29 = u21 ^ u27, u30 = u23 ^ u24;
    WORD u31 = u11 ^ u14, u32 = z2 ^ u28, u33 = u18 ^ u19, u34 = z3 ^ u8, u35 = u9 ^ u26;
    q[0] = u35;
    q[1] = u31;
    q[2] = u25;
    q[3] = u30;
    q[4] = u32;
    q[5] = u33;
    q[6] = u29;
    q[7] = u34;
}

/* MixColumns of a row a0, with the rows a1, a2 and a3 after it, is 2 a0 ^ 3 a1 ^ a2 ^ a3. Let
 * t = a0 ^ a1, and let t2 = a2 ^ a3, which is t moved by two rows. The code then computes the equal
 * value 2 t ^ a1 ^ t2. Bit i of 2 t is bit i - 1 of t, XORed with bit 7 where 0x1b has a bit
 * (FIPS-197 section 4.2.1). In this order, 12 registers suffice. */
TR_INLINE TR_TARGET void sliced_mix_columns(WORD q[8], unsigned r)
{
    WORD up = rows_up(q[7], 1, r), top = q[7] ^ up, below = top;
    q[7] = up ^ rows_up(top, 2, r);
    UNROLL
    for (unsigned i = 0; i < 7; i++) {
        up = rows_up(q[i], 1, r);
        WORD t = q[i] ^ up;
        q[i] = up ^ rows_up(t, 2, r) ^ below;
        if (i == 1 || i == 3 || i == 4)
            q[i] ^= top;
        below = t;
    }
    q[7] ^= below;
}

/* InvMixColumns is MixColumns after a product with the circulant matrix of {5, 0, 4, 0}. Let a2
 * be the row two after a0, and t = a0 ^ a2. The code computes this product, 5 a0 ^ 4 a2, as
 * a0 ^ 4 t. */
TR_INLINE TR_TARGET void sliced_inv_mix_columns(WORD q[8], unsigned r)
{
    WORD t[8];
    UNROLL
    for (unsigned i = 0; i < 8; i++)
        t[i] = q[i] ^ rows_up(q[i], 2, r);
    const WORD both = t[6] ^ t[7];
    q[0] ^= t[6];
    q[1] ^= both;
    q[2] ^= t[0] ^ t[7];
    q[3] ^= t[1] ^ t[6];
    q[4] ^= t[2] ^ both;
    q[5] ^= t[3] ^ t[7];
    q[6] ^= t[4];
    q[7] ^= t[5];
    sliced_mix_columns(q, r);
}

TR_INLINE TR_TARGET void sliced_add(WORD q[8], const WORD key[8])
{
    UNROLL
    for (unsigned i = 0; i < 8; i++)
        q[i] ^= key[i];
}

TR_INLINE TR_TARGET void sliced_encrypt(WORD q[8], const WORD keys[][8], unsigned rounds)
{
    sliced_add(q, keys[0]);
    DO_NOT_UNROLL
    for (unsigned r = 1; r <= rounds; r++) {
        sliced_sub_bytes(q);
        shift_rows(q);
        if (r != rounds)
            sliced_mix_columns(q, r);
        sliced_add(q, keys[r]);
    }
}

TR_INLINE TR_TARGET void sliced_decrypt(WORD q[8], const WORD keys[][8], unsigned rounds)
{
    sliced_add(q, keys[rounds]);
    DO_NOT_UNROLL
    for (unsigned r = rounds; r-- > 0;) {
        inv_shift_rows(q);
        sliced_inv_sub_bytes(q);
        sliced_add(q, keys[r]);
        if (r != 0)
            sliced_inv_mix_columns(q, r);
    }
}

#endif
