/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of microarchitectures, and the row of this processor.
 *
 * The figures have these sources:
 *
 * - Families and models: Intel's SDM (volume 4, table 2-1) and Linux
 *   (arch/x86/include/asm/intel-family.h, arch/x86/kernel/cpu/amd.c).
 * - Latencies and ports: the instruction tables of Agner Fog, and uops.info. For Zen 4, Zen 5 and
 *   Emerald Rapids also our measurements (docs/tuning/README.md).
 * - Clocks: the processors on which Linux gives its 512-bit AES drivers a low priority
 *   (zmm_exclusion_list in arch/x86/crypto/aesni-intel_glue.c of Linux 6.10, later
 *   arch/x86/kernel/cpu/intel.c).
 *
 * Where 512-bit registers lower the clock, selection avoids them, unless the mask has the word
 * "avx512". We expect that avoiding them costs AES no speed. Cascade Lake has no VAES, so no AES
 * instructions for these registers. Ice Lake and Tiger Lake start one 512-bit round or two 256-bit
 * rounds per cycle; both are 64 bytes per cycle. This rate was measured on their successor Emerald
 * Rapids, not on these processors.
 */
#include "dispatch/tuning.h"

#include "dispatch/backend.h"
#include "util.h"

/* name, AES latency, 512-bit AES rounds per cycle, separate port for CLMUL, clock drops */
/* clang-format off */
static const struct tr_tuning table[] = {
    {"generic", 4, 1, 0, 0},
    {"haswell", 7, 0, 0, 0}, /* CLMUL has three µops, one on the port of AES */
    {"broadwell", 7, 0, 1, 0},
    {"skylake", 4, 0, 1, 0},
    {"cascadelake", 4, 0, 1, 1}, /* Skylake-X and Cooper Lake have the same model number */
    {"icelake", 3, 1, 1, 1},
    {"tigerlake", 3, 1, 1, 1},
    {"rocketlake", 3, 1, 1, 0},
    {"alderlake", 3, 0, 1, 0}, /* up to Arrow Lake; figures of the performance cores */
    {"sapphirerapids", 3, 1, 1, 0},
    {"emeraldrapids", 3, 1, 1, 0},
    {"graniterapids", 3, 1, 1, 0},
    {"gracemont", 4, 0, 0, 0}, /* and its successors, such as Sierra Forest */
    {"znver1", 4, 0, 0, 0},    /* and Zen+, Hygon Dhyana */
    {"znver2", 4, 0, 0, 0},
    {"znver3", 4, 0, 0, 0},
    {"znver4", 4, 1, 0, 0},
    {"znver5", 4, 2, 0, 0}, /* also Strix Halo */
    {"znver5-256", 4, 1, 0, 0}, /* Strix Point, Krackan: 512 bits in two halves */
};
/* clang-format on */
#define COUNT (sizeof(table) / sizeof(table[0]))

const struct tr_tuning *tr_tuning_at(unsigned index)
{
    return index < COUNT ? &table[index] : NULL;
}

static const struct tr_tuning *by_name(const char *name)
{
    for (unsigned i = 0; name != NULL && i < COUNT; i++) {
        if (tr_word_is(name, tr_length(name), table[i].name))
            return &table[i];
    }
    return NULL;
}

struct model {
    uint8_t family, first, last; /* `first` and `last` are display models, both included */
    const char *name;
};

static const struct model intel[] = {
    {6, 0x3c, 0x3c, "haswell"},       {6, 0x3f, 0x3f, "haswell"},
    {6, 0x45, 0x46, "haswell"},       {6, 0x3d, 0x3d, "broadwell"},
    {6, 0x47, 0x47, "broadwell"},     {6, 0x4f, 0x4f, "broadwell"},
    {6, 0x56, 0x56, "broadwell"},     {6, 0x4e, 0x4e, "skylake"},
    {6, 0x5e, 0x5e, "skylake"},       {6, 0x8e, 0x8e, "skylake"},
    {6, 0x9e, 0x9e, "skylake"},       {6, 0xa5, 0xa6, "skylake"},
    {6, 0x55, 0x55, "cascadelake"},   {6, 0x6a, 0x6a, "icelake"},
    {6, 0x6c, 0x6c, "icelake"},       {6, 0x7d, 0x7e, "icelake"},
    {6, 0x9d, 0x9d, "icelake"},       {6, 0x8c, 0x8d, "tigerlake"},
    {6, 0xa7, 0xa7, "rocketlake"},    {6, 0x97, 0x97, "alderlake"},
    {6, 0x9a, 0x9a, "alderlake"},     {6, 0xb7, 0xb7, "alderlake"},
    {6, 0xba, 0xba, "alderlake"},     {6, 0xbf, 0xbf, "alderlake"},
    {6, 0xaa, 0xaa, "alderlake"},     {6, 0xac, 0xac, "alderlake"},
    {6, 0xb5, 0xb5, "alderlake"},     {6, 0xbd, 0xbd, "alderlake"},
    {6, 0xc5, 0xc6, "alderlake"},     {6, 0x8f, 0x8f, "sapphirerapids"},
    {6, 0xcf, 0xcf, "emeraldrapids"}, {6, 0xad, 0xae, "graniterapids"},
    {6, 0xbe, 0xbe, "gracemont"},     {6, 0xaf, 0xaf, "gracemont"},
    {6, 0xb6, 0xb6, "gracemont"},     {6, 0xdd, 0xdd, "gracemont"},
};
static const struct model amd[] = {
    {0x17, 0x00, 0x2f, "znver1"},     {0x17, 0x30, 0x4f, "znver2"},
    {0x17, 0x50, 0x5f, "znver1"},     {0x17, 0x60, 0xff, "znver2"},
    {0x18, 0x00, 0xff, "znver1"},     {0x19, 0x00, 0x0f, "znver3"},
    {0x19, 0x10, 0x1f, "znver4"},     {0x19, 0x20, 0x5f, "znver3"},
    {0x19, 0x60, 0xff, "znver4"},     {0x1a, 0x00, 0x1f, "znver5"},
    {0x1a, 0x20, 0x2f, "znver5-256"}, {0x1a, 0x40, 0x4f, "znver5"},
    {0x1a, 0x60, 0x6f, "znver5-256"}, {0x1a, 0x70, 0x7f, "znver5"},
};

static const struct {
    char vendor[13];
    uint8_t models;
    const struct model *model;
} vendors[] = {
#define MODELS(list) sizeof(list) / sizeof(list[0]), list
    {"GenuineIntel", MODELS(intel)},
    {"AuthenticAMD", MODELS(amd)},
    {"HygonGenuine", MODELS(amd)},
#undef MODELS
};

const struct tr_tuning *tr_tuning_of(const char vendor[12], unsigned family, unsigned model)
{
    for (unsigned v = 0; v < sizeof(vendors) / sizeof(vendors[0]); v++) {
        if (__builtin_memcmp(vendor, vendors[v].vendor, 12) != 0)
            continue;
        for (unsigned i = 0; i < vendors[v].models; i++) {
            const struct model *m = &vendors[v].model[i];
            if (family == m->family && model >= m->first && model <= m->last)
                return by_name(m->name);
        }
    }
    return &table[0];
}

/* Racing threads find the same row and store the same pointer. */
static const struct tr_tuning *tuned;

static __attribute__((__noinline__)) const struct tr_tuning *first_time(const struct tr_model *here)
{
    struct tr_model model;
    struct tr_cpu cpu;
    const struct tr_tuning *tuning = by_name(tr_env_tuning());
    if (here == NULL)
        tr_cpu_read(&cpu, &model);
    else
        model = *here;
    if (tuning == NULL)
        tuning = tr_tuning_of(model.vendor, model.family, model.model);
    __atomic_store_n(&tuned, tuning, __ATOMIC_RELAXED);
    return tuning;
}

const struct tr_tuning *tr_tuning_here(const struct tr_model *model)
{
    const struct tr_tuning *tuning = __atomic_load_n(&tuned, __ATOMIC_RELAXED);
    return __builtin_expect(tuning != NULL, 1) ? tuning : first_time(model);
}

const struct tr_tuning *tr_tuning_selected(void)
{
    return tr_tuning();
}
