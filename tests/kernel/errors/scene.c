/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Buffers and scatterlists of a request. The data of both buffers ends at a page end. Scatterlists
 * divide the data into one or many pieces. */
#include "errors.h"

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#define POISON 0xa5
#define ORDER  2 /* 4 pages, of which 3 are used */

void fill(u8 *bytes, unsigned int len, u32 seed)
{
    while (len-- != 0) {
        seed = seed * 1664525 + 1013904223; /* Knuth, TAOCP volume 2, section 3.3.4 */
        *bytes++ = seed >> 24;
    }
}

bool scene_make(struct scene *s)
{
    s->in = (u8 *)__get_free_pages(GFP_KERNEL, ORDER);
    s->out = (u8 *)__get_free_pages(GFP_KERNEL, ORDER);
    return s->in != NULL && s->out != NULL;
}

void scene_free(struct scene *s)
{
    free_pages((unsigned long)s->in, ORDER);
    free_pages((unsigned long)s->out, ORDER);
}

u8 *scene_in(struct scene *s)
{
    return s->in + ROOM - s->in_len;
}

u8 *scene_out(struct scene *s)
{
    return s->out + ROOM - s->out_len;
}

/* Makes a scatterlist of one piece, or of several pieces that straddle blocks. The last piece has
 * all remaining bytes. */
static void scatter(struct scatterlist sg[8], u8 *bytes, unsigned int len, bool scattered)
{
    static const unsigned int sizes[] = {3, 14, 16, 1, 30, 5, 33};
    unsigned int i, entries = 1;

    if (scattered) {
        unsigned int sum = 0;

        for (entries = 1; entries < 8 && sum + sizes[entries - 1] < len; entries++)
            sum += sizes[entries - 1];
    }
    sg_init_table(sg, entries);
    for (i = 0; i < entries; i++) {
        unsigned int n = i + 1 < entries ? sizes[i] : len;

        sg_set_buf(&sg[i], bytes, n);
        bytes += n;
        len -= n;
    }
}

void scene_set(struct scene *s, unsigned int in_len, unsigned int out_len, bool scattered, u32 seed)
{
    s->in_len = in_len;
    s->out_len = out_len;
    s->may_copy = 0;
    fill(scene_in(s), in_len, seed);
    memset(s->out, POISON, ROOM + PAGE_SIZE);
    scatter(s->from, scene_in(s), in_len, scattered);
    scatter(s->to, scene_out(s), out_len, scattered);
}

/* Whether only the output was written. The first may_copy output bytes, which are for AAD, must be
 * untouched or a copy of the AAD. */
bool scene_intact(const struct scene *s)
{
    const u8 *start = s->out + ROOM - s->out_len;

    if (memchr_inv(s->out, POISON, ROOM - s->out_len) != NULL ||
        memchr_inv(s->out + ROOM, POISON, PAGE_SIZE) != NULL)
        return false;
    return s->may_copy == 0 || memchr_inv(start, POISON, s->may_copy) == NULL ||
           memcmp(start, s->in + ROOM - s->in_len, s->may_copy) == 0;
}
