/* SPDX-License-Identifier: BSD-2-Clause */
/* Many short messages at once: what the modes and the backends share. */
#ifndef TR_DISPATCH_MANY_H
#define TR_DISPATCH_MANY_H

#include "tenrounds.h"

/* The longest data and AAD of a job, in bytes, that a backend's gcm_many() takes. With a key for
 * each job, the data has at most TR_BLOCK bytes. */
#define TR_MANY_BYTES 2048u
#define TR_MANY_AAD   64u

/* Seals or opens messages of one length of data and one of AAD. All have one key or, if own_keys is
 * not 0, keys of one size and backend. Their IVs have 12 bytes and their tags 16; they have data.
 * Sets each job's status: TR_ERR_TAG if the tag of an opened message does not match, whose output
 * then holds zeros; else TR_OK. Returns the number of jobs that it has processed, which are the
 * first ones; the caller processes the others. */
typedef size_t tr_gcm_many_fn(struct tr_gcm_job *jobs, size_t count, int decrypt, int own_keys);

/* Whether all jobs have the key and the lengths of the first, and no output begins inside its
 * input; or only the keys differ. May return TR_UNLIKE in any case. */
enum tr_alike { TR_UNLIKE, TR_ALIKE, TR_ALIKE_BUT_KEYS };
typedef enum tr_alike tr_gcm_alike_fn(const struct tr_gcm_job *jobs, size_t count);

/* Encrypts samples under one key, or if own_keys is not 0, under keys of one size and backend.
 * Returns the number of samples that it has processed, which are the first ones. */
typedef size_t tr_masks_fn(const struct tr_mask_job *jobs, size_t count, int own_keys);

/* The known-answer tests of a backend's gcm_many() and masks(), which must not be NULL. */
enum tr_status tr_kat_many(const struct tr_backend *backend);

/* Whether a backend passes these tests. Runs them before the first use, and keeps the result. */
int tr_many_passes(const struct tr_backend *backend);

#endif
