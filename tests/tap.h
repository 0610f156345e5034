/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A test program's report in the Test Anything Protocol, and its random numbers.
 *
 *     tap_plan(2);                            // how many results will follow
 *     tap_ok(x == 1, "x is %d", x);           // one result; returns the condition
 *     tap_skip(1, "vaes", "no VAES here");    // results that this machine cannot give
 *     return tap_done();                      // non-zero: a failure, or the plan was not met
 *
 * With TENROUNDS_MUST_RUN in the environment a skip is a failure, unless it names a flag that
 * /proc/cpuinfo lacks. All random numbers derive from one seed, which the program prints.
 * TENROUNDS_SEED sets the seed.
 */
#ifndef TENROUNDS_TAP_H
#define TENROUNDS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    unsigned planned, run, failed;
} tap;

/* ---- Results ------------------------------------------------------------------------------- */

static inline void tap_plan(unsigned results)
{
    /* Buffers stdout by line, so that a crash loses no result and a forked child repeats none. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    tap.planned = results;
    printf("1..%u\n", results);
}

__attribute__((format(printf, 1, 2))) static inline void tap_diag(const char *format, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    printf("# %s\n", line);
}

__attribute__((format(printf, 2, 3))) static inline bool tap_ok(bool good, const char *format, ...)
{
    /* Zeroed, because strlen() may load bytes after the final NUL and branch on them. The checkers
     * of tests/core/secrets.h would report old secrets there. */
    char line[1024] = "";
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    tap.failed += !good;
    printf("%sok %u - %s\n", good ? "" : "not ", ++tap.run, line);
    return good;
}

static inline void tap_diag_hex(const char *what, const void *bytes, size_t len)
{
    char line[3 * 32 + 1] = "";
    const size_t shown = len < 32 ? len : 32;
    for (size_t i = 0; i < shown; i++)
        snprintf(line + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
    tap_diag("  %s %s%s", what, line, shown < len ? "..." : "");
}

/* Whether the bytes are equal. If not, prints the first difference. */
static inline bool tap_same(const void *got, const void *expected, size_t len)
{
    const uint8_t *g = got, *e = expected;
    if (len == 0 || memcmp(g, e, len) == 0)
        return true;
    size_t at = 0;
    while (g[at] == e[at])
        at++;
    tap_diag("%zu bytes, first difference at offset %zu", len, at);
    tap_diag_hex("got     ", g + at, len - at);
    tap_diag_hex("expected", e + at, len - at);
    return false;
}

/* Ends the report. Returns non-zero, for main(), if a result failed, if there was no result, or if
 * the plan was not met. */
static inline int tap_done(void)
{
    if (tap.run != tap.planned)
        tap_diag("planned %u results, gave %u", tap.planned, tap.run);
    if (tap.failed != 0)
        tap_diag("%u of %u results failed", tap.failed, tap.run);
    fflush(stdout);
    return tap.failed != 0 || tap.run != tap.planned || tap.run == 0;
}

/* ---- Skips ---------------------------------------------------------------------------------- */

static inline bool tap_flag_in(const char *flags, const char *flag, size_t len)
{
    for (const char *p = flags; (p = strstr(p, flag)) != NULL; p += len)
        if (p > flags && (p[-1] == ' ' || p[-1] == '\t') && strchr(" \n", p[len]) != NULL)
            return true;
    return false;
}

/* Whether the first "flags" line of /proc/cpuinfo ("Features" on Arm) lacks one of the wanted
 * flags, which are separated by blanks. False if the file cannot be read or has no such line. */
static inline bool tap_cpu_lacks(const char *wanted)
{
    static char line[16384];
    bool found = false, lacks = false;
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (f == NULL)
        return false;
    while (!found && fgets(line, sizeof(line), f) != NULL)
        found = strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0;
    fclose(f);
    while (found && *wanted != '\0') {
        char flag[32];
        const size_t len = strcspn(wanted, " ");
        snprintf(flag, sizeof(flag), "%.*s", (int)len, wanted);
        lacks |= !tap_flag_in(line, flag, len);
        wanted += len + strspn(wanted + len, " ");
    }
    return lacks;
}

/*
 * Reports `results` results as skipped, for the formatted reason. If the reason is a missing
 * processor feature, cpu_flags names the /proc/cpuinfo flags that the test needs, separated by
 * blanks. For any other reason, cpu_flags is NULL.
 */
__attribute__((format(printf, 3, 4))) static inline void
tap_skip(unsigned results, const char *cpu_flags, const char *format, ...)
{
    char reason[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(reason, sizeof(reason), format, ap);
    va_end(ap);
    const bool excused = cpu_flags != NULL && tap_cpu_lacks(cpu_flags);
    const bool must_run = getenv("TENROUNDS_MUST_RUN") != NULL;
    for (; results > 0; results--) {
        if (must_run && !excused)
            tap_ok(false, "skipped, but has to run here (TENROUNDS_MUST_RUN): %s", reason);
        else
            printf("ok %u # SKIP %s\n", ++tap.run, reason);
    }
}

/* ---- Random numbers: xoshiro256** seeded by splitmix64 (Blackman and Vigna, 2018) ------------ */

struct tap_random {
    uint64_t s[4];
};

/* Returns the seed of this run: TENROUNDS_SEED or the time. The first call prints the seed. */
static inline uint64_t tap_seed(void)
{
    static uint64_t seed;
    static bool known;
    if (known)
        return seed;
    const char *text = getenv("TENROUNDS_SEED");
    if (text != NULL && *text != '\0') {
        char *end;
        seed = strtoull(text, &end, 0);
        if (*end != '\0') {
            tap_ok(false, "TENROUNDS_SEED is not a number: %s", text);
            exit(2);
        }
    } else {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        seed = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
    }
    known = true;
    tap_diag("to repeat: TENROUNDS_SEED=0x%llx", (unsigned long long)seed);
    return seed;
}

static inline uint64_t tap_splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns generator number `stream` of this run's seed. Each thread or part of a test passes a
 * different `stream`. */
static inline struct tap_random tap_random(uint64_t stream)
{
    struct tap_random r;
    uint64_t state = tap_seed() + stream * 0xd1342543de82ef95u;
    for (int i = 0; i < 4; i++)
        r.s[i] = tap_splitmix(&state);
    return r;
}

static inline uint64_t tap_next(struct tap_random *r)
{
    uint64_t *s = r->s;
    const uint64_t x = s[1] * 5, result = (x << 7 | x >> 57) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

/* A random number from 0 to limit - 1, with a bias below limit / 2^64. */
static inline size_t tap_below(struct tap_random *r, size_t limit)
{
    return (size_t)(tap_next(r) % limit);
}

/* The step to the next length or case of a series: 1, or random from 1 to TENROUNDS_STRIDE. Scripts
 * set this variable where the core is slow: in an emulator, and with sanitizers. */
static inline size_t tap_stride(struct tap_random *r)
{
    const char *text = getenv("TENROUNDS_STRIDE");
    const size_t most = text == NULL ? 1 : strtoul(text, NULL, 10);
    return most < 2 ? 1 : 1 + tap_below(r, most);
}

static inline void tap_fill(struct tap_random *r, void *out, size_t len)
{
    uint8_t *p = out;
    while (len > 0) {
        const uint64_t x = tap_next(r);
        const size_t n = len < sizeof(x) ? len : sizeof(x);
        memcpy(p, &x, n);
        p += n;
        len -= n;
    }
}

#endif
