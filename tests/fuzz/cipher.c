/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes struct tr_cipher with data in pieces of any length, in place or not. Each output must be
 * as long as tr_cipher_room() predicts. The whole output must equal the output of one call with
 * bitslice.
 */
#include "fuzz.h"

#define ROOM (2 * FUZZ_LONGEST)

static uint8_t in_bytes[ROOM], out_bytes[ROOM + 16], expected[ROOM + 16];

/* Makes the expected message. Adds or removes the padding (RFC 5652 section 6.3) without tr_cipher.
 * Returns the message's length, or -1 if the message must fail. */
static long one_shot(const struct tr_aes_key *key, enum tr_mode mode, bool decrypt, bool padding,
                     const uint8_t iv[16], size_t len)
{
    struct position p = position_at(iv);
    uint8_t message[ROOM + 16];
    memcpy(message, in_bytes, len);
    padding &= mode_is_blocks(mode);
    if (padding && !decrypt) {
        const size_t n = 16 - len % 16;
        memset(message + len, (int)n, n);
        len += n;
    }
    if ((mode_is_blocks(mode) && len % 16 != 0) || (padding && len == 0))
        return -1;
    check(mode_run(key, mode, decrypt, &p, expected, message, len) == TR_OK,
          "the one-shot call of bitslice");
    if (!padding || !decrypt)
        return (long)len;
    const uint8_t n = expected[len - 1];
    if (n == 0 || n > 16)
        return -1;
    for (size_t i = 1; i <= n; i++)
        if (expected[len - i] != n)
            return -1;
    return (long)(len - n);
}

static void update(struct tr_cipher *c, struct input *in, size_t *taken, size_t *written)
{
    static uint8_t area[2 * (FUZZ_LONGEST + 64)];
    const size_t n = next_length(in), room = tr_cipher_room(c, n);
    const uint8_t how = next(in);
    size_t out_len = 0;
    if (*taken + n > ROOM)
        return;
    fill(in_bytes + *taken, n, how);
    memset(area, 0x5a, sizeof(area));
    memcpy(area, in_bytes + *taken, n);
    uint8_t *out = how & 1 ? area : area + FUZZ_LONGEST + 64;
    const struct tr_cipher before = *c;
    const enum tr_status status = tr_cipher_update(c, out, &out_len, area, n);
    if (status == TR_ERR_OVERLAP && out == area) { /* refused without a change */
        check(memcmp(&before, c, sizeof(before)) == 0 && tap_same(area, in_bytes + *taken, n),
              "a refused update, which changed something");
        return;
    }
    check(status == TR_OK && out_len == room, "the status or output length of update()");
    memcpy(out_bytes + *written, out, out_len);
    *taken += n;
    *written += out_len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct tr_cipher c;
    uint8_t raw[32], iv[16], last[16];
    size_t taken = 0, written = 0, last_len = 0;
    const struct tr_backend *b = next_backend(&in);
    const size_t key_len = key_lengths[next(&in) % 3];
    const enum tr_mode mode = all_modes[next(&in) % MODES];
    const bool decrypt = next(&in) & 1, padding = next(&in) & 1;
    fill(raw, sizeof(raw), next(&in));
    fill(iv, sizeof(iv), next(&in));
    memset(&c, 0xa5, sizeof(c));
    const struct tr_aes_key tested = key_for(b, raw, key_len);
    const struct tr_aes_key key = key_for(&tr_bitslice, raw, key_len);
    check(tr_cipher_start(&c, &tested, mode, decrypt, padding, iv) == TR_OK,
          "the status of tr_cipher_start()");
    while (in.left > 0)
        update(&c, &in, &taken, &written);
    const enum tr_status status = tr_cipher_final(&c, last, &last_len);
    const long len = one_shot(&key, mode, decrypt, padding, iv, taken);
    check((status == TR_OK) == (len >= 0), "the status of tr_cipher_final()");
    if (status == TR_OK) {
        memcpy(out_bytes + written, last, last_len);
        check(written + last_len == (size_t)len && tap_same(out_bytes, expected, (size_t)len),
              "the message");
    }
    return 0;
}
