/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes CMAC, CFB8 and CFB1: data in pieces of any length must give the same result as one call
 * with bitslice. */
#include "fuzz.h"

#define ROOM (2 * FUZZ_LONGEST)

static uint8_t message[ROOM], pieces[ROOM], whole[ROOM];

static void cmac(struct input *in, const struct tr_backend *b, const uint8_t *raw, size_t key_len)
{
    struct tr_cmac_key key, reference;
    struct tr_cmac c;
    uint8_t tag[16], right[16];
    size_t len = 0;
    bool started = false;
    memset(&c, 0, sizeof(c));
    memset(&key, 0, sizeof(key));
    check(tr_cmac_start(&c, &key) == TR_ERR_STATE, "the status of tr_cmac_start() without a key");
    check(tr_cmac_set_key(&key, b, raw, key_len) == TR_OK, "tr_cmac_set_key()");
    while (in->left > 0) {
        const uint8_t what = next(in) % 8;
        const size_t n = next_length(in);
        if (what == 0) {
            check(tr_cmac_start(&c, &key) == TR_OK, "tr_cmac_start()");
            started = true;
            len = 0;
        } else if (what == 1) {
            const size_t tag_len = 1 + n % 16;
            check(tr_cmac_tag(&c, tag, tag_len) == (started ? TR_OK : TR_ERR_STATE),
                  "the status of tr_cmac_tag()");
            check(!started || (tr_cmac_set_key(&reference, &tr_bitslice, raw, key_len) == TR_OK &&
                               tr_cmac_sign(&reference, message, len, right, tag_len) == TR_OK &&
                               tap_same(tag, right, tag_len)),
                  "the tag");
            started = false;
        } else if (len + n <= ROOM) {
            fill(message + len, n, what);
            check(tr_cmac_update(&c, message + len, n) == (started ? TR_OK : TR_ERR_STATE),
                  "the status of tr_cmac_update()");
            len += started ? n : 0;
        }
    }
}

static void cfb(struct input *in, const struct tr_backend *b, const uint8_t *raw, size_t key_len,
                enum tr_mode mode)
{
    const struct tr_aes_key key = key_for(b, raw, key_len),
                            other = key_for(&tr_bitslice, raw, key_len);
    uint8_t iv[16] = {1};
    struct position p = position_at(iv), q = p;
    const bool decrypt = next(in) & 1;
    size_t len = 0;
    while (in->left > 0 && len < 512) {
        const size_t n = next(in);
        fill(message + len, n, next(in));
        check(mode_run(&key, mode, decrypt, &p, pieces + len, message + len, n) == TR_OK,
              "the status of a piece");
        len += n;
    }
    check(mode_run(&other, mode, decrypt, &q, whole, message, len) == TR_OK &&
              tap_same(pieces, whole, len) && position_same(mode, &p, &q),
          "the message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t raw[32];
    const struct tr_backend *b = next_backend(&in);
    const size_t key_len = key_lengths[next(&in) % 3];
    fill(raw, sizeof(raw), next(&in));
    switch (next(&in) % 4) {
    case 0:
        cfb(&in, b, raw, key_len, TEST_CFB8);
        break;
    case 1:
        cfb(&in, b, raw, key_len, TEST_CFB1);
        break;
    default:
        cmac(&in, b, raw, key_len);
    }
    return 0;
}
