/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the calls for many GCM messages. Each job has the shape of the job before it, or a new
 * one: key, lengths of data, AAD, IV and tag. Outputs are in place or not, and some tags are forged.
 * The results must equal those of bitslice's single calls, and no byte around them may change.
 */
#include "fuzz.h"

#define MOST_JOBS 40u
#define ROOM      2100u /* above the longest message that runs together with others */
#define MARGIN    16u

struct shape {
    size_t key, len, aad_len, iv_len, tag_len;
};

struct message {
    bool forged;
    uint8_t iv[16], aad[80], tag[16], right_tag[16];
    uint8_t text[ROOM], in[ROOM + MARGIN], out[ROOM + MARGIN], right[ROOM];
};
static struct message messages[MOST_JOBS];
static struct tr_gcm_job jobs[MOST_JOBS];
static struct tr_gcm_key keys[2], plain[2];

static struct shape next_shape(struct input *in)
{
    struct shape s = {.key = next(in) % 2, .len = next_length(in) % (ROOM + 1)};
    s.aad_len = next(in) % (sizeof(messages->aad) + 1);
    const uint8_t how = next(in); /* most jobs have the usual IV and tag */
    s.iv_len = how & 3 ? 12 : 1 + (how >> 4);
    s.tag_len = how & 12 ? 16 : 1 + (how >> 4);
    return s;
}

static void add(struct input *in, size_t i, const struct shape *s)
{
    struct message *m = &messages[i];
    const uint8_t from = next(in), how = next(in);
    fill(m->iv, sizeof(m->iv), from);
    fill(m->aad, sizeof(m->aad), from);
    fill(m->text, s->len, (uint8_t)(from + i));
    memcpy(m->in, m->text, s->len);
    memset(m->in + s->len, 0x5a, MARGIN);
    memset(m->out, 0x5a, sizeof(m->out));
    memset(m->tag, 0x5a, sizeof(m->tag));
    memset(m->right_tag, 0x5a, sizeof(m->right_tag));
    m->forged = how & 2;
    jobs[i] = (struct tr_gcm_job){
        .key = &keys[s->key],
        .iv = m->iv,
        .iv_len = s->iv_len,
        .aad = m->aad,
        .aad_len = s->aad_len,
        .out = how & 1 ? m->in : m->out,
        .in = m->in,
        .len = s->len,
        .tag = m->tag,
        .tag_len = s->tag_len,
        .status = TR_ERR_STATE,
    };
    check(tr_gcm_seal(&plain[s->key], m->iv, s->iv_len, m->aad, s->aad_len, m->right, m->text,
                      s->len, m->right_tag, s->tag_len) == TR_OK,
          "the single call of bitslice");
}

/* Whether the output of a job is right, with nothing written after it. */
static bool is_right(const struct tr_gcm_job *job, const uint8_t *right)
{
    for (size_t i = 0; i < MARGIN; i++)
        if (job->out[job->len + i] != 0x5a)
            return false;
    return tap_same(job->out, right, job->len);
}

static void seal(size_t count)
{
    check(tr_gcm_seal_many(jobs, count) == TR_OK, "the status of tr_gcm_seal_many()");
    for (size_t i = 0; i < count; i++)
        check(jobs[i].status == TR_OK && is_right(&jobs[i], messages[i].right) &&
                  tap_same(messages[i].tag, messages[i].right_tag, 16),
              "a sealed message");
}

/* Opens the sealed messages, in place. */
static void open_all(size_t count)
{
    static const uint8_t zeros[ROOM];
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        jobs[i].in = jobs[i].out;
        messages[i].tag[i % jobs[i].tag_len] ^= messages[i].forged ? 1 : 0;
        any |= messages[i].forged;
    }
    check(tr_gcm_open_many(jobs, count) == (any ? TR_ERR_TAG : TR_OK),
          "the status of tr_gcm_open_many()");
    for (size_t i = 0; i < count; i++)
        check(jobs[i].status == (messages[i].forged ? TR_ERR_TAG : TR_OK) &&
                  is_right(&jobs[i], messages[i].forged ? zeros : messages[i].text),
              "an opened message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    const struct tr_backend *b = next_backend(&in);
    uint8_t raw[32];
    for (size_t k = 0; k < 2; k++) {
        const size_t key_len = key_lengths[next(&in) % 3];
        fill(raw, sizeof(raw), next(&in));
        check(tr_gcm_set_key(&keys[k], b, raw, key_len) == TR_OK &&
                  tr_gcm_set_key(&plain[k], &tr_bitslice, raw, key_len) == TR_OK,
              "tr_gcm_set_key()");
    }
    struct shape shape = next_shape(&in);
    size_t count = 0;
    for (; in.left > 0 && count < MOST_JOBS; count++) {
        if (next(&in) % 16 == 0)
            shape = next_shape(&in);
        add(&in, count, &shape);
    }
    seal(count);
    open_all(count);
    return 0;
}
