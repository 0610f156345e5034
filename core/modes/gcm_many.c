/* SPDX-License-Identifier: BSD-2-Clause */
/* Many GCM messages in one call. Adjacent jobs of one key and one shape (lengths of data, AAD, IV
 * and tag) go to the backend's multi-message code, if it has any. So do those of at most one block
 * with a key each. All others are processed one by one. With mixed lengths, sorting, masks and
 * powers of H for each lane cost what the common kernel gains (docs/tuning/gcm-many.md). */
#include "dispatch/many.h"
#include "modes/gcm.h"
#include "modes/modes.h"

#if TR_ENV_ALL_MODES

/* Fewer jobs do not pay for the setup of the multi-message code. */
#    define LEAST       8u
/* So many jobs of one key are faster without those of other keys. */
#    define LEAST_ALONE 16u

static enum tr_status gcm_check_job(const struct tr_gcm_job *job)
{
    const uint64_t iv_len = job->iv_len, aad_len = job->aad_len, len = job->len;
    if (!tr_is_set(&job->key->aes))
        return TR_ERR_STATE;
    if (iv_len == 0 || iv_len > TR_GCM_MAX_AAD)
        return TR_ERR_IV_LENGTH;
    if (job->tag_len == 0 || job->tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    return aad_len > TR_GCM_MAX_AAD || len > TR_GCM_MAX_DATA ? TR_ERR_LENGTH : TR_OK;
}

/* Checks all jobs, and returns the first error. */
static enum tr_status gcm_check_jobs(const struct tr_gcm_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum tr_status status = gcm_check_job(&jobs[i]);
        if (status == TR_OK && tr_bad_overlap(jobs[i].out, jobs[i].in, jobs[i].len))
            status = TR_ERR_OVERLAP;
        if (status != TR_OK)
            return status;
    }
    return TR_OK;
}

/* The number of jobs from the first on that have its shape, and whose outputs do not begin inside
 * their inputs. They have one key or, with data of at most a block, keys of one kind. Sets
 * *own_keys if they have several keys. Many jobs of one key are a run of their own. Messages of a
 * block take 25 cycles each, of which this loop must not be a large part. */
static size_t gcm_run_length(const struct tr_gcm_job *jobs, size_t count, int *own_keys)
{
    const struct tr_gcm_job first = jobs[0];
    const struct tr_gcm_key *key = first.key;
    size_t i = 0, since = 0, changes = 0; /* job `since` is the first with this key */
    for (; i < count; i++) {
        const struct tr_gcm_job *j = &jobs[i];
        if (j->len != first.len || j->aad_len != first.aad_len || j->iv_len != first.iv_len ||
            j->tag_len != first.tag_len || tr_bad_overlap(j->out, j->in, first.len))
            break;
        if (j->key == key)
            continue;
        if (first.len > TR_BLOCK || i - since >= LEAST_ALONE || j->key == NULL || key == NULL ||
            !tr_are_like(&j->key->aes, &key->aes))
            break;
        key = j->key;
        since = i;
        changes++;
    }
    if (changes != 0 && i - since >= LEAST_ALONE) {
        i = since;
        changes--;
    }
    *own_keys = changes != 0;
    return i;
}

/* As gcm_run_length(), but fast where all jobs make one run: all share a key, or no two adjacent
 * jobs share a key. */
static int gcm_alike(const struct tr_gcm_job *jobs, size_t count, int *own_keys)
{
    const struct tr_aes_key *key = &jobs->key->aes;
    tr_gcm_alike_fn *compare = tr_whole_calls(key)->gcm_alike;
    const enum tr_alike alike = compare != NULL ? compare(jobs, count) : TR_UNLIKE;
    *own_keys = alike == TR_ALIKE_BUT_KEYS;
    for (size_t i = 1; alike == TR_ALIKE_BUT_KEYS && i < count; i++) {
        if (jobs[i].key == jobs[i - 1].key || !tr_are_like(&jobs[i].key->aes, key))
            return 0;
    }
    return alike != TR_UNLIKE;
}

int tr_many_passes(const struct tr_backend *b)
{
    static uint32_t verdicts;
    return tr_passes_once(&verdicts, tr_backend_index(b), tr_kat_many);
}

/* The multi-message code for jobs like this one, or NULL. */
static tr_gcm_many_fn *gcm_code_for(const struct tr_gcm_job *job)
{
    const struct tr_aes_key *key = &job->key->aes;
    const int fits = job->iv_len == TR_GCM_IV && job->tag_len == TR_BLOCK && job->len != 0 &&
                     job->len <= TR_MANY_BYTES && job->aad_len <= TR_MANY_AAD;
    tr_gcm_many_fn *many = fits ? tr_whole_calls(key)->gcm_many : NULL;
    return many != NULL && tr_many_passes(key->backend) ? many : NULL;
}

static void gcm_one_job(struct tr_gcm_job *j, int decrypt)
{
    j->status = decrypt ? tr_gcm_open(j->key, j->iv, j->iv_len, j->aad, j->aad_len, j->out, j->in,
                                      j->len, j->tag, j->tag_len)
                        : tr_gcm_seal(j->key, j->iv, j->iv_len, j->aad, j->aad_len, j->out, j->in,
                                      j->len, j->tag, j->tag_len);
}

/* Passes a run of jobs to the multi-message code. Returns how many it has processed. */
static size_t gcm_run(struct tr_gcm_job *jobs, size_t n, int decrypt, int own_keys)
{
    const int pays = n >= LEAST && (!own_keys || jobs->len <= TR_BLOCK);
    tr_gcm_many_fn *many = pays ? gcm_code_for(jobs) : NULL;
    if (many == NULL)
        return 0;
    const size_t done = many(jobs, n, decrypt, own_keys);
    TR_PROBE_BULK(decrypt ? TR_OP_GCM_OPEN : TR_OP_GCM_SEAL, jobs->key->aes.backend->name,
                  done * jobs->len);
    return done;
}

static enum tr_status gcm_many(struct tr_gcm_job *jobs, size_t count, int decrypt)
{
    int own_keys;
    if (count == 0)
        return TR_OK;
    enum tr_status status = gcm_check_jobs(jobs, 1);
    if (status != TR_OK)
        return status;
    size_t n = gcm_alike(jobs, count, &own_keys) ? count : gcm_run_length(jobs, count, &own_keys);
    if (n != count && (status = gcm_check_jobs(jobs + 1, count - 1)) != TR_OK)
        return status;
    for (size_t i = 0; i < count;
         n = i < count ? gcm_run_length(jobs + i, count - i, &own_keys) : 0) {
        const size_t end = i + n;
        for (i += gcm_run(jobs + i, n, decrypt, own_keys); i < end; i++)
            gcm_one_job(&jobs[i], decrypt);
    }
    for (size_t i = 0; decrypt && i < count && status == TR_OK; i++)
        status = jobs[i].status;
    return status;
}

void tr_gcm_encrypt_many(struct tr_gcm *const *messages, struct tr_gcm_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tr_bad_overlap(jobs[i].out, jobs[i].in, jobs[i].len) ||
            !tr_gcm_offer(messages[i], &jobs[i]))
            jobs[i].key = NULL;
    }
    for (size_t i = 0; i < count;) {
        int own_keys;
        /* A job whose output overlaps its input makes no run: it is done alone. */
        const size_t n = gcm_run_length(jobs + i, count - i, &own_keys), end = i + (n != 0 ? n : 1);
        const size_t taken = i + (jobs[i].key != NULL ? gcm_run(jobs + i, n, 0, own_keys) : 0);
        for (; i < taken; i++)
            tr_gcm_taken(messages[i], jobs[i].len);
        for (; i < end; i++)
            jobs[i].status = tr_gcm_encrypt(messages[i], jobs[i].out, jobs[i].in, jobs[i].len);
    }
}

enum tr_status tr_gcm_seal_many(struct tr_gcm_job *jobs, size_t count)
{
    return gcm_many(jobs, count, 0);
}

enum tr_status tr_gcm_open_many(struct tr_gcm_job *jobs, size_t count)
{
    return gcm_many(jobs, count, 1);
}
#endif
