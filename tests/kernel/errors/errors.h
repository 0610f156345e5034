/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What a driver does with bad input, compared with another one that has been in the kernel for long: the same
 * errno for the same call, nothing written outside of what the scatterlist describes, and nothing kept.
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
    const char *prefix; /* of our driver's name */
    const char *theirs; /* the other driver's name, which all kernels have that are tested */
};

extern char *backend;
extern unsigned int cases;

/* Our driver of a pair, or the other one. */
const char *driver_name(const struct pair *pair, int whose, char name[128]);

/* Says what happened, as printk does, and counts a failure. */
__printf(2, 3) void differ(const char *what, const char *format, ...);
/* Compares what both returned for one call, and counts a case. */
__printf(4, 5) void same_error(const struct pair *pair, int ours, int theirs, const char *format,
                               ...);

void test_ciphers(void);
void test_aeads(void);

/* ---- scene.c: where a request lies ---- */

#define ROOM (2 * PAGE_SIZE) /* for data; a page follows that nobody may touch */

/* Input and output of one request, with a poison around the output. Data ends at the end of a page. */
struct scene {
    u8 *in, *out; /* ROOM + PAGE_SIZE */
    struct scatterlist from[8], to[8];
    unsigned int in_len, out_len, may_copy;
};

bool scene_make(struct scene *s);
void scene_free(struct scene *s);
/* in_len bytes in, out_len out; scattered into awkward pieces or in one. Input is the same for the same seed. */
void scene_set(struct scene *s, unsigned int in_len, unsigned int out_len, bool scattered,
               u32 seed);
u8 *scene_in(struct scene *s);
u8 *scene_out(struct scene *s);
/* Whether nothing but the output was written. */
bool scene_intact(const struct scene *s);

void fill(u8 *bytes, unsigned int len, u32 seed);

/* ---- starve.c: memory that runs out ---- */

int starve_register(void);
void starve_unregister(void);
/* From now on the nth allocation of this task fails, none for 0; others are remembered. */
void starve_begin(unsigned int nth);
/* Ends that. Returns whether an allocation was made to fail; *kept is how many were not freed. */
bool starve_end(unsigned int *kept);

/* ---- load.c: the same while our module loads ---- */

int load_register(void);
void load_unregister(void);

#endif
