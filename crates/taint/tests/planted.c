// SPDX-License-Identifier: BSD-2-Clause
// Leaks, each as it would be written by mistake, and their constant-time counterparts. The first
// argument selects one. The secrets are marked with valgrind's client requests.
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t request(uint64_t number, const void *p, size_t len)
{
    volatile uint64_t arguments[6] = {number, (uint64_t)(uintptr_t)p, len, 0, 0, 0};
    uint64_t result = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(&arguments[0])
                     : "cc", "memory");
    return result;
}

#define SECRET(p, n)    request(0x4d430001, p, n)
#define PUBLISHED(p, n) request(0x4d430002, p, n)
#define UNWATCHED()     request(0x1801, (void *)1, 0) // VALGRIND_DISABLE_ERROR_REPORTING
#define APART           __attribute__((noinline))

static uint8_t key[16], block[16], sbox[256];

static uint8_t twice(uint8_t x)
{
    return (uint8_t)(x << 1 ^ (x >> 7) * 0x1b);
}

// Multiplies in AES's field, in constant time.
static uint8_t product(uint8_t a, uint8_t b)
{
    uint8_t sum = 0;
    for (int i = 0; i < 8; i++, b >>= 1, a = twice(a))
        sum ^= a & (uint8_t) - (b & 1);
    return sum;
}

static uint8_t substitute(uint8_t x)
{
    uint8_t inverse = 1; // x^254
    for (int i = 7; i >= 0; i--) {
        inverse = product(inverse, inverse);
        if (254 >> i & 1)
            inverse = product(inverse, x);
    }
    uint8_t y = 0x63;
    for (int i = 0; i < 5; i++)
        y ^= (uint8_t)(inverse << i | inverse >> (8 - i));
    return y;
}

static APART uint8_t by_table(uint8_t x)
{
    return sbox[x];
}

// AES-128 (FIPS-197), with one S-box or the other.
static void encrypt(uint8_t (*sub)(uint8_t))
{
    static const uint8_t moved[16] = {0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11};
    uint8_t round[16], rcon = 1, s[16], t[16];
    memcpy(round, key, 16);
    for (int i = 0; i < 16; i++)
        s[i] = block[i] ^ round[i];
    for (int r = 1; r <= 10; r++, rcon = twice(rcon)) {
        for (int i = 0; i < 16; i++)
            t[i] = sub(s[moved[i]]);
        for (int i = 0; i < 16; i++) {
            const uint8_t *c = t + i / 4 * 4;
            const uint8_t a = c[i % 4], b = c[(i + 1) % 4];
            s[i] = r == 10 ? t[i] : twice(a) ^ twice(b) ^ b ^ c[(i + 2) % 4] ^ c[(i + 3) % 4];
        }
        for (int i = 0; i < 4; i++)
            round[i] ^= sub(round[12 + (i + 1) % 4]) ^ (i == 0 ? rcon : 0);
        for (int i = 4; i < 16; i++)
            round[i] ^= round[i - 4];
        for (int i = 0; i < 16; i++)
            s[i] ^= round[i];
    }
    memcpy(block, s, 16);
}

static APART int early_exit(const uint8_t *a, const uint8_t *b)
{
    for (int i = 0; i < 16; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

// Ends the loop at a word, which counting branches per byte would not show.
static APART int early_exit_words(const uint8_t *a, const uint8_t *b)
{
    uint64_t x[2], y[2];
    memcpy(x, a, 16);
    memcpy(y, b, 16);
    return x[0] == y[0] && x[1] == y[1];
}

static APART int all_bytes(const uint8_t *a, const uint8_t *b)
{
    volatile uint8_t difference = 0;
    for (int i = 0; i < 16; i++)
        difference |= a[i] ^ b[i];
    return difference;
}

static APART void branch_on_key(void)
{
    if (key[3] & 0x80)
        block[0] ^= 0x1b;
    __asm__ volatile("" ::: "memory");
}

static APART void shift_by_secret(void)
{
    uint64_t x = 0x0123456789abcdef;
    __asm__ volatile("shlq %%cl, %0" : "+r"(x) : "c"((uint64_t)key[0]) : "cc");
    block[0] ^= (uint8_t)x;
}

static APART void divide(void)
{
    uint32_t a = key[0], d = 0;
    __asm__ volatile("divl %2" : "+a"(a), "+d"(d) : "r"((uint32_t)10) : "cc");
    block[0] ^= (uint8_t)d;
}

static APART void string_length(void)
{
    uint64_t n = key[0] & 7;
    void *to = block;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

static APART void system_call(void)
{
    fwrite(key, 1, sizeof(key), stdout);
    fflush(stdout);
}

// Two paths that compute the same. Only the one for 512 bits decides on a secret.
static APART void narrow(uint8_t *p)
{
    for (int i = 0; i < 64; i++)
        p[i] ^= p[63 - i];
}

__attribute__((target("avx512f,avx512bw"))) static APART void wide(uint8_t *p)
{
    typedef uint64_t eight __attribute__((vector_size(64), aligned(1), may_alias));
    eight x = *(eight *)p;
    uint64_t mask;
    __asm__ volatile("vpmovb2m %1, %%k1; kmovq %%k1, %0" : "=r"(mask) : "v"(x) : "k1");
    if (mask == 0)
        x ^= x << 1;
    *(eight *)p = x;
}

static APART void unknown_instruction(void)
{
    __asm__ volatile("fldz; fstp %%st(0)" ::: "st");
}

static volatile sig_atomic_t signals, is_watched;

static void count_signal(int number)
{
    (void)number;
    signals = signals + 1;
}

static void leave(int number)
{
    (void)number;
    if (is_watched)
        _exit(0);
}

// Starts a process that sends a signal to this one again and again, until this one ends.
static void send_often(int number)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        exit(2);
    if (child > 0)
        return;
    while (getppid() == parent && kill(parent, number) == 0)
        usleep(500);
    _exit(0);
}

// The leak comes after a wait, which signals interrupt, and after a long way.
static int leak_among_signals(int is_counted, int is_handled)
{
    is_watched = 1;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    // On a busy machine, the first signal may come later. This returns after a handler.
    if (is_handled)
        pause();
    for (int i = 0; i < 16; i++)
        block[i] = substitute(key[i]);
    branch_on_key();
    // The tracker computes a load before it happens, and a handler may change the value in between.
    UNWATCHED();
    return is_counted && signals == 0 ? 3 : 0;
}

static int any_width(int is_wide)
{
    static uint8_t data[64];
    memcpy(data, key, 16);
    SECRET(data, sizeof(data));
    if (is_wide && !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")))
        return 77;
    if (is_wide)
        wide(data);
    else
        narrow(data);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (int i = 0; i < 256; i++)
        sbox[i] = substitute((uint8_t)i);
    for (int i = 0; i < 16; i++)
        key[i] = (uint8_t)i, block[i] = (uint8_t)(0x11 * i); // FIPS-197 C.1
    uint8_t tag[16] = {0};
    if (strcmp(what, "signals-counted") == 0)
        signal(SIGWINCH, count_signal);
    if (strcmp(what, "signals-leave") == 0)
        signal(SIGWINCH, leave);
    if (strncmp(what, "signals", 7) == 0)
        send_often(SIGWINCH);
    SECRET(key, sizeof(key));
    int result = 0;
    if (strcmp(what, "aes") == 0)
        encrypt(substitute);
    else if (strcmp(what, "aes-table") == 0)
        encrypt(by_table);
    else if (strcmp(what, "tag") == 0)
        result = all_bytes(key, tag), PUBLISHED(&result, sizeof(result));
    else if (strcmp(what, "tag-early") == 0)
        result = early_exit(key, tag), PUBLISHED(&result, sizeof(result));
    else if (strcmp(what, "tag-early-words") == 0)
        result = early_exit_words(key, tag), PUBLISHED(&result, sizeof(result));
    else if (strcmp(what, "branch") == 0)
        branch_on_key();
    else if (strcmp(what, "shift") == 0)
        shift_by_secret();
    else if (strcmp(what, "divide") == 0)
        divide();
    else if (strcmp(what, "string") == 0)
        string_length();
    else if (strcmp(what, "system-call") == 0)
        system_call();
    else if (strcmp(what, "narrow") == 0)
        return any_width(0);
    else if (strcmp(what, "wide") == 0)
        return any_width(1);
    else if (strncmp(what, "signals", 7) == 0)
        result =
            leak_among_signals(strcmp(what, "signals-counted") == 0, strcmp(what, "signals") != 0);
    else if (strcmp(what, "unknown") == 0)
        unknown_instruction();
    else
        return 2;
    PUBLISHED(block, sizeof(block));
    PUBLISHED(key, sizeof(key));
    if (strncmp(what, "aes", 3) == 0)
        for (int i = 0; i < 16; i++)
            printf("%02x", block[i]);
    return strncmp(what, "signals", 7) == 0 ? result : 0;
}
