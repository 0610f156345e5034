/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program without a C library, for archive.sh. It links the archive and nothing else, and runs on
 * a stack of 16 KiB with an unmapped page below. It checks every backend of this processor with its
 * known-answer tests, many streams, and the vectors on standard input. A line there is
 *
 *     MODE NUMBER valid|invalid|acceptable KEY IV AAD TEXT CIPHERTEXT TAG
 *
 * with fields in hexadecimal, or "-" for an empty one (tests/vectors/README.md). The exit status is
 * 0 if all are right, and at least 100 of each mode were read.
 */
#include "tenrounds.h"

/* ---- What a C library would do ---------------------------------------------------------------- */

static long call3(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, MPROTECT = 10, EXIT = 60 };
#else
enum { READ = 63, WRITE = 64, MPROTECT = 226, EXIT = 93 };
#endif

/* The loops must not become calls of the functions that they define. */
#define BYTES __attribute__((optimize("no-tree-loop-distribute-patterns")))

BYTES void *memcpy(void *out, const void *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = ((const uint8_t *)in)[i];
    return out;
}

BYTES void *memmove(void *out, const void *in, size_t n)
{
    if ((uintptr_t)out <= (uintptr_t)in)
        return memcpy(out, in, n);
    while (n-- != 0)
        ((uint8_t *)out)[n] = ((const uint8_t *)in)[n];
    return out;
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
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

static void say(const char *text)
{
    size_t n = 0;
    while (text[n] != '\0')
        n++;
    (void)call3(WRITE, 1, (long)text, (long)n);
}

/* ---- Vectors ---------------------------------------------------------------------------------- */

#define FIELDS 6
enum { KEY, IV, AAD, TEXT, CIPHERTEXT, TAG };

static struct line {
    const char *mode, *number;
    int valid;
    uint8_t *field[FIELDS];
    size_t len[FIELDS];
} line;

static const struct tr_backend *backend;
static uint8_t input[4 << 20], lines[4 << 20], out[1 << 16];

static int is_word(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return *a == *b;
}

static int digit(int c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Converts a field in place. */
static void from_hex(unsigned f, uint8_t *text)
{
    size_t n = 0;
    const size_t end = text[0] == '-' ? 0 : SIZE_MAX;
    line.field[f] = text;
    for (; n != end && text[2 * n] != '\0'; n++)
        text[n] = (uint8_t)(digit(text[2 * n]) << 4 | digit(text[2 * n + 1]));
    line.len[f] = n;
}

#define F(f) line.field[f], line.len[f]

static int gives(enum tr_status status, unsigned f)
{
    return status == TR_OK && memcmp(out, line.field[f], line.len[f]) == 0;
}

/* Opening gives the text if the vector is valid, and an error if not; sealing gives ciphertext and
 * tag. */
#define AEAD(mode)                                                                                 \
    static int mode(void)                                                                          \
    {                                                                                              \
        struct tr_##mode##_key key;                                                                \
        uint8_t tag[16];                                                                           \
        if (tr_##mode##_set_key(&key, backend, F(KEY)) != TR_OK)                                   \
            return 0;                                                                              \
        enum tr_status opened = tr_##mode##_open(&key, F(IV), F(AAD), out, F(CIPHERTEXT), F(TAG)); \
        if (!line.valid)                                                                           \
            return opened != TR_OK;                                                                \
        return gives(opened, TEXT) &&                                                              \
               gives(tr_##mode##_seal(&key, F(IV), F(AAD), out, F(TEXT), tag, line.len[TAG]),      \
                     CIPHERTEXT) &&                                                                \
               memcmp(tag, F(TAG)) == 0;                                                           \
    }
AEAD(gcm)
AEAD(ccm)

static int gcm_siv(void)
{
    struct tr_gcm_siv_key key;
    uint8_t tag[16];
    if (tr_gcm_siv_set_key(&key, backend, F(KEY)) != TR_OK)
        return 0;
    enum tr_status opened =
        tr_gcm_siv_open(&key, line.field[IV], F(AAD), out, F(CIPHERTEXT), line.field[TAG]);
    if (!line.valid)
        return opened != TR_OK;
    return gives(opened, TEXT) &&
           gives(tr_gcm_siv_seal(&key, line.field[IV], F(AAD), out, F(TEXT), tag), CIPHERTEXT) &&
           memcmp(tag, F(TAG)) == 0;
}

static int xts(void)
{
    struct tr_xts_key key;
    if (tr_xts_set_key(&key, backend, F(KEY)) != TR_OK)
        return !line.valid;
    return gives(tr_xts_decrypt(&key, line.field[IV], out, F(CIPHERTEXT)), TEXT) &&
           gives(tr_xts_encrypt(&key, line.field[IV], out, F(TEXT)), CIPHERTEXT);
}

static struct {
    const char *name;
    int (*is_right)(void);
    unsigned count;
} modes[] = {{"gcm", gcm, 0}, {"ccm", ccm, 0}, {"gcm_siv", gcm_siv, 0}, {"xts", xts, 0}};
#define MODES (sizeof(modes) / sizeof(modes[0]))

/* Splits a line at its spaces. Returns the start of the next line, or NULL at the end. */
static uint8_t *split(uint8_t *at)
{
    const uint8_t *words[3 + FIELDS];
    if (*at == '\0')
        return NULL;
    for (unsigned i = 0; i < 3 + FIELDS; i++) {
        words[i] = at;
        while (*at > ' ')
            at++;
        if (*at == (i < 2 + FIELDS ? '\n' : ' ') || *at == '\0')
            return NULL;
        *at++ = '\0';
    }
    line.mode = (const char *)words[0];
    line.number = (const char *)words[1];
    line.valid = is_word((const char *)words[2], "valid");
    for (unsigned f = 0; f < FIELDS; f++)
        from_hex(f, (uint8_t *)words[3 + f]);
    return at;
}

static size_t read_input(void)
{
    size_t len = 0;
    long n;
    while ((n = call3(READ, 0, (long)(input + len), (long)(sizeof(input) - 1 - len))) > 0)
        len += (size_t)n;
    return len + 1;
}

static int vectors_are_right(size_t len)
{
    uint8_t *at = memcpy(lines, input, len);
    int right = 1;
    for (size_t m = 0; m < MODES; m++)
        modes[m].count = 0;
    while ((at = split(at)) != NULL) {
        for (size_t m = 0; m < MODES; m++) {
            if (!is_word(line.mode, modes[m].name))
                continue;
            modes[m].count++;
            if (!modes[m].is_right()) {
                say("# wrong: "), say(line.mode), say(" "), say(line.number), say("\n");
                right = 0;
            }
        }
    }
    for (size_t m = 0; m < MODES; m++)
        right &= modes[m].count >= 100;
    return right;
}

/* Many streams of different lengths and key sizes give what one call for each gives. */
static int streams_are_right(void)
{
    enum { STREAMS = 40, MOST = 16 * STREAMS };
    static struct tr_aes_key keys[2];
    static struct tr_stream streams[STREAMS];
    static uint8_t text[MOST], many[STREAMS][MOST], ivs[STREAMS][16], one[MOST], raw[32];
    if (tr_aes_set_key(&keys[0], backend, raw, 16) != TR_OK ||
        tr_aes_set_key(&keys[1], backend, raw, 32) != TR_OK)
        return 0;
    for (size_t i = 0; i < STREAMS; i++) {
        memset(ivs[i], (int)i, 16);
        streams[i] =
            (struct tr_stream){&keys[i % 2], ivs[i], many[i], text, 16 * (i * 7 % STREAMS)};
    }
    if (tr_cbc_encrypt_many(streams, STREAMS) != TR_OK)
        return 0;
    for (size_t i = 0; i < STREAMS; i++) {
        uint8_t iv[16];
        memset(iv, (int)i, 16);
        if (tr_cbc_encrypt(&keys[i % 2], iv, one, text, streams[i].len) != TR_OK ||
            memcmp(one, many[i], streams[i].len) != 0 || memcmp(iv, ivs[i], 16) != 0)
            return 0;
    }
    return 1;
}

static int backends_are_right(size_t len)
{
    struct tr_selection s;
    if (tr_select(NULL, 0, &s) != TR_OK)
        return 0;
    for (unsigned i = 0; (backend = tr_backend_at(i)) != NULL; i++) {
        if ((tr_backend_features(backend) & ~s.cpu.usable) != 0)
            continue;
        say("# "), say(tr_backend_name(backend)), say("\n");
        if (tr_backend_self_test(backend) != TR_OK || !streams_are_right() ||
            !vectors_are_right(len))
            return 0;
    }
    return 1;
}

/* ---- The environment -------------------------------------------------------------------------- */

static unsigned asked;

static const char *variable(const char *name)
{
    asked++;
    return is_word(name, "TENROUNDS_MASK") ? "novaes" : NULL;
}

static struct tr_environment environment = {.variable = variable};

/* The kernel puts argc, argv, the environment's variables and the auxiliary vector on the stack. */
static void set_environment(const long *stack)
{
    enum { AT_HWCAP = 16 };
    const long *at = stack + 1 + stack[0] + 1;
    while (*at++ != 0)
        ;
    for (; at[0] != 0; at += 2) {
        if (at[0] == AT_HWCAP)
            environment.hwcap = (unsigned long)at[1];
    }
    tr_set_environment(&environment);
}

static int mask_is_obeyed(void)
{
    struct tr_aes_key key;
    static const uint8_t raw[16];
    return tr_aes_set_key(&key, NULL, raw, 16) == TR_OK && asked >= 1 &&
           (tr_backend_features(tr_backend_selected()) & TR_FEATURE_VAES) == 0;
}

/* ---- A stack of 16 KiB ------------------------------------------------------------------------ */

#define PAGE  4096
#define STACK 16384
__attribute__((aligned(PAGE), used)) static uint8_t area[PAGE + STACK];

__attribute__((used, noreturn)) static void run(const long *stack)
{
    set_environment(stack);
    const size_t len = read_input();
    const int right =
        call3(MPROTECT, (long)area, PAGE, 0) == 0 && mask_is_obeyed() && backends_are_right(len);
    for (;;)
        (void)call3(EXIT, !right, 0, 0);
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tlea area+20480(%rip), %rsp\n\txor %ebp, %ebp\n"
        "\tcall run\n");
#else
__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tadrp x1, area\n\tadd x1, x1, :lo12:area\n"
        "\tadd sp, x1, #20480\n\tbl run\n");
#endif
