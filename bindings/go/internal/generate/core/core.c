/* SPDX-License-Identifier: BSD-2-Clause */
/* What Go needs besides the core's archive: the four functions that a compiler may call, selection
 * for Go, sealing and opening of many messages, and objects whose sizes main.go reads. */
#include "tenrounds.h"

/* A compiler that recognizes a loop as memcpy() would call the function from itself. */
#define BYTES __attribute__((optimize("O3", "no-tree-loop-distribute-patterns")))

BYTES void *memmove(void *out, const void *in, size_t n)
{
    uint8_t *to = out;
    const uint8_t *from = in;
    if (to <= from || to >= from + n)
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    else
        while (n-- > 0)
            to[n] = from[n];
    return out;
}

BYTES void *memcpy(void *out, const void *in, size_t n)
{
    return memmove(out, in, n);
}

BYTES void *memset(void *out, int value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)value;
    return out;
}

BYTES int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* The backend that tr_select() chooses and its name. NULL if it has no AES instructions or no
 * carry-less multiplication: Go's own code is the faster one then. */
const struct tr_backend *tr_go_select(const char *mask, const char **name)
{
    const tr_features needed = TR_FEATURE_AES | TR_FEATURE_CLMUL;
    struct tr_selection selection;
    if (tr_select(mask, 0, &selection) != TR_OK)
        return NULL;
    *name = tr_backend_name(selection.backend);
    return (tr_backend_features(selection.backend) & needed) == needed ? selection.backend : NULL;
}

/* A slice of Go, and a Message of many.go. */
struct go_slice {
    uint8_t *first;
    size_t len, cap;
};
struct go_message {
    struct go_slice dst, nonce, in, aad, out;
    const void *err[2];
};

#define MOST 64u /* the bits of *failed; calls_amd64.s has room for so many jobs */

/*
 * Seals at most MOST messages if `cut` is 0. Else opens them, and `cut` is the size of their tags.
 * Go has checked them, and `out` is the memory of the result, whose first bytes are those of `dst`.
 * Sets a bit of *failed for each message whose tag does not match. Go would have to clear the jobs
 * before it sets them.
 */
enum tr_status tr_go_many(const struct tr_gcm_key *key, const struct go_message *messages,
                          size_t count, size_t tag_len, size_t cut, uint64_t *failed)
{
    struct tr_gcm_job jobs[MOST];
    for (size_t i = 0; i < count; i++) {
        const struct go_message *m = &messages[i];
        const size_t len = m->in.len - cut;
        uint8_t *out = m->out.first + m->dst.len;
        struct tr_gcm_job *j = &jobs[i];
        j->key = key;
        j->iv = m->nonce.first;
        j->iv_len = m->nonce.len;
        j->aad = m->aad.first;
        j->aad_len = m->aad.len;
        j->out = out;
        j->in = m->in.first;
        j->len = len;
        j->tag = cut != 0 ? m->in.first + len : out + len;
        j->tag_len = tag_len;
    }
    *failed = 0;
    if (cut == 0)
        return tr_gcm_seal_many(jobs, count);
    const enum tr_status status = tr_gcm_open_many(jobs, count);
    for (size_t i = 0; status == TR_ERR_TAG && i < count; i++)
        *failed |= (uint64_t)(jobs[i].status != TR_OK) << i;
    return status == TR_ERR_TAG ? TR_OK : status;
}

_Static_assert(sizeof(struct tr_gcm_job[MOST]) == 5632, "MANY_FRAME in calls_amd64.s");
_Static_assert(TR_ERR_TAG == 9, "verified() in core_amd64.go");
_Static_assert(_Alignof(struct tr_aes_key) == 16 && _Alignof(struct tr_gcm_key) == 16 &&
                   _Alignof(struct tr_xts_key) == 16 && _Alignof(struct tr_gcm_siv_key) == 16,
               "slack in core_amd64.go");

#ifdef SIZES
struct tr_aes_key aesKeySize;
struct tr_gcm_key gcmKeySize;
struct tr_xts_key xtsKeySize;
struct tr_gcm_siv_key gcmSIVKeySize;
struct go_message messageSize;
char gcmMaxJobs[MOST];
#endif
