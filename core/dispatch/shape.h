/* SPDX-License-Identifier: BSD-2-Clause */
/* The shapes of the parallel modes (SP 800-38A). Each mode computes output block i as AES(source of
 * block i) ^ addend of block i. Modes differ only in the source, the addend, and the direction of
 * AES. So an implementation of AES needs only one function for all parallel modes, which takes the
 * shape as a constant. */
#ifndef TR_SHAPE_H
#define TR_SHAPE_H

#include "dispatch/backend.h"

/* The input of the cipher for block i. */
enum tr_source { FROM_INPUT, FROM_INPUT_BEFORE, FROM_COUNTER };

/* The value that is XORed into the cipher's output. The input block before the first one is the
 * IV. */
enum tr_addend { ADD_NOTHING, ADD_INPUT, ADD_INPUT_BEFORE };

struct tr_shape {
    enum tr_op op;
    int inverse; /* 1: the inverse cipher */
    enum tr_source source;
    enum tr_addend addend;
};

/* Whether a shape reads the input shifted by one block. The last input block is then the next
 * IV. */
static inline int tr_shape_shifts(struct tr_shape shape)
{
    return shape.source == FROM_INPUT_BEFORE || shape.addend == ADD_INPUT_BEFORE;
}

#define TR_SHAPE_ECB_ENCRYPT ((struct tr_shape){TR_OP_ECB_ENCRYPT, 0, FROM_INPUT, ADD_NOTHING})
#define TR_SHAPE_ECB_DECRYPT ((struct tr_shape){TR_OP_ECB_DECRYPT, 1, FROM_INPUT, ADD_NOTHING})
#define TR_SHAPE_CBC_DECRYPT ((struct tr_shape){TR_OP_CBC_DECRYPT, 1, FROM_INPUT, ADD_INPUT_BEFORE})
#define TR_SHAPE_CFB_DECRYPT ((struct tr_shape){TR_OP_CFB_DECRYPT, 0, FROM_INPUT_BEFORE, ADD_INPUT})
#define TR_SHAPE_CTR         ((struct tr_shape){TR_OP_CTR, 0, FROM_COUNTER, ADD_INPUT})

/* X(name, shape) for each mode except CTR, whose counter may need its own code. */
#define TR_SHAPES_BUT_CTR(X)                                                                       \
    X(ecb_encrypt, TR_SHAPE_ECB_ENCRYPT)                                                           \
    X(ecb_decrypt, TR_SHAPE_ECB_DECRYPT)                                                           \
    X(cbc_decrypt, TR_SHAPE_CBC_DECRYPT)                                                           \
    X(cfb_decrypt, TR_SHAPE_CFB_DECRYPT)
#define TR_SHAPES(X) TR_SHAPES_BUT_CTR(X) X(ctr, TR_SHAPE_CTR)

/* A list of the functions of the parallel modes, for a declaration. */
#define TR_SHAPE_FUNCTIONS(NAME)                                                                   \
    NAME(ecb_encrypt), NAME(ecb_decrypt), NAME(cbc_decrypt), NAME(cfb_decrypt), NAME(ctr)

/* The entries of the parallel modes in a backend's table. NAME(mode) is the function. */
#define TR_SHAPE_ENTRIES(NAME)                                                                     \
    [TR_OP_ECB_ENCRYPT] = NAME(ecb_encrypt), [TR_OP_ECB_DECRYPT] = NAME(ecb_decrypt),              \
    [TR_OP_CBC_DECRYPT] = NAME(cbc_decrypt), [TR_OP_CFB_DECRYPT] = NAME(cfb_decrypt),              \
    [TR_OP_CTR] = NAME(ctr)

#endif
