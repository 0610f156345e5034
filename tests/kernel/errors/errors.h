/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Compares our driver with an established kernel driver on bad input. Both must return the same
 * errno. Our driver must write nothing outside the scatterlist and leak no memory.
 */
#ifndef ERRORS_H
#define ERRORS_H

#include <linux/scatterlist.h>
#include <linux/types.h>

#undef pr_fmt
#define pr_fmt(fmt) "errors: " fmt

#define BLOCK 16

enum { OURS, THEIRS };

struct pair {
    const char *prefix; /* start of our driver's name */
    const char *theirs; /* the name of a driver that every tested kernel has */
};

extern char *backend;
extern unsigned int cases;

/* Returns the name of the driver `whose` (OURS or THEIRS). Only OURS uses the buffer `name`. */
const char *driver_name(const struct pair *pair, int whose, char name[128]);

/* Counts a difference as a failure, and logs the first 20 differences. */
__printf(2, 3) void differ(const char *what, const char *format, ...);
/* Compares the errno of both drivers for one call, and counts a case. */
__printf(4, 5) void same_error(const struct pair *pair, int ours, int theirs, const char *format,
                               ...);

void test_ciphers(void);
void test_aeads(void);
void test_hashes(void);

/* ---- scene.c: buffers and scatterlists of a request ---- */

#define ROOM (2 * PAGE_SIZE) /* bytes for data, before a page that must stay unwritten */

/* Input and output of one request. Both end at a page end. Poison surrounds the output. */
struct scene {
    u8 *in, *out; /* ROOM + PAGE_SIZE bytes each */
    struct scatterlist from[8], to[8];
    unsigned int in_len, out_len, may_copy;
};

bool scene_make(struct scene *s);
void scene_free(struct scene *s);
/* Prepares in_len bytes of input, generated from `seed`, and room for out_len bytes of output. With
 * `scattered`, splits both into pieces that straddle blocks. */
void scene_set(struct scene *s, unsigned int in_len, unsigned int out_len, bool scattered,
               u32 seed);
u8 *scene_in(struct scene *s);
u8 *scene_out(struct scene *s);
/* Whether only the output was written. */
bool scene_intact(const struct scene *s);

void fill(u8 *bytes, unsigned int len, u32 seed);

/* ---- starve.c: allocations that fail ---- */

int starve_register(void);
void starve_unregister(void);
/* Makes the nth allocation of this task fail, or none if nth is 0. Records the other
 * allocations. */
void starve_begin(unsigned int nth);
/* Ends the failures and the recording. Returns whether an allocation was made to fail. Sets
 * *kept to the number of allocations that were not freed. */
bool starve_end(unsigned int *kept);

/* ---- load.c: allocations that fail while our module loads ---- */

int load_register(void);
void load_unregister(void);

#endif
