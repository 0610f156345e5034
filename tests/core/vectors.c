/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests every backend that runs here with the published vectors in NIST's format (rsp.h); the test
 * mode_vectors.c reads the other files. Gives one result per file and backend. Checks the number of
 * cases, so that an empty file cannot pass. Usage: vectors DIRECTORY */
#include "common.h"
#include "rsp.h"

enum kind {
    KAT,       /* each record is a message */
    MCT,       /* each record is one of the 100 outer steps of a Monte Carlo chain */
    MCT_ENDS,  /* each record is the beginning and the end of such a chain */
    EXPANSION, /* each record is a key and its schedule */
};

struct vector_file {
    char path[48];
    enum kind kind;
    enum tr_mode mode;
    unsigned encrypt, decrypt; /* expected number of records */
};

static const char *directory;
static unsigned long cases, operations;
static struct tap_random rng;

/* ---- The files ------------------------------------------------------------------------------ */

static struct vector_file files[200];
static unsigned n_files;

__attribute__((format(printf, 5, 6))) static void
add(enum kind kind, enum tr_mode mode, unsigned encrypt, unsigned decrypt, const char *path, ...)
{
    struct vector_file *f = &files[n_files++];
    va_list ap;
    va_start(ap, path);
    vsnprintf(f->path, sizeof(f->path), path, ap);
    va_end(ap);
    f->kind = kind;
    f->mode = mode;
    f->encrypt = encrypt;
    f->decrypt = decrypt;
}

/* Adds the CAVP files of a mode and key size. The numbers of records are from AESAVS, NIST's
 * validation suite for AES: appendices B to E (KAT), section 6.3 (MMT) and section 6.4 (MCT). */
static void add_cavp(enum tr_mode mode, unsigned size)
{
    static const unsigned gfsbox[] = {7, 6, 5}, keysbox[] = {21, 24, 16};
    const unsigned bits = (unsigned)key_lengths[size] * 8;
    const char *m = mode_name(mode);
    add(KAT, mode, gfsbox[size], gfsbox[size], "cavp/%sGFSbox%u.rsp", m, bits);
    add(KAT, mode, keysbox[size], keysbox[size], "cavp/%sKeySbox%u.rsp", m, bits);
    add(KAT, mode, bits, bits, "cavp/%sVarKey%u.rsp", m, bits);
    add(KAT, mode, 128, 128, "cavp/%sVarTxt%u.rsp", m, bits);
    add(KAT, mode, 10, 10, "cavp/%sMMT%u.rsp", m, bits);
    if (mode != TR_ECB && mode != TEST_CFB1)
        add(MCT, mode, 100, 100, "cavp/%sMCT%u.rsp", m, bits);
}

static void list_files(void)
{
    add(EXPANSION, TR_MODE_NONE, 3, 0, "fips-197/key-expansion.rsp");
    add(KAT, TR_ECB, 4, 4, "fips-197/cipher.rsp");
    for (unsigned size = 0; size < 3; size++) {
        const unsigned bits = (unsigned)key_lengths[size] * 8;
        for (unsigned m = 0; m < MODES; m++)
            add(KAT, all_modes[m], 1, 1, "sp800-38a/%s%u.rsp", mode_name(all_modes[m]), bits);
        for (unsigned m = 0; m < ALL_MODES; m++)
            if (all_modes[m] != TR_CTR && !mode_is_whole(all_modes[m]))
                add_cavp(all_modes[m], size);
        add(KAT, TR_CTR, 3, 0, "rfc3686/aes-%u-ctr.txt", bits);
    }
    add(MCT_ENDS, TR_ECB, 3, 3, "cavp/ECBMCT-ends.rsp");
}

/* ---- Known-answer tests ------------------------------------------------------------------- */

static bool same(const struct rsp_record *r, const char *what, const void *got,
                 const struct rsp_bytes *expected)
{
    if (tap_same(got, expected->data, expected->len))
        return true;
    tap_diag("the record in line %u: wrong %s", r->line, what);
    return false;
}

static const struct rsp_bytes *input_of(const struct rsp_record *r)
{
    return &r->field[r->decrypt ? RSP_CIPHERTEXT : RSP_PLAINTEXT];
}

static const struct rsp_bytes *output_of(const struct rsp_record *r)
{
    return &r->field[r->decrypt ? RSP_PLAINTEXT : RSP_CIPHERTEXT];
}

/* Runs a CFB1 record, whose lengths are in bits. */
static bool run_cfb1(const struct tr_backend *b, const struct rsp_record *r)
{
    const struct rsp_bytes *in = input_of(r);
    struct rsp_bytes expected = *output_of(r);
    const struct tr_aes_key key = key_for(b, r->field[RSP_KEY].data, r->field[RSP_KEY].len);
    uint8_t out[RSP_MAX_BYTES] = {0}, iv[16];
    memcpy(iv, r->field[RSP_IV].data, 16);
    expected.len = (expected.len + 7) / 8;
    operations++;
    return r->field[RSP_IV].len == 16 &&
           (r->decrypt ? tr_cfb1_decrypt : tr_cfb1_encrypt)(&key, iv, out, in->data, in->len) ==
               TR_OK &&
           same(r, "output of the mode's function", out, &expected);
}

/* Processes the message with the mode's function and, except in CFB8, with struct tr_cipher. */
static bool run_kat(const struct tr_backend *b, enum tr_mode mode, const struct rsp_record *r)
{
    const struct rsp_bytes *in = input_of(r), *iv = &r->field[RSP_IV];
    uint8_t out[RSP_MAX_BYTES];
    const struct tr_aes_key key = key_for(b, r->field[RSP_KEY].data, r->field[RSP_KEY].len);
    struct tr_cipher c;
    struct position p = position_at(iv->data);
    size_t len, last;
    if (iv->len != (mode == TR_ECB ? 0 : 16)) {
        tap_diag("the record in line %u has an IV of %zu bytes", r->line, iv->len);
        return false;
    }
    bool good = mode_run(&key, mode, r->decrypt, &p, out, in->data, in->len) == TR_OK &&
                same(r, "output of the mode's function", out, output_of(r));
    operations++;
    if (mode == TEST_CFB8)
        return good;
    memset(out, 0xaa, sizeof(out));
    good &= tr_cipher_start(&c, &key, mode, r->decrypt, 0, iv->data) == TR_OK &&
            tr_cipher_update(&c, out, &len, in->data, in->len) == TR_OK && len == in->len &&
            tr_cipher_final(&c, out + len, &last) == TR_OK && last == 0 &&
            same(r, "output of struct tr_cipher", out, output_of(r));
    operations++;
    return good;
}

static bool run_expansion(const struct tr_backend *b, const struct rsp_record *r)
{
    const struct tr_aes_key key = key_for(b, r->field[RSP_KEY].data, r->field[RSP_KEY].len);
    const struct rsp_bytes *schedule = &r->field[RSP_SCHEDULE];
    operations++;
    return schedule->len == 16 * (key.rounds + 1) && same(r, "round keys", key.enc, schedule);
}

/* ---- Monte Carlo (AESAVS section 6.4) ------------------------------------------------------- */

/* A Monte Carlo chain, with an inner loop of 1000 steps. The record gives the first input. In ECB,
 * each later input is the output of the step before. In the other modes the second input is the IV,
 * and each later input is the output from two steps earlier. The mode keeps its state over all
 * steps. */
struct chain {
    uint8_t key[32], iv[16], input[16];
    uint8_t output[2][16]; /* the output of the last step, and of the step before it */
};

static void chain_steps(struct chain *c, const struct tr_aes_key *key, enum tr_mode mode,
                        bool decrypt)
{
    struct position p = position_at(c->iv);
    uint8_t input[16], output[16];
    memcpy(input, c->input, 16);
    for (int j = 0; j < 1000; j++) {
        if (mode_run(key, mode, decrypt, &p, output, input, 16) != TR_OK)
            memset(output, 0, 16);
        memcpy(c->output[1], c->output[0], 16);
        memcpy(c->output[0], output, 16);
        memcpy(input, mode == TR_ECB ? output : j == 0 ? c->iv : c->output[1], 16);
    }
    operations += 1000;
}

/* Derives the key, IV and input of the next outer step. The key is XORed with the last key_len
 * bytes of the last two outputs. */
static void chain_next(struct chain *c, size_t key_len, enum tr_mode mode)
{
    uint8_t last[32];
    memcpy(last, c->output[1], 16);
    memcpy(last + 16, c->output[0], 16);
    for (size_t i = 0; i < key_len; i++)
        c->key[i] ^= last[32 - key_len + i];
    memcpy(c->iv, c->output[0], 16);
    memcpy(c->input, c->output[mode == TR_ECB ? 0 : 1], 16);
}

static void chain_begin(struct chain *c, const struct rsp_record *r)
{
    memset(c, 0, sizeof(*c));
    memcpy(c->key, r->field[RSP_KEY].data, r->field[RSP_KEY].len);
    memcpy(c->iv, r->field[RSP_IV].data, 16);
    memcpy(c->input, input_of(r)->data, 16);
}

/* Whether the record begins where the previous step ended. If the chain is new or steps were
 * skipped (`begins`), first starts the chain at the record. */
static bool continues(struct chain *c, const struct rsp_record *r, bool begins)
{
    if (begins)
        chain_begin(c, r);
    return same(r, "key of the chain", c->key, &r->field[RSP_KEY]) &&
           same(r, "IV of the chain", c->iv, &r->field[RSP_IV]) &&
           same(r, "input of the chain", c->input, input_of(r));
}

/* Runs one of the 100 outer steps of a chain. */
static bool run_mct(const struct tr_backend *b, enum tr_mode mode, const struct rsp_record *r,
                    struct chain *c, bool begins)
{
    const size_t key_len = r->field[RSP_KEY].len;
    if (!continues(c, r, begins))
        return false;
    const struct tr_aes_key key = key_for(b, c->key, key_len);
    chain_steps(c, &key, mode, r->decrypt);
    const bool good = same(r, "output", c->output[0], output_of(r));
    chain_next(c, key_len, mode);
    return good;
}

/* Runs one outer step of a CFB8 chain, byte by byte. The inputs are one byte from the record, the
 * bytes of the IV, then the outputs from 17 steps earlier. The next key is this key XOR the last
 * key_len output bytes. */
static bool run_mct_cfb8(const struct tr_backend *b, const struct rsp_record *r, struct chain *c,
                         bool begins)
{
    const size_t key_len = r->field[RSP_KEY].len;
    uint8_t output[1000], iv[16];
    if (!continues(c, r, begins))
        return false;
    const struct tr_aes_key key = key_for(b, c->key, key_len);
    memcpy(iv, c->iv, 16);
    for (int j = 0; j < 1000; j++) {
        const uint8_t *in = j == 0 ? c->input : j <= 16 ? &c->iv[j - 1] : &output[j - 17];
        if ((r->decrypt ? tr_cfb8_decrypt : tr_cfb8_encrypt)(&key, iv, &output[j], in, 1) != TR_OK)
            return false;
    }
    operations += 1000;
    for (size_t i = 0; i < key_len; i++)
        c->key[i] ^= output[1000 - key_len + i];
    memcpy(c->iv, output + 984, 16);
    c->input[0] = output[983];
    return same(r, "output", &output[999], output_of(r));
}

static bool run_mct_ends(const struct tr_backend *b, enum tr_mode mode, const struct rsp_record *r)
{
    const size_t key_len = r->field[RSP_KEY].len;
    struct chain c;
    chain_begin(&c, r);
    for (int i = 0; i < 100; i++) {
        if (i > 0)
            chain_next(&c, key_len, mode);
        const struct tr_aes_key key = key_for(b, c.key, key_len);
        chain_steps(&c, &key, mode, r->decrypt);
    }
    return same(r, "end of the chain", c.output[0], output_of(r));
}

/* ---- A file --------------------------------------------------------------------------------- */

static bool run_record(const struct tr_backend *b, const struct vector_file *f,
                       const struct rsp_record *r, struct chain *chain, bool begins)
{
    switch (f->kind) {
    case KAT:
        return f->mode == TEST_CFB1 ? run_cfb1(b, r) : run_kat(b, f->mode, r);
    case MCT:
        return f->mode == TEST_CFB8 ? run_mct_cfb8(b, r, chain, begins)
                                    : run_mct(b, f->mode, r, chain, begins);
    case MCT_ENDS:
        return run_mct_ends(b, f->mode, r);
    default:
        return run_expansion(b, r);
    }
}

static void run_file(const struct tr_backend *b, const struct vector_file *f,
                     const struct rsp_file *rsp)
{
    struct chain chain;
    unsigned n[2] = {0, 0}, failed = 0;
    size_t next = 0; /* the next record to run; TENROUNDS_STRIDE makes MCT skip records */
    bool ran_last = false;
    for (size_t i = 0; i < rsp->n && failed < 3; i++) {
        const struct rsp_record *r = &rsp->records[i];
        n[r->decrypt]++;
        if (i < next) {
            ran_last = false;
            continue;
        }
        failed += !run_record(b, f, r, &chain, r->count == 0 || !ran_last);
        ran_last = true;
        next = i + (f->kind == MCT ? tap_stride(&rng) : 1);
    }
    cases += n[0] + n[1];
    tap_ok(failed == 0 && n[0] == f->encrypt && n[1] == f->decrypt,
           "%s: %s, %u encryption and %u decryption cases, expected %u and %u", tr_backend_name(b),
           f->path, n[0], n[1], f->encrypt, f->decrypt);
}

static bool read_file(const struct vector_file *f, struct rsp_file *rsp)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, f->path);
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        tap_diag("%s cannot be opened", path);
        return false;
    }
    const bool good = rsp_read(in, rsp, f->mode == TEST_CFB1);
    fclose(in);
    if (!good)
        tap_diag("%s, %s", path, rsp->error);
    return good;
}

/* ---- The reader itself ---------------------------------------------------------------------- */

#define GOOD "[ENCRYPT]\n\nCOUNT = 0\nKEY = 00\nPLAINTEXT = 01aB\nCIPHERTEXT = 0203\n"
#define BITS "[ENCRYPT]\n\nCOUNT = 0\nKEY = 00\nPLAINTEXT = 110\nCIPHERTEXT = 001\n"

static const char *const malformed[] = {
    "COUNT = 0\nKEY = 00\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 1\nKEY = 00\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = x\nKEY = 00\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 0\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 0g\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = \nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 00\nKEY = 00\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 00\nPLAINTEXT = 01\n",
    "[ENCRYPT]\nCOUNT = 0\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 00\nPLAINTEXT = 0101\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 00\nPLAINTEXT: 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 00\nTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 00\r\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nKEY = 00\nPLAINTEXT = 01\nCIPHERTEXT = 02\n",
    "[ENCRYPT]\nCOUNT = 0\nKEY = 00\n[DECRYPT]\n",
    "[ENCRYPTED]\n",
    GOOD "COUNT = 1\nKEY = 00\n",
    GOOD "\nCOUNT = 1\nKEY = 00",
};

/* Whether the reader accepts this text, and finds *records records unless `records` is NULL. */
static bool reads(const char *text, const size_t *records, bool bits)
{
    struct rsp_file rsp = {0};
    FILE *in = tmpfile();
    bool good = in != NULL && fputs(text, in) >= 0;
    if (good)
        rewind(in);
    good = good && rsp_read(in, &rsp, bits) && (records == NULL || rsp.n == *records);
    if (in != NULL) {
        rsp_free(&rsp);
        fclose(in);
    }
    return good;
}

static void test_reader(void)
{
    unsigned accepted = 0;
    const size_t n = sizeof(malformed) / sizeof(*malformed);
    for (size_t i = 0; i < n; i++) {
        if (!reads(malformed[i], NULL, false))
            continue;
        tap_diag("accepted: %s", malformed[i]);
        accepted++;
    }
    const size_t one = 1, two = 2;
    tap_ok(reads(GOOD, &one, false) &&
               reads(GOOD "\n[DECRYPT]\n# x\nCOUNT = 0\nKEY = 00\nSCHEDULE = 00\n", &two, false) &&
               reads(BITS, &one, true) && !reads(GOOD, NULL, true) && !reads(BITS, NULL, false),
           "the reader accepts well-formed files");
    tap_ok(accepted == 0, "the reader refuses %zu malformed files", n);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: vectors DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    rng = tap_random(0);
    list_files();
    tap_plan(2 + n_files * (1 + backend_count()));
    test_reader();
    for (unsigned i = 0; i < n_files; i++) {
        struct rsp_file rsp = {0};
        const bool good = read_file(&files[i], &rsp);
        tap_ok(good, "%s is well formed", files[i].path);
        const struct tr_backend *b;
        for (unsigned k = 0; (b = tr_backend_at(k)) != NULL; k++)
            if (!backend_skip(b, 1))
                run_file(b, &files[i], &rsp);
        rsp_free(&rsp);
    }
    tap_diag("%u files, %lu cases, %lu calls", n_files, cases, operations);
    return tap_done();
}
