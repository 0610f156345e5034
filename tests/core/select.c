/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests features, masks, the selection of a backend, and the known-answer tests, with and without
 * failures. The test reads CPUID or auxv itself, and has a separate table of backends. Only one
 * fact for the expected results comes from the core: whether 512-bit registers lower the clock.
 * With TENROUNDS_STRIDE (tap.h), covers a random part of the masks and failures. */
#define _GNU_SOURCE /* setenv, fork */
#include "common.h"
#include "dispatch/tuning.h"
#include "selftest/selftest.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#if TR_X86
#    include <cpuid.h>
#endif

static struct tap_random rng;

/* Reads this processor's features. On x86 they are in CPUID leaves 1 and 7 (Intel SDM) and in XCR0
 * (volume 1, section 13.3). On Arm they are in the kernel's AT_HWCAP, type 16 of the auxiliary
 * vector. */

#if TR_ARM64
static uint64_t read_hwcap(void)
{
    uint64_t entry[2] = {0, 0};
    FILE *auxv = fopen("/proc/self/auxv", "rb");
    while (auxv != NULL && entry[0] != 16 && fread(entry, sizeof(entry), 1, auxv) == 1)
        ;
    if (auxv != NULL)
        fclose(auxv);
    return entry[0] == 16 ? entry[1] : 0;
}
#endif

static struct tr_cpu read_cpu(void)
{
    struct tr_cpu cpu = {0};
#if TR_X86
    unsigned a, b1, c1, d1, b7 = 0, c7 = 0, d7;
    __cpuid(1, a, b1, c1, d1);
    if (__get_cpuid_max(0, NULL) >= 7)
        __cpuid_count(7, 0, a, b7, c7, d7);
    const bool has[TR_FEATURE_COUNT] = {
        c1 >> 25 & 1, c1 >> 1 & 1,  c1 >> 9 & 1,
        c1 >> 28 & 1, b7 >> 5 & 1,  (b7 >> 16 & 1) && (b7 >> 30 & 1) && (b7 >> 31 & 1),
        c7 >> 9 & 1,  c7 >> 10 & 1, b7 >> 29 & 1,
        false,        false};
    if (c1 >> 27 & 1) { /* OSXSAVE */
        unsigned low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        cpu.xcr0 = (uint64_t)high << 32 | low;
    }
    const bool ymm = (cpu.xcr0 & 0x06) == 0x06, zmm = (cpu.xcr0 & 0xe6) == 0xe6;
    const bool saved[TR_FEATURE_COUNT] = {true, true, true, ymm,   ymm,  zmm,
                                          ymm,  ymm,  true, false, false};
    for (unsigned i = 0; i < TR_FEATURE_COUNT; i++) {
        cpu.present |= (tr_features)has[i] << i;
        cpu.usable |= (tr_features)(has[i] && saved[i]) << i;
    }
#elif TR_ARM64
    const uint64_t hwcap = read_hwcap();
    cpu.present = (hwcap >> 3 & 1 ? TR_FEATURE_AES : 0) | (hwcap >> 4 & 1 ? TR_FEATURE_CLMUL : 0) |
                  (hwcap >> 1 & 1 ? TR_FEATURE_NEON : 0) | (hwcap >> 17 & 1 ? TR_FEATURE_SHA3 : 0);
    cpu.usable = cpu.present;
#endif
    return cpu;
}

#define AES_128 (TR_FEATURE_AES | TR_FEATURE_SSSE3)
#define AES_256 (AES_128 | TR_FEATURE_AVX | TR_FEATURE_AVX2 | TR_FEATURE_VAES)
#define AES_512 (AES_256 | TR_FEATURE_AVX512)
#define AES_ARM (TR_FEATURE_AES | TR_FEATURE_NEON)

/* The features of this architecture. Masks of other features are accepted and have no effect. */
#if TR_ARM64
#    define KIND (TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_NEON | TR_FEATURE_SHA3)
#else
#    define KIND ((1u << TR_FEATURE_COUNT) - 1 - TR_FEATURE_NEON - TR_FEATURE_SHA3)
#endif

/* The expected backends and the features that each needs. */
static const struct {
    const char *name;
    tr_features needs;
} expected_backends[] = {
#if TR_X86
    {"vaes512", AES_512 | TR_FEATURE_CLMUL | TR_FEATURE_VCLMUL},
    {"vaes256", AES_256 | TR_FEATURE_CLMUL | TR_FEATURE_VCLMUL},
    {"aesni", AES_128 | TR_FEATURE_CLMUL},
    {"vaes512-noclmul", AES_512},
    {"vaes256-noclmul", AES_256},
    {"aesni-noclmul", AES_128},
    {"vperm", TR_FEATURE_SSSE3},
#elif TR_ARM64
    {"armce", AES_ARM | TR_FEATURE_CLMUL},
    {"armce-noclmul", AES_ARM},
    {"vperm", TR_FEATURE_NEON},
#endif
    {"bitslice", 0},
};
#define BACKENDS (sizeof(expected_backends) / sizeof(*expected_backends))

/* Returns the index of the expected backend, if the backends in the bit set `without` fail their
 * KATs. */
static unsigned expected_index(tr_features usable, unsigned without)
{
    unsigned i = 0;
    while (i < BACKENDS && ((expected_backends[i].needs & ~usable) != 0 || (without >> i & 1)))
        i++;
    return i;
}

/* The features that selection uses on this processor without a mask. */
static tr_features usual(void)
{
    return read_cpu().usable & ~(tr_tuning()->clock_drops ? TR_FEATURE_AVX512 : 0);
}

static void test_cpu(void)
{
    static const char *const names[] = {"aes",  "clmul",  "ssse3", "avx",  "avx2", "avx512",
                                        "vaes", "vclmul", "sha",   "neon", "sha3"};
    const struct tr_cpu expected = read_cpu();
    struct tr_cpu cpu;
    tr_cpu_detect(&cpu);
    tap_ok(cpu.present == expected.present,
           "tr_cpu_detect() finds the features 0x%x, expected 0x%x", cpu.present, expected.present);
    tap_ok(cpu.usable == expected.usable,
           "tr_cpu_detect() finds usable features 0x%x, expected 0x%x", cpu.usable,
           expected.usable);
    tap_ok(cpu.xcr0 == expected.xcr0, "XCR0 is 0x%llx", (unsigned long long)cpu.xcr0);
    bool good = true;
    for (unsigned i = 0; i < TR_FEATURE_COUNT; i++)
        good &= strcmp(tr_feature_name(i), names[i]) == 0;
    tap_ok(good, "every feature has its expected name");
    good = backend_count() == BACKENDS;
    for (unsigned i = 0; i < BACKENDS && good; i++) {
        const struct tr_backend *b = tr_backend_at(i);
        good = strcmp(tr_backend_name(b), expected_backends[i].name) == 0 &&
               tr_backend_features(b) == expected_backends[i].needs &&
               tr_backend_by_name(expected_backends[i].name) == b && tr_backend_index(b) == i;
    }
    tap_ok(good, "the backends are the expected ones, in order, and need the expected features");
}

#define XMM_ALONE (TR_FEATURE_CLMUL | TR_FEATURE_SHA)

/* Tests tr_features_saved() with values of XCR0. All but the last are of operating systems that
 * save less register state than AVX-512 needs. */
static void test_saved(void)
{
    static const struct {
        uint64_t xcr0;
        tr_features saved;
    } cases[] = {
        {0x00, AES_128 | XMM_ALONE}, /* no XSAVE */
        {0x03, AES_128 | XMM_ALONE}, /* x87 and SSE */
        {0x05, AES_128 | XMM_ALONE}, /* the upper halves of YMM without the lower */
        {0x07, AES_256 | XMM_ALONE | TR_FEATURE_VCLMUL},
        {0x67, AES_256 | XMM_ALONE | TR_FEATURE_VCLMUL}, /* no ZMM16 to ZMM31 */
        {0xe1, AES_128 | XMM_ALONE},
        {0xe7, AES_512 | XMM_ALONE | TR_FEATURE_VCLMUL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        tap_ok(tr_features_saved(cases[i].xcr0) == cases[i].saved,
               "XCR0 0x%x saves the registers of the features 0x%x", (unsigned)cases[i].xcr0,
               tr_features_saved(cases[i].xcr0));
}

/* ---- Masks ----------------------------------------------------------------------------------- */

static void test_good_masks(void)
{
    static const struct {
        const char *text;
        tr_features masked;
    } good[] = {
        {NULL, 0},
        {"", 0},
        {" ,\t, ", 0},
        {"noaes", TR_FEATURE_AES},
        {"noclmul", TR_FEATURE_CLMUL},
        {"nossse3", TR_FEATURE_SSSE3},
        {"noavx", TR_FEATURE_AVX},
        {"noavx2", TR_FEATURE_AVX2},
        {"noavx512", TR_FEATURE_AVX512},
        {"novaes", TR_FEATURE_VAES},
        {"novclmul", TR_FEATURE_VCLMUL},
        {"nosha", TR_FEATURE_SHA},
        {"noneon,nosha3", TR_FEATURE_NEON | TR_FEATURE_SHA3},
        {"noavx512,novaes", TR_FEATURE_AVX512 | TR_FEATURE_VAES},
        {" noaes  noclmul ", TR_FEATURE_AES | TR_FEATURE_CLMUL},
        {"noaes,noaes,,noavx,", TR_FEATURE_AES | TR_FEATURE_AVX},
        {"avx512", 0},
        {"novaes,avx512,noaes", TR_FEATURE_VAES | TR_FEATURE_AES},
    };
    const size_t n = sizeof(good) / sizeof(*good);
    size_t right = 0;
    for (size_t i = 0; i < n; i++) {
        tr_features masked = 0xdead;
        const char *bad = "x";
        right += tr_mask_parse(good[i].text, &masked, &bad) == TR_OK && masked == good[i].masked &&
                 bad == NULL && tr_mask_parse(good[i].text, &masked, NULL) == TR_OK;
    }
    tap_ok(right == n, "%zu of %zu good masks are accepted", right, n);
}

static void test_bad_masks(void)
{
    static const struct {
        const char *text;
        tr_features masked; /* features that the good words mask */
        size_t at;          /* where the first bad word begins */
    } bad[] = {
        {"aes", 0, 0},
        {"no", 0, 0},
        {"noaesni", 0, 0},
        {"noavx51", 0, 0},
        {"noavx5123", 0, 0},
        {"no avx", 0, 0},
        {"noaes;novaes", 0, 0},
        {"noaes,avx2", TR_FEATURE_AES, 6},
        {"novaes , foo, noaes", TR_FEATURE_VAES | TR_FEATURE_AES, 9},
        {"noaes,noclmul,-", TR_FEATURE_AES | TR_FEATURE_CLMUL, 14},
        {"nonoaes", 0, 0},
        {"xoaes", 0, 0},
        {"nxaes", 0, 0},
        {"avx51", 0, 0},
        {"avx5123", 0, 0},
        {"avx512,noaes,vaes", TR_FEATURE_AES, 13},
        {"noavx-512,novaes", TR_FEATURE_VAES, 0},
    };
    const size_t n = sizeof(bad) / sizeof(*bad);
    size_t right = 0;
    for (size_t i = 0; i < n; i++) {
        tr_features masked = 0xdead;
        const char *word = NULL;
        struct tr_selection s;
        right += tr_mask_parse(bad[i].text, &masked, &word) == TR_ERR_MODE &&
                 masked == bad[i].masked && word == bad[i].text + bad[i].at &&
                 tr_mask_parse(bad[i].text, &masked, NULL) == TR_ERR_MODE &&
                 tr_select_sabotaged(bad[i].text, 0, NULL, &s) == TR_OK && s.bad_mask == word &&
                 s.masked == bad[i].masked;
    }
    tap_ok(right == n, "%zu of %zu bad masks are refused at the right word", right, n);
}

/* Masks every set of features of this architecture, as bits and as text. Checks which backend is
 * selected from the remaining features. */
static void test_select(void)
{
    const tr_features usable = read_cpu().usable;
    unsigned right = 0, n = 0, seen = 0;
    size_t left = 0; /* the number of sets to skip */
    for (tr_features masked = 0; masked < 1u << TR_FEATURE_COUNT; masked++) {
        if ((masked & ~KIND) != 0 || left-- != 0)
            continue;
        left = tap_stride(&rng) - 1;
        n++;
        char text[128] = "";
        for (unsigned i = 0; i < TR_FEATURE_COUNT; i++)
            if (masked >> i & 1)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "no%s%s",
                         tr_feature_name(i), i % 2 ? "," : " ");
        const unsigned expected = expected_index(usual() & ~masked, 0);
        struct tr_selection s, t;
        right += tr_select_sabotaged(text, 0, NULL, &s) == TR_OK &&
                 tr_select_sabotaged("", masked, NULL, &t) == TR_OK &&
                 s.backend == tr_backend_at(expected) && t.backend == s.backend &&
                 s.masked == masked && t.masked == masked && s.failed == 0 && s.bad_mask == NULL &&
                 s.cpu.usable == usable;
        seen |= 1u << expected;
    }
    tap_ok(right == n, "%u of %u masks lead to the expected backend (backends seen: 0x%x)", right,
           n, seen);
}

/* ---- Known-answer tests ------------------------------------------------------------------- */

static void test_known_answers(void)
{
    const struct tr_backend *b;
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++)
        if (!backend_skip(b, 1))
            tap_ok(tr_backend_self_test(b) == TR_OK, "%s passes its known-answer tests",
                   tr_backend_name(b));
}

/* Falsifies the known answers of a set of backends, for many sets. Selection must choose the
 * strongest usable backend outside the set, and report the failures. To limit the number of sets, a
 * set may contain any stronger backends than the chosen one, but only the next two weaker ones. */
static void test_sabotage(void)
{
    const tr_features usable = usual();
    unsigned right = 0, n = 0;
    size_t left = 0; /* the number of sets to skip */
    for (unsigned set = 0; set < 1u << BACKENDS; set++) {
        const unsigned expected = expected_index(usable, set);
        if (set >> expected > 7 || left-- != 0)
            continue;
        left = tap_stride(&rng) - 1;
        n++;
        char text[256] = "";
        for (unsigned i = 0; i < BACKENDS; i++)
            if (set >> i & 1)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? "," : "",
                         expected_backends[i].name);
        unsigned failed = 0;
        for (unsigned i = 0; i < expected && i < BACKENDS; i++)
            failed |= (expected_backends[i].needs & ~usable) == 0 ? 1u << i : 0;
        struct tr_selection s;
        const enum tr_status status = tr_select_sabotaged(NULL, 0, text, &s);
        right += status == (expected < BACKENDS ? TR_OK : TR_ERR_SELF_TEST) &&
                 s.backend == (expected < BACKENDS ? tr_backend_at(expected) : NULL) &&
                 s.failed == failed;
    }
    tap_ok(right == n, "%u of %u sets of backends with falsified answers are skipped and reported",
           right, n);
}

/* ---- Selection in a process --------------------------------------------------------------- */

/* Selects a backend in a child process with these environment variables. Returns the backend's
 * index, or -1 minus the number of the signal that ended the child. */
static int selected_in_child(const char *mask, const char *sabotage)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        setenv("TENROUNDS_MASK", mask, 1);
        setenv("TENROUNDS_SABOTAGE", sabotage, 1);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(100);
        const struct tr_backend *b = tr_backend_selected();
        _exit(b == tr_backend_selected() ? (int)tr_backend_index(b) : 101);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -100;
    return WIFSIGNALED(status) ? -1 - WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_environment(void)
{
    static const struct {
        const char *mask, *sabotage;
        tr_features masked;
        unsigned without;
        bool wanted; /* the mask asks for AVX-512 */
    } worlds[] = {
        {"", "", 0, 0, false},
#if TR_ARM64
        {"nosha3", "", TR_FEATURE_SHA3, 0, false},
        {"noneon", "", TR_FEATURE_NEON, 0, false},
        {"", "armce", 0, 1, false},
        {"noclmul", "armce-noclmul", TR_FEATURE_CLMUL, 2, false},
        {"", "armce,armce-noclmul", 0, 3, false},
#endif
        {"noavx512", "", TR_FEATURE_AVX512, 0, false},
        {"novaes", "", TR_FEATURE_VAES, 0, false},
        {"noaes", "", TR_FEATURE_AES, 0, false},
#if TR_X86
        {"", "vaes512", 0, 1, false},
        {"noavx512", "vaes256", TR_FEATURE_AVX512, 2, false},
        {"", "vaes512,vaes256,aesni", 0, 7, false},
        {"", "clock", TR_FEATURE_AVX512, 0, false},
        {"avx512", "clock", 0, 0, true},
#endif
        {"noclmul", "", TR_FEATURE_CLMUL, 0, false},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        const int got = selected_in_child(worlds[i].mask, worlds[i].sabotage);
        const tr_features usable = worlds[i].wanted ? read_cpu().usable : usual();
        const int expected = (int)expected_index(usable & ~worlds[i].masked, worlds[i].without);
        if (got != expected)
            tap_diag("mask \"%s\", sabotage \"%s\": %d, expected %d", worlds[i].mask,
                     worlds[i].sabotage, got, expected);
        good &= got == expected;
    }
    tap_ok(good, "TENROUNDS_MASK and TENROUNDS_SABOTAGE affect the backend that a process selects");
    char all[256] = "";
    for (unsigned i = 0; i < BACKENDS; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s,", expected_backends[i].name);
    tap_ok(selected_in_child("", all) == -1 - SIGABRT,
           "a process in which every backend fails is aborted");
}

/* Tests which row of the tuning table a processor gets, by vendor, decoded family and model. */
static void test_tuning_of(void)
{
    static const struct {
        const char *vendor;
        unsigned family, model;
        const char *name;
    } cases[] = {
        {"GenuineIntel", 6, 0x3c, "haswell"},       {"GenuineIntel", 6, 0x55, "cascadelake"},
        {"GenuineIntel", 6, 0x6a, "icelake"},       {"GenuineIntel", 6, 0x7e, "icelake"},
        {"GenuineIntel", 6, 0x8c, "tigerlake"},     {"GenuineIntel", 6, 0xa7, "rocketlake"},
        {"GenuineIntel", 6, 0x97, "alderlake"},     {"GenuineIntel", 6, 0x8f, "sapphirerapids"},
        {"GenuineIntel", 6, 0xcf, "emeraldrapids"}, {"GenuineIntel", 6, 0xad, "graniterapids"},
        {"GenuineIntel", 6, 0x9e, "skylake"},       {"GenuineIntel", 6, 0x5a, "generic"},
        {"GenuineIntel", 15, 0x55, "generic"},      {"AuthenticAMD", 0x17, 0x01, "znver1"},
        {"AuthenticAMD", 0x17, 0x71, "znver2"},     {"AuthenticAMD", 0x19, 0x01, "znver3"},
        {"AuthenticAMD", 0x19, 0x11, "znver4"},     {"AuthenticAMD", 0x19, 0x50, "znver3"},
        {"AuthenticAMD", 0x19, 0x61, "znver4"},     {"AuthenticAMD", 0x1a, 0x02, "znver5"},
        {"AuthenticAMD", 0x1a, 0x24, "znver5-256"}, {"AuthenticAMD", 0x1a, 0x44, "znver5"},
        {"AuthenticAMD", 0x1a, 0x60, "znver5-256"}, {"AuthenticAMD", 0x1a, 0x70, "znver5"},
        {"AuthenticAMD", 0x1a, 0x90, "generic"},    {"AuthenticAMD", 0x1b, 0x02, "generic"},
        {"AuthenticAMD", 6, 0x6a, "generic"},       {"HygonGenuine", 0x18, 0x01, "znver1"},
        {"CentaurHauls", 7, 0x3b, "generic"},       {"GenuineIntem", 6, 0x6a, "generic"},
    };
    size_t right = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct tr_tuning *t = tr_tuning_of(cases[i].vendor, cases[i].family, cases[i].model);
        if (strcmp(t->name, cases[i].name) == 0)
            right++;
        else
            tap_diag("%s family %u model %u gets the row %s, expected %s", cases[i].vendor,
                     cases[i].family, cases[i].model, t->name, cases[i].name);
    }
    tap_ok(right == sizeof(cases) / sizeof(*cases),
           "%zu processors get their rows of the tuning table", right);
    static const char *const vendors[] = {"GenuineIntel", "AuthenticAMD", "HygonGenuine",
                                          "CentaurHauls", "  Shanghai  "};
    bool good = strcmp(tr_tuning_at(0)->name, "generic") == 0;
    for (unsigned i = 0; i < 5 * 0x20 * 0x100; i++)
        good &= tr_tuning_of(vendors[i % 5], i / 5 % 0x20, i / 5 / 0x20) != NULL;
    unsigned rows = 0, drop = 0;
    for (const struct tr_tuning *t; (t = tr_tuning_at(rows)) != NULL; rows++) {
        good &= t->aes_latency >= 3 && t->aes_latency <= 8 && t->separate_clmul <= 1;
        drop += t->clock_drops;
    }
    tap_ok(good && rows == 19 && drop == 3,
           "all %u rows have plausible facts; in %u rows the clock drops", rows, drop);
}

static int named_in_child(const char *name)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("TENROUNDS_TUNE", name, 1);
        int row = 0;
        while (tr_tuning_at((unsigned)row) != tr_tuning_selected())
            row++;
        _exit(row);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if TR_X86
/* The row that /proc/cpuinfo names, or -1 if it names no vendor. */
static int row_by_kernel(void)
{
    char line[256] = "", vendor[13] = "";
    unsigned family = 0, model = 0;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL && *line != '\n')
        if (strncmp(line, "vendor_id\t: ", 12) == 0)
            memcpy(vendor, line + 12, 12); /* may contain spaces */
        else
            (void)(sscanf(line, "cpu family : %u", &family) + sscanf(line, "model : %u", &model));
    if (f != NULL)
        fclose(f);
    if (*vendor == '\0')
        return -1;
    int row = 0;
    while (tr_tuning_at((unsigned)row) != tr_tuning_of(vendor, family, model))
        row++;
    return row;
}
#endif

/* Tests TENROUNDS_TUNE in child processes, which exit with the number of their row. A process keeps
 * the row that it selects first, so the parent must not have selected a row yet. */
static void test_tuning_named(void)
{
    const int own = named_in_child("");
    bool good = own >= 0 && named_in_child("nonsense") == own;
    for (int i = 0; tr_tuning_at((unsigned)i) != NULL; i++)
        good &= named_in_child(tr_tuning_at((unsigned)i)->name) == i;
    tap_ok(good, "TENROUNDS_TUNE selects any row, and a wrong name has no effect");
#if TR_X86
    tap_ok(row_by_kernel() == own, "the row is that of the processor in /proc/cpuinfo");
#else
    tap_ok(own == 0, "the row is the first one");
#endif
}

/* Tests selection on a processor whose clock drops at 512 bits. The word "clock" in the list of
 * sabotaged backends simulates such a processor. */
static void test_avoided(void)
{
    const tr_features usable = read_cpu().usable;
    static const struct {
        const char *mask;
        tr_features masked;
        bool wanted;
    } cases[] = {
        {NULL, 0, false},
        {"", 0, false},
        {"avx512", 0, true},
        {"noclmul", TR_FEATURE_CLMUL, false},
        {"avx512,noclmul", TR_FEATURE_CLMUL, true},
        {"noavx512", TR_FEATURE_AVX512, false},
        {"noavx512,avx512", TR_FEATURE_AVX512, true},
        {"novaes", TR_FEATURE_VAES, false},
        {"noaes", TR_FEATURE_AES, false},
    };
    bool good = true, plain = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const tr_features left = usable & ~cases[i].masked;
        const unsigned wide = expected_index(left, 0);
        const unsigned narrow = expected_index(left & ~TR_FEATURE_AVX512, 0);
        const unsigned expected = cases[i].wanted ? wide : narrow;
        struct tr_selection s;
        good &= tr_select_sabotaged(cases[i].mask, 0, "clock", &s) == TR_OK && s.failed == 0 &&
                s.bad_mask == NULL && s.masked == cases[i].masked &&
                s.backend == tr_backend_at(expected) &&
                s.avoided == (expected != wide ? TR_FEATURE_AVX512 : 0);
        if (!tr_tuning()->clock_drops)
            plain &= tr_select_sabotaged(cases[i].mask, 0, NULL, &s) == TR_OK && s.avoided == 0 &&
                     s.backend == tr_backend_at(wide);
    }
    tap_ok(good, "where the clock drops, 256 bits are preferred unless the mask says avx512");
    tap_ok(plain, "where the clock does not drop, avx512 in the mask changes nothing");
    /* If the preferred backend fails, the next one is selected, still without 512 bits. */
    struct tr_selection s;
    const unsigned narrow = expected_index(usable & ~TR_FEATURE_AVX512, 0);
    char sabotage[64];
    snprintf(sabotage, sizeof(sabotage), "clock,%s", expected_backends[narrow].name);
    const unsigned next = expected_index(usable & ~TR_FEATURE_AVX512, 1u << narrow);
    tap_ok(tr_select_sabotaged(NULL, 0, sabotage, &s) ==
                   (next < BACKENDS ? TR_OK : TR_ERR_SELF_TEST) &&
               s.failed == 1u << narrow &&
               s.backend == (next < BACKENDS ? tr_backend_at(next) : NULL),
           "where the clock drops and the preferred backend fails, the next one is selected");
}

static void *select_in_thread(void *barrier)
{
    pthread_barrier_wait(barrier);
    return (void *)tr_backend_selected();
}

static void test_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    struct tr_selection s;
    bool good = tr_select_sabotaged(getenv("TENROUNDS_MASK"), 0, NULL, &s) == TR_OK &&
                pthread_barrier_init(&barrier, NULL, THREADS) == 0;
    for (int i = 0; i < THREADS; i++)
        good &= pthread_create(&threads[i], NULL, select_in_thread, &barrier) == 0;
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        good &= pthread_join(threads[i], &result) == 0 && result == s.backend;
    }
    tap_ok(good, "%d threads that select at the same time get the same backend, %s", THREADS,
           tr_backend_name(s.backend));
}

/* ---- Tests before the first use of a mode --------------------------------------------------- */

enum { USERS = 8 };
static pthread_barrier_t together;
static const struct tr_backend *best; /* the strongest usable backend */

/* Uses all modes and key lengths for the first time in the process, in an order of its own. Returns
 * the backend that passed all tests, or NULL if it was not always the same. Each
 * call also runs the test of ECB, which the fault switch makes fail. The switch does not affect the
 * tests of long CTR calls and of XTS with 192 bits: they would pass if they came first. */
static void *use_in_thread(void *number)
{
    const struct tr_backend *used = NULL;
    pthread_barrier_wait(&together);
    for (unsigned i = 0; i < 33; i++) {
        const unsigned j = (i + 5 * (unsigned)(uintptr_t)number) % 33;
        const unsigned tests = 1u << j % 11 | TR_TEST_ECB;
        const struct tr_backend *b = tr_backend_passing(best, tests, 16 + 8 * (j / 11));
        if (b == NULL || (used != NULL && b != used))
            return NULL;
        used = b;
    }
    return (void *)(uintptr_t)used;
}

/* In a child process: whether threads that use all modes at the same time all use `expected`. */
static bool used_in_child(const char *sabotage, const struct tr_backend *expected)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        pthread_t threads[USERS];
        bool good = pthread_barrier_init(&together, NULL, USERS) == 0;
        setenv("TENROUNDS_SABOTAGE", sabotage, 1);
        for (uintptr_t i = 0; i < USERS; i++)
            good &= pthread_create(&threads[i], NULL, use_in_thread, (void *)i) == 0;
        for (int i = 0; i < USERS; i++) {
            void *used = NULL;
            good &= pthread_join(threads[i], &used) == 0 && used == expected;
        }
        _exit(good ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* A backend that fails the tests of one mode is not used for any. */
static void test_first_use(void)
{
    char two[128], all[256] = "";
    best = tr_backend_at(expected_index(usual(), 0));
    snprintf(two, sizeof(two), "%s,%s", best->name, best->weaker != NULL ? best->weaker->name : "");
    for (unsigned i = 0; i < BACKENDS; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s,", expected_backends[i].name);
    tap_ok(used_in_child("", best), "%d threads test and use the strongest backend", USERS);
    tap_ok(used_in_child(best->name, best->weaker),
           "if it fails its tests, all modes use the next weaker backend");
    tap_ok(used_in_child(two, best->weaker != NULL ? best->weaker->weaker : NULL),
           "if both fail, all modes use the next one");
    tap_ok(used_in_child(all, NULL), "if all fail, none is used");
}

int main(void)
{
    rng = tap_random(0);
    tap_plan(1 + 5 + 7 + 2 + 1 + backend_count() + 1 + 2 + 4 + 2 + 2 + 3);
    test_tuning_named();
    test_cpu();
    test_saved();
    test_good_masks();
    test_bad_masks();
    test_select();
    test_known_answers();
    test_sabotage();
    test_environment();
    test_threads();
    test_first_use();
    test_tuning_of();
    test_avoided();
    return tap_done();
}
