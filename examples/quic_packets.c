/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seals and protects a batch of packets as QUIC does, then opens them again. Two calls process the
 * whole batch: tr_gcm_seal_many() for packet protection (RFC 9001 section 5.3), and tr_ecb_masks()
 * for header protection (section 5.4). The first packet is the client Initial of appendix A.2, and
 * must become the bytes that the appendix prints. One packet is then changed, and must be refused.
 *
 *     quic_packets
 *
 * The program uses tenrounds.h alone. A QUIC library has its own packets and keys, and takes from
 * here protect() and unprotect(). README.md says when the calls gain.
 */
#include <stdio.h>
#include <string.h>
#include <tenrounds.h>

#define PACKETS 64
#define SIZE    1200 /* of a packet in bytes, header and tag included */
#define IV      12
#define TAG     16
#define SAMPLE  16 /* the sample begins 4 bytes after the packet number does */

/* The keys of one direction, from a connection's secret (RFC 9001 section 5.1). */
struct keys {
    struct tr_gcm_key packet;
    struct tr_aes_key header;
    uint8_t iv[IV];
};

struct packet {
    uint8_t bytes[SIZE];
    size_t number_at, number_len; /* the packet number in the header, which ends with it */
    uint64_t number;              /* the whole number, of which the header has the last bytes */
    int good;                     /* set by unprotect(): the packet is authentic */
};

/* ---- Packets -------------------------------------------------------------------------------- */

/* The nonce is the IV, XORed with the packet number in its last 8 bytes. */
static void nonce_of(uint8_t nonce[IV], const struct keys *keys, uint64_t number)
{
    memcpy(nonce, keys->iv, IV);
    for (int i = 0; i < 8; i++)
        nonce[IV - 1 - i] ^= (uint8_t)(number >> 8 * i);
}

/* Makes one job for each packet. It works in place. The AAD is the header. */
static void prepare(struct tr_gcm_job *jobs, uint8_t nonces[][IV], const struct keys *keys,
                    struct packet *packets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct packet *p = &packets[i];
        const size_t header = p->number_at + p->number_len;
        nonce_of(nonces[i], keys, p->number);
        jobs[i] = (struct tr_gcm_job){.key = &keys->packet,
                                      .iv = nonces[i],
                                      .iv_len = IV,
                                      .aad = p->bytes,
                                      .aad_len = header,
                                      .out = p->bytes + header,
                                      .in = p->bytes + header,
                                      .len = SIZE - TAG - header,
                                      .tag = p->bytes + SIZE - TAG,
                                      .tag_len = TAG};
    }
}

/* Computes the masks of all packets from samples of their ciphertext. */
static enum tr_status make_masks(uint8_t masks[][SAMPLE], const struct keys *keys,
                                 const struct packet *packets, size_t count)
{
    struct tr_mask_job jobs[PACKETS];
    for (size_t i = 0; i < count; i++) {
        const struct packet *p = &packets[i];
        jobs[i] = (struct tr_mask_job){&keys->header, p->bytes + p->number_at + 4, masks[i]};
    }
    return tr_ecb_masks(jobs, count);
}

/* The bits of the first byte that are protected: 4 in a long header, 5 in a short one. */
static uint8_t protected_bits(uint8_t first)
{
    return first & 0x80 ? 0x0f : 0x1f;
}

/* Seals the packets, then protects their headers. */
static enum tr_status protect(const struct keys *keys, struct packet *packets, size_t count)
{
    struct tr_gcm_job jobs[PACKETS];
    uint8_t nonces[PACKETS][IV], masks[PACKETS][SAMPLE];
    prepare(jobs, nonces, keys, packets, count);
    enum tr_status status = tr_gcm_seal_many(jobs, count);
    if (status == TR_OK)
        status = make_masks(masks, keys, packets, count);
    for (size_t i = 0; status == TR_OK && i < count; i++) {
        struct packet *p = &packets[i];
        p->bytes[0] ^= masks[i][0] & protected_bits(p->bytes[0]);
        for (size_t k = 0; k < p->number_len; k++)
            p->bytes[p->number_at + k] ^= masks[i][1 + k];
    }
    return status;
}

/* Finds the number nearest to `expected` that ends with the `len` bytes of `end` (RFC 9000 appendix
 * A.3). */
static uint64_t whole_number(uint64_t expected, uint64_t end, size_t len)
{
    const uint64_t window = (uint64_t)1 << 8 * len;
    const uint64_t number = (expected & ~(window - 1)) | end;
    if (number + window / 2 <= expected && number < ((uint64_t)1 << 62) - window)
        return number + window;
    if (number > expected + window / 2 && number >= window)
        return number - window;
    return number;
}

/* Removes the protection of the headers, then opens the packets. `expected` is the number after the
 * largest one that was received. Each packet has its own result: one that was changed is dropped,
 * and the others are valid. */
static enum tr_status unprotect(const struct keys *keys, struct packet *packets, size_t count,
                                uint64_t expected)
{
    struct tr_gcm_job jobs[PACKETS];
    uint8_t nonces[PACKETS][IV], masks[PACKETS][SAMPLE];
    enum tr_status status = make_masks(masks, keys, packets, count);
    for (size_t i = 0; status == TR_OK && i < count; i++) {
        struct packet *p = &packets[i];
        uint64_t end = 0;
        p->bytes[0] ^= masks[i][0] & protected_bits(p->bytes[0]);
        p->number_len = 1 + (p->bytes[0] & 3u);
        for (size_t k = 0; k < p->number_len; k++)
            end = end << 8 | (p->bytes[p->number_at + k] ^= masks[i][1 + k]);
        p->number = whole_number(expected, end, p->number_len);
    }
    if (status != TR_OK)
        return status;
    prepare(jobs, nonces, keys, packets, count);
    status = tr_gcm_open_many(jobs, count);
    for (size_t i = 0; i < count; i++)
        packets[i].good = (status == TR_OK || status == TR_ERR_TAG) && jobs[i].status == TR_OK;
    return status;
}

/* ---- The batch ------------------------------------------------------------------------------ */

/* RFC 9001 appendix A.1: the client's Initial keys. */
static const uint8_t raw_packet_key[16] = {0x1f, 0x36, 0x96, 0x13, 0xdd, 0x76, 0xd5, 0x46,
                                           0x77, 0x30, 0xef, 0xcb, 0xe3, 0xb1, 0xa2, 0x2d};
static const uint8_t raw_iv[IV] = {0xfa, 0x04, 0x4b, 0x2f, 0x42, 0xa3,
                                   0xfd, 0x3b, 0x46, 0xfb, 0x25, 0x5c};
static const uint8_t raw_header_key[16] = {0x9f, 0x50, 0x44, 0x9e, 0x04, 0xa0, 0xe8, 0x10,
                                           0x28, 0x3a, 0x1e, 0x99, 0x33, 0xad, 0xed, 0xd2};

/* Appendix A.2: the header, the frame of the payload, to which zeros are appended, and the beginning
 * and the end of the protected packet. */
#define HEX_HEADER "c300000001088394c8f03e5157080000449e00000002"
#define HEX_FRAME                                                                                  \
    "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c"         \
    "00000413011302010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006"         \
    "001d0017001800100007000504616c706e000500050100000000003300260024001d00209370b2c9caa4"         \
    "7fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e040305"         \
    "0306030203080408050806002d00020101001c00024001003900320408ffffffffffffffff05048000ff"         \
    "ff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff"
#define HEX_BEGINNING "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9b"
#define HEX_END       "e221af44860018ab0856972e194cd934"

/* Converts hexadecimal digits, and returns the number of bytes. */
static size_t from_hex(uint8_t *out, const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (; hex[2 * n] != '\0'; n++)
        out[n] = (uint8_t)((strchr(digits, hex[2 * n]) - digits) << 4 |
                           (strchr(digits, hex[2 * n + 1]) - digits));
    return n;
}

/* Makes the packet of the appendix, and packets with a short header: one byte, the ID of the
 * connection in 8, and 2 bytes of the packet number. */
static void make(struct packet *packets, size_t count)
{
    memset(packets, 0, count * sizeof(*packets));
    packets[0].number = 2;
    packets[0].number_at = from_hex(packets[0].bytes, HEX_HEADER) - 4;
    packets[0].number_len = 4;
    from_hex(packets[0].bytes + packets[0].number_at + 4, HEX_FRAME);
    for (size_t i = 1; i < count; i++) {
        struct packet *p = &packets[i];
        p->number = 2 + i;
        p->number_at = 9;
        p->number_len = 2;
        p->bytes[0] = 0x40 | 1; /* the number has 1 + 1 bytes */
        memset(p->bytes + 1, 0xc1, 8);
        p->bytes[9] = (uint8_t)(p->number >> 8);
        p->bytes[10] = (uint8_t)p->number;
        for (size_t k = 11; k < SIZE - TAG; k++)
            p->bytes[k] = (uint8_t)(i + k);
    }
}

/* Whether the first packet is that of the appendix. */
static int is_appendix(const struct packet *p)
{
    uint8_t beginning[64], end[TAG];
    const size_t n = from_hex(beginning, HEX_BEGINNING);
    from_hex(end, HEX_END);
    return memcmp(p->bytes, beginning, n) == 0 && memcmp(p->bytes + SIZE - TAG, end, TAG) == 0;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "quic_packets: %s: %s\n", what, why);
    return 0;
}

static int run(const struct keys *keys)
{
    static struct packet sent[PACKETS], packets[PACKETS];
    const size_t changed = PACKETS / 2;
    make(sent, PACKETS);
    memcpy(packets, sent, sizeof(packets));
    enum tr_status status = protect(keys, packets, PACKETS);
    if (status != TR_OK)
        return fail("cannot protect", tr_strerror(status));
    if (!is_appendix(&packets[0]))
        return fail("the first packet", "differs from RFC 9001, appendix A.2");
    printf("protected %d packets; the first is that of RFC 9001, appendix A.2\n", PACKETS);

    packets[changed].bytes[SIZE / 2] ^= 1;
    for (size_t i = 0; i < PACKETS; i++) /* the receiver has to find these out */
        packets[i].number = packets[i].number_len = 0;
    status = unprotect(keys, packets, PACKETS, 2);
    if (status != TR_ERR_TAG)
        return fail("the changed packet", tr_strerror(status));
    for (size_t i = 0; i < PACKETS; i++) {
        const int same = packets[i].number == sent[i].number &&
                         memcmp(packets[i].bytes, sent[i].bytes, SIZE - TAG) == 0;
        if (packets[i].good != (i != changed) || packets[i].good != same)
            return fail("opening", "the wrong packets are authentic");
    }
    printf("opened %d packets and refused the one that was changed\n", PACKETS - 1);
    return 1;
}

int main(void)
{
    static struct keys keys;
    memcpy(keys.iv, raw_iv, IV);
    enum tr_status status = tr_gcm_set_key(&keys.packet, NULL, raw_packet_key, 16);
    if (status == TR_OK)
        status = tr_aes_set_key(&keys.header, NULL, raw_header_key, 16);
    const int good = status == TR_OK ? run(&keys) : fail("cannot set keys", tr_strerror(status));
    tr_cleanse(&keys, sizeof(keys));
    return good ? 0 : 1;
}
