/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Runs published vectors on one driver through AF_ALG:
 *
 *   vectors MODE DRIVER EVERY FILE...     MODE: ecb cbc ctr xts gcm rfc4106 ccm cmac
 *
 * If EVERY is N, the program runs the first of every N cases that it can run. It prints the number
 * of requests and of failures, and the first failures. The files come from tests/vectors. CAVP's
 * response files (*.rsp) and the files of RFC 3686 share one format. The other files have one case
 * per line (see tests/vectors/README.md).
 *
 * The program omits cases that the kernel's interface cannot express. In GCM, the IV must have 12
 * bytes, and the tag 4, 8 or 12 to 16 bytes. In XTS, a data unit must be whole bytes. For rfc4106,
 * the IV must have 12 bytes, the AAD 8 or 12, and the tag 8, 12 or 16. In CMAC, the tag must have
 * 16 bytes. An invalid case of CMAC passes if the driver's tag differs, because the kernel does not
 * compare tags.
 */
#include "afalg.h"

#include <ctype.h>
#include <stdlib.h>

struct bytes {
    uint8_t data[8192];
    size_t len;
};

static const char *mode, *file;
static int alg, is_aead, is_mac;
static unsigned every, seen, run, wrong;

static int from_hex(struct bytes *b, const char *text)
{
    b->len = 0;
    if (strcmp(text, "-") == 0)
        return 1;
    for (; isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]); text += 2) {
        if (b->len == sizeof(b->data))
            return 0;
        sscanf(text, "%2hhx", &b->data[b->len++]);
    }
    return *text == '\0' || isspace((unsigned char)*text);
}

static void append(struct bytes *to, const struct bytes *from)
{
    memcpy(to->data + to->len, from->data, from->len);
    to->len += from->len;
}

static void report(const char *id, const char *what, ssize_t status)
{
    if (wrong++ < 5)
        printf("%s, case %s: %s (%zd)\n", file, id, what, status);
}

/* Makes one request. A valid message must give the output `want`, an invalid message -EBADMSG.
 * Reads exactly the expected number of bytes, because the kernel would wait for more input to fill
 * a longer read. Reads one byte if none are expected, because the kernel does nothing for a read of
 * 0 bytes. */
static void request(const char *id, int decrypt, int valid, const struct bytes *iv, size_t aad_len,
                    const struct bytes *in, const struct bytes *want)
{
    static uint8_t out[sizeof(in->data) + 64];
    int op = accept(alg, NULL, 0);
    ssize_t n;

    if (op < 0) {
        report(id, "accept failed", -errno);
        return;
    }
    memset(out, 0xa5, sizeof(out));
    n = alg_crypt(op, decrypt, iv->data, iv->len, aad_len, in->data, in->len, out,
                  want->len > 0 ? want->len : 1);
    close(op);
    run++;
    if (!valid) {
        if (n != -EBADMSG)
            report(id, "a wrong tag was not refused", n);
    } else if (n != (ssize_t)want->len) {
        report(id, decrypt ? "decryption failed" : "encryption failed", n);
    } else if (memcmp(out, want->data, want->len) != 0) {
        report(id, decrypt ? "wrong plaintext" : "wrong ciphertext", n);
    }
}

/* Whether to run this case: the first of every `every` cases. */
static int turn(void)
{
    return seen++ % every == 0;
}

static int set_key(const char *id, const struct bytes *key)
{
    int err = alg_set_key(alg, key->data, key->len);

    if (err != 0)
        report(id, "the key is refused", err);
    return err == 0;
}

/* ---- CAVP's response files ---- */

static void read_rsp(FILE *f)
{
    static struct bytes key, iv, plain, cipher;
    static char line[3 * sizeof(key.data)];
    int decrypt = 0, have = 0;
    char id[32] = "?";

    iv.len = 0;
    while (fgets(line, sizeof(line), f) != NULL) {
        char *value = strstr(line, " = ");

        if (strncmp(line, "[DECRYPT]", 9) == 0)
            decrypt = 1;
        if (value == NULL)
            continue;
        value += 3;
        if (strncmp(line, "COUNT", 5) == 0)
            snprintf(id, sizeof(id), "%s %d", decrypt ? "D" : "E", atoi(value));
        else if (strncmp(line, "KEY", 3) == 0)
            have = from_hex(&key, value) ? 1 : -100;
        else if (strncmp(line, "IV", 2) == 0)
            have += from_hex(&iv, value) ? 0 : -100;
        else if (strncmp(line, "PLAINTEXT", 9) == 0)
            have += from_hex(&plain, value) ? 1 : -100;
        else if (strncmp(line, "CIPHERTEXT", 10) == 0)
            have += from_hex(&cipher, value) ? 1 : -100;
        if (have < 0) {
            report(id, "cannot be read", have);
            have = 0;
        }
        if (have == 3) {
            have = 0;
            if (turn() && set_key(id, &key))
                request(id, decrypt, 1, &iv, 0, decrypt ? &cipher : &plain,
                        decrypt ? &plain : &cipher);
        }
    }
}

/* ---- One case per line ---- */

static void xts_case(const char *id, const struct bytes *key, const struct bytes *iv,
                     const struct bytes *plain, const struct bytes *cipher)
{
    if (!turn() || !set_key(id, key))
        return;
    request(id, 0, 1, iv, 0, plain, cipher);
    request(id, 1, 1, iv, 0, cipher, plain);
}

/* Converts a vector's nonce into the kernel's IV. For rfc4106, also appends the salt to the key and
 * the IV to the AAD. Returns 0 if the kernel cannot express the case. */
static int aead_iv(struct bytes *key, struct bytes *iv, struct bytes *aad)
{
    if (strcmp(mode, "ccm") == 0) {
        if (iv->len < 7 || iv->len > 13)
            return 0;
        memmove(iv->data + 1, iv->data, iv->len);
        memset(iv->data + 1 + iv->len, 0, 15 - iv->len);
        iv->data[0] = (uint8_t)(14 - iv->len);
        iv->len = 16;
        return 1;
    }
    if (iv->len != 12)
        return 0;
    if (strcmp(mode, "rfc4106") == 0) {
        struct bytes rest = {.len = 8};

        if (aad->len != 8 && aad->len != 12)
            return 0;
        memcpy(key->data + key->len, iv->data, 4);
        key->len += 4;
        memmove(iv->data, iv->data + 4, 8);
        iv->len = 8;
        memcpy(rest.data, iv->data, 8);
        append(aad, &rest);
    }
    return 1;
}

static int tag_size(size_t len)
{
    if (strcmp(mode, "rfc4106") == 0)
        return len == 8 || len == 12 || len == 16;
    if (strcmp(mode, "ccm") == 0)
        return len >= 4 && len <= 16 && len % 2 == 0;
    return len == 4 || len == 8 || (len >= 12 && len <= 16);
}

static void aead_case(const char *id, int valid, struct bytes *key, struct bytes *iv,
                      struct bytes *aad, const struct bytes *plain, const struct bytes *cipher,
                      const struct bytes *tag)
{
    static struct bytes in, want;
    int err;

    if (!tag_size(tag->len) || !aead_iv(key, iv, aad) || !turn() || !set_key(id, key))
        return;
    err = alg_set_tag_size(alg, tag->len);
    if (err != 0) {
        report(id, "the tag size is refused", err);
        return;
    }
    in = want = *aad;
    append(&in, cipher);
    append(&in, tag);
    append(&want, plain != NULL ? plain : cipher);
    request(id, 1, valid, iv, aad->len, &in, &want);
    if (valid)
        request(id, 0, 1, iv, aad->len, &want, &in);
}

/* Sends a message in two parts, so that the driver has to keep its state in between. */
static void mac_case(const char *id, int valid, const struct bytes *key, const struct bytes *plain,
                     const struct bytes *tag)
{
    uint8_t out[16];
    size_t first = plain->len / 2;
    int op;
    ssize_t n;

    if (tag->len != sizeof(out) || !turn() || !set_key(id, key))
        return;
    op = accept(alg, NULL, 0);
    n = op < 0 ? -errno : send(op, plain->data, first, MSG_MORE);
    if (n == (ssize_t)first)
        n = alg_hash(op, plain->data + first, plain->len - first, out, sizeof(out));
    close(op);
    run++;
    if (n != sizeof(out))
        report(id, "there is no tag", n);
    else if ((memcmp(out, tag->data, sizeof(out)) == 0) != valid)
        report(id, valid ? "wrong tag" : "the invalid tag", n);
}

static void read_lines(FILE *f)
{
    static struct bytes key, iv, aad, plain, cipher, tag;
    static char line[9 * sizeof(key.data)];
    char *word[8];

    while (fgets(line, sizeof(line), f) != NULL) {
        int n = 0, unknown;

        if (line[0] == '#')
            continue;
        for (char *w = strtok(line, " \n"); w != NULL && n < 8; w = strtok(NULL, " \n"))
            word[n++] = w;
        if (n != 8) {
            report("?", "no eight words in a line", n);
            continue;
        }
        if (strcmp(word[1], "bits") == 0)
            continue;
        unknown = strcmp(word[5], "?") == 0;
        if (!from_hex(&key, word[2]) || !from_hex(&iv, word[3]) || !from_hex(&aad, word[4]) ||
            (!unknown && !from_hex(&plain, word[5])) || !from_hex(&cipher, word[6]) ||
            !from_hex(&tag, word[7])) {
            report(word[0], "cannot be read", 0);
            continue;
        }
        if (is_mac)
            mac_case(word[0], strcmp(word[1], "valid") == 0, &key, &plain, &tag);
        else if (is_aead)
            aead_case(word[0], strcmp(word[1], "valid") == 0, &key, &iv, &aad,
                      unknown ? NULL : &plain, &cipher, &tag);
        else
            xts_case(word[0], &key, &iv, &plain, &cipher);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    mode = argv[1];
    every = (unsigned)atoi(argv[3]);
    is_aead = strcmp(mode, "gcm") == 0 || strcmp(mode, "rfc4106") == 0 || strcmp(mode, "ccm") == 0;
    is_mac = strcmp(mode, "cmac") == 0;
    alg = alg_open(is_aead ? "aead" : is_mac ? "hash" : "skcipher", argv[2]);
    if (alg < 0) {
        printf("%s: %s\n", argv[2], strerror(-alg));
        return 1;
    }
    for (int i = 4; i < argc; i++) {
        FILE *f = fopen(argv[i], "r");

        file = argv[i];
        if (f == NULL) {
            perror(file);
            return 1;
        }
        if (is_aead || is_mac || strcmp(mode, "xts") == 0)
            read_lines(f);
        else
            read_rsp(f);
        fclose(f);
    }
    printf("%u requests, %u wrong\n", run, wrong);
    return run == 0 || wrong != 0;
}
