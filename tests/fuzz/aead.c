/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the calls of an authenticated mode in any order, with data in pieces of any length. The
 * first byte of the input chooses the mode. Each call must give the status that a model of the
 * mode expects. A refused call must change nothing. A completed message must equal bitslice's
 * one-shot result.
 */
#include "fuzz.h"

#include "../core/aead.h"

#define ROOM (2 * FUZZ_LONGEST)

static const struct aead *a;

/* The current message: its lengths, key and IV, and the AAD and data of all calls that returned
 * TR_OK so far. With OCB, part_seen is set after data that ends in a partial block, because no data
 * may follow. The field `pieces` counts calls with AAD. */
static struct message {
    bool started, decrypt, in_data, part_seen;
    struct aead_lengths n; /* in CCM also the AAD and text lengths that start() got */
    size_t aad_len, len, pieces;
    uint8_t key[64], iv[128], aad[ROOM], in[ROOM], out[ROOM];
} m;
static struct aead_state state;

static bool is(const char *name)
{
    return strcmp(a->name, name) == 0;
}

static void start(struct input *in)
{
    struct aead_lengths n = {.key = m.n.key};
    n.iv = a->iv.min + next(in) % (a->iv.max - a->iv.min + 1);
    n.tag = a->tag_min + next(in) % ((16 - a->tag_min) / a->tag_step + 1) * a->tag_step;
    n.aad = is("CCM") ? next_length(in) : 0;
    n.text = is("CCM") ? next_length(in) : 0;
    m.started = true;
    m.in_data = m.part_seen = false;
    m.aad_len = m.len = m.pieces = 0;
    m.decrypt = next(in) & 1;
    m.n = n;
    fill(m.iv, n.iv, next(in));
    check(a->start(&state, m.iv, &m.n) == TR_OK, "the status of start()");
}

static bool aad_is_legal(size_t n)
{
    if (!m.started)
        return false;
    if (is("CCM"))
        return n <= m.n.aad - m.aad_len;
    return is("OCB") || !m.in_data;
}

static void aad(struct input *in)
{
    const size_t n = next_length(in);
    if (m.aad_len + n > ROOM || (a->aad_in_one_call && m.pieces > 0))
        return;
    fill(m.aad + m.aad_len, n, next(in));
    const enum tr_status status = a->aad(&state, m.aad + m.aad_len, n);
    check((status == TR_OK) == aad_is_legal(n), "the status of aad()");
    if (status != TR_OK)
        return;
    m.aad_len += n;
    m.pieces++;
}

static bool crypt_is_legal(size_t n)
{
    if (!m.started || m.part_seen)
        return false;
    return !is("CCM") || (m.aad_len == m.n.aad && n <= m.n.text - m.len);
}

static bool untouched(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i] != 0x5a)
            return false;
    return true;
}

/* Encrypts or decrypts a piece, in place or not, sometimes with output that begins inside the
 * input. */
static void crypt(struct input *in)
{
    static uint8_t area[2 * FUZZ_LONGEST + 64];
    const size_t n = next_length(in);
    const uint8_t how = next(in);
    uint8_t tag[16];
    if (m.len + n > ROOM || (m.part_seen && n == 0))
        return;
    fill(m.in + m.len, n, how);
    memset(area, 0x5a, sizeof(area));
    memcpy(area, m.in + m.len, n);
    if (how & 1 && n > 1) {
        const enum tr_status status = a->crypt(&state, m.decrypt, area + 1, area, n, tag);
        check(status != TR_OK && tap_same(area, m.in + m.len, n),
              "a call whose output begins inside its input");
        return;
    }
    uint8_t *out = how & 2 ? area : area + FUZZ_LONGEST + 32;
    const enum tr_status status = a->crypt(&state, m.decrypt, out, area, n, tag);
    check((status == TR_OK) == crypt_is_legal(n), "the status of crypt()");
    check(untouched(out + n, 32) && (status == TR_OK || out == area || untouched(out, n)),
          "a byte outside the output");
    if (status != TR_OK)
        return;
    memcpy(m.out + m.len, out, n);
    m.len += n;
    m.in_data = true;
    m.part_seen = is("OCB") && m.len % 16 != 0;
}

/* Compares the completed message with the result of bitslice's one-shot call. */
static void compare(const uint8_t *tag)
{
    static uint8_t out[ROOM];
    uint8_t other[16];
    struct aead_state s;
    m.n.aad = m.aad_len;
    m.n.text = m.len;
    memcpy(other, tag, 16);
    check(a->set_key(&s, &tr_bitslice, m.key, m.n.key) == TR_OK &&
              a->whole(&s, m.decrypt, &m.n, m.iv, m.aad, out, m.in, other) == TR_OK &&
              tap_same(out, m.out, m.len) && tap_same(other, tag, m.n.tag),
          "the message, which differs from the one-shot call's");
}

static void end(struct input *in)
{
    uint8_t tag[16];
    const bool verify = next(in) & 1;
    const bool legal = m.started && (!is("CCM") || (m.aad_len == m.n.aad && m.len == m.n.text));
    memset(tag, 0x5a, sizeof(tag));
    const enum tr_status status = a->end(&state, verify, tag, m.n.tag);
    if (!legal) {
        check(status == TR_ERR_STATE && untouched(tag, 16), "end() without a message");
        return;
    }
    m.started = false;
    if (verify) /* a tag of 1 to 3 bytes may be right by chance */
        check(status == TR_ERR_TAG || m.n.tag < 4, "the status of a forged tag");
    else
        check(status == TR_OK && untouched(tag + m.n.tag, 16 - m.n.tag), "the tag");
    if (!verify)
        compare(tag);
}

/* For SIV and GCM-SIV, which have no streaming data calls: encrypts or decrypts the whole message
 * in one crypt() call, which also ends the message. */
static void crypt_all(struct input *in)
{
    static uint8_t out[FUZZ_LONGEST], made[FUZZ_LONGEST];
    const size_t n = next_length(in);
    const bool forge = next(in) & 1;
    uint8_t tag[16] = {0};
    struct aead_state s;
    fill(m.in, n, forge);
    if (!m.started) {
        memset(out, 0x5a, sizeof(out));
        check(a->crypt(&state, m.decrypt, out, m.in, n, tag) == TR_ERR_STATE && untouched(out, n),
              "crypt() without a message");
        return;
    }
    m.n.aad = m.aad_len;
    m.n.text = n;
    m.started = false;
    /* SIV distinguishes an empty AAD component from no component. whole() cannot pass an empty
     * component, so there is no reference result to compare here. */
    if (m.pieces > 0 && m.aad_len == 0 && is("SIV")) {
        (void)a->crypt(&state, false, out, m.in, n, tag);
        return;
    }
    check(a->set_key(&s, &tr_bitslice, m.key, m.n.key) == TR_OK, "set_key() of bitslice");
    uint8_t right[16];
    check(a->whole(&s, false, &m.n, m.iv, m.aad, made, m.in, right) == TR_OK,
          "the one-shot call of bitslice");
    if (!m.decrypt) {
        check(a->crypt(&state, false, out, m.in, n, tag) == TR_OK && tap_same(out, made, n) &&
                  tap_same(tag, right, 16),
              "the message, which differs from the one-shot call's");
        return;
    }
    right[n % 16] ^= (uint8_t)forge;
    const enum tr_status status = a->crypt(&state, true, out, made, n, right);
    check(status == (forge ? TR_ERR_TAG : TR_OK), "the status of decryption");
    for (size_t i = 0; i < n; i++)
        check(out[i] == (forge ? 0 : m.in[i]), "the plaintext");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    a = &all_aeads[next(&in) % AEADS];
    memset(&m, 0, sizeof(m));
    memset(&state, 0, sizeof(state));
    const struct tr_backend *b = next_backend(&in);
    m.n.key = a->key.min + next(&in) % ((a->key.max - a->key.min) / a->key.step + 1) * a->key.step;
    m.n.tag = 16;
    fill(m.key, m.n.key, next(&in));
    check(a->set_key(&state, b, m.key, m.n.key) == TR_OK, "set_key()");
    while (in.left > 0) {
        switch (next(&in) % 8) {
        case 0:
            start(&in);
            break;
        case 1:
        case 2:
            aad(&in);
            break;
        case 3:
            if (a->end != NULL)
                end(&in);
            break;
        default:
            (a->unit == 0 ? crypt_all : crypt)(&in);
        }
    }
    return 0;
}
