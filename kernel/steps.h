/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Iterates over a request's data in contiguous steps of at most a page, as struct skcipher_walk
 * does. Data within one page, such as a disk sector or a packet, is one step without a walk. A walk
 * would take as much time as 1 KiB of AES.
 *
 *     err = tr_steps_begin(&s, req);          (tr_steps_begin_aead() for AEADs)
 *     while (s.nbytes != 0) {
 *         ... process s.nbytes bytes from s.in to s.out with s.iv ...
 *         err = tr_steps_next(&s, rest);      rest: bytes not processed, or a negative error
 *     }
 *
 * The field s.total is the number of bytes left, including the current step.
 */
#ifndef TENROUNDS_STEPS_H
#define TENROUNDS_STEPS_H

#include <linux/mm.h>
#include <linux/scatterlist.h>

#include <crypto/internal/aead.h>
#include <crypto/internal/skcipher.h>
#include <crypto/scatterwalk.h>

struct tr_steps {
    u8 *out;
    const u8 *in;
    u8 *iv;
    unsigned int nbytes, total;
    bool walks;
    struct skcipher_walk walk; /* used if `walks` is set */
};

/* Returns the address of `len` bytes at offset `skip` of a scatterlist. Returns NULL if these bytes
 * are not all in one entry and one page. With CONFIG_HIGHMEM, always returns NULL, because a page
 * may then have no permanent address. */
static inline u8 *tr_within_page(struct scatterlist *sg, unsigned int skip, unsigned int len)
{
    unsigned int offset;

    if (IS_ENABLED(CONFIG_HIGHMEM))
        return NULL;
    while (sg != NULL && skip >= sg->length) {
        skip -= sg->length;
        sg = sg_next(sg);
    }
    if (sg == NULL || len > sg->length - skip)
        return NULL;
    offset = sg->offset + skip;
    return offset_in_page(offset) + len <= PAGE_SIZE ? (u8 *)page_address(sg_page(sg)) + offset
                                                     : NULL;
}

/* Makes the walk's current piece the current step. */
static inline int tr_steps_take(struct tr_steps *s, int err)
{
    s->walks = true;
    s->in = s->walk.src.virt.addr;
    s->out = s->walk.dst.virt.addr;
    s->iv = s->walk.iv;
    s->nbytes = s->walk.nbytes;
    s->total = s->walk.total;
    return err;
}

/* Begins a single step without a walk. Returns false if there is no data, or if the input or the
 * output is not within one page. */
static inline bool tr_steps_one(struct tr_steps *s, struct scatterlist *src,
                                struct scatterlist *dst, unsigned int skip, unsigned int len,
                                u8 *iv)
{
    u8 *in = len != 0 ? tr_within_page(src, skip, len) : NULL;
    u8 *out = in != NULL && src != dst ? tr_within_page(dst, skip, len) : in;

    if (out == NULL)
        return false;
    s->in = in;
    s->out = out;
    s->iv = iv;
    s->nbytes = s->total = len;
    s->walks = false;
    return true;
}

static inline int tr_steps_begin(struct tr_steps *s, struct skcipher_request *req)
{
    if (likely(tr_steps_one(s, req->src, req->dst, 0, req->cryptlen, req->iv)))
        return 0;
    return tr_steps_take(s, skcipher_walk_virt(&s->walk, req, false));
}

/* Begins with the data of an AEAD request, without its AAD and tag. */
static inline int tr_steps_begin_aead(struct tr_steps *s, struct aead_request *req, bool decrypt)
{
    unsigned int tag = decrypt ? crypto_aead_authsize(crypto_aead_reqtfm(req)) : 0;

    if (likely(tr_steps_one(s, req->src, req->dst, req->assoclen, req->cryptlen - tag, req->iv)))
        return 0;
    return tr_steps_take(s, decrypt ? skcipher_walk_aead_decrypt(&s->walk, req, false)
                                    : skcipher_walk_aead_encrypt(&s->walk, req, false));
}

static inline int tr_steps_next(struct tr_steps *s, int rest)
{
    if (s->walks)
        return tr_steps_take(s, skcipher_walk_done(&s->walk, rest));
    s->nbytes = 0;
    return rest > 0 ? -EINVAL : rest;
}

/* Does the same as scatterwalk_map_and_copy(), but is faster for a few bytes within one page. */
static inline void tr_copy_few(u8 *bytes, struct scatterlist *sg, unsigned int skip,
                               unsigned int len, bool write)
{
    u8 *there = tr_within_page(sg, skip, len);

    if (there == NULL)
        scatterwalk_map_and_copy(bytes, sg, skip, len, write);
    else if (write)
        memcpy(there, bytes, len);
    else
        memcpy(bytes, there, len);
}

#endif
