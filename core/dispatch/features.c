/* SPDX-License-Identifier: BSD-2-Clause */
/* Feature detection, feature names, and the parser of masks. */
#include "dispatch/backend.h"
#include "dispatch/tuning.h"
#include "util.h"

static const char *const names[TR_FEATURE_COUNT] = {
    "aes", "clmul", "ssse3", "avx", "avx2", "avx512", "vaes", "vclmul", "sha", "neon", "sha3"};

const char *tr_feature_name(unsigned index)
{
    return index < TR_FEATURE_COUNT ? names[index] : NULL;
}

/* The feature that a word of a mask removes, or 0. */
static tr_features masked_by(const char *word, size_t n)
{
    if (n <= 2 || word[0] != 'n' || word[1] != 'o')
        return 0;
    for (unsigned i = 0; i < TR_FEATURE_COUNT; i++) {
        if (tr_word_is(word + 2, n - 2, names[i]))
            return (tr_features)1 << i;
    }
    return 0;
}

static int is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

enum tr_status tr_mask_read(const char *text, tr_features *masked, tr_features *wanted,
                            const char **bad)
{
    *masked = *wanted = 0;
    *bad = NULL;
    if (text == NULL)
        return TR_OK;
    for (;;) {
        while (is_separator(*text))
            text++;
        if (*text == '\0')
            return *bad == NULL ? TR_OK : TR_ERR_MODE;
        size_t n = 0;
        while (text[n] != '\0' && !is_separator(text[n]))
            n++;
        tr_features feature = masked_by(text, n);
        if (feature != 0) {
            *masked |= feature;
        } else if (tr_word_is(text, n, "avx512")) { /* requests a feature instead of masking one */
            *wanted |= TR_FEATURE_AVX512;
        } else if (*bad == NULL) {
            *bad = text; /* the words after this one still apply */
        }
        text += n;
    }
}

enum tr_status tr_mask_parse(const char *text, tr_features *masked, const char **bad)
{
    tr_features wanted;
    const char *word;
    return tr_mask_read(text, masked, &wanted, bad != NULL ? bad : &word);
}

/* XCR0 (Intel SDM volume 1, sections 13.3 and 14.3 to 15.2). Bits 1 and 2 are the XMM and YMM
 * state. Bits 5 to 7 are the mask registers and both parts of the ZMM state. */
#define XCR0_YMM 0x06u
#define XCR0_ZMM 0xe6u

tr_features tr_features_saved(uint64_t xcr0)
{
    tr_features saved = TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_SSSE3 | TR_FEATURE_SHA;
    if ((xcr0 & XCR0_YMM) == XCR0_YMM)
        saved |= TR_FEATURE_AVX | TR_FEATURE_AVX2 | TR_FEATURE_VAES | TR_FEATURE_VCLMUL;
    if ((xcr0 & XCR0_ZMM) == XCR0_ZMM)
        saved |= TR_FEATURE_AVX512;
    return saved;
}

#if TR_X86
#    include <cpuid.h>

static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

TR_INLINE tr_features when(uint32_t word, uint32_t bits, tr_features feature)
{
    return (word & bits) == bits ? feature : 0;
}

/* Family and model as in Intel's SDM (volume 2, figure 3-6). AMD uses the same layout. */
static void read_model(struct tr_model *m, const uint32_t vendor[3], uint32_t signature)
{
    m->family = signature >> 8 & 0xf;
    m->model = signature >> 4 & 0xf;
    if (m->family == 6 || m->family == 15)
        m->model |= (signature >> 16 & 0xf) << 4;
    if (m->family == 15)
        m->family += signature >> 20 & 0xff;
    __builtin_memcpy(m->vendor, vendor, sizeof(m->vendor));
}

/* The highest leaf of CPUID, and the vendor. On i386, a processor may lack the instruction. */
static unsigned read_leaf_0(uint32_t vendor[3])
{
    uint32_t last;
#    if defined(__i386__)
    if (__get_cpuid_max(0, NULL) == 0)
        return 0;
#    endif
    __cpuid(0, last, vendor[0], vendor[2], vendor[1]);
    return last;
}

void tr_cpu_read(struct tr_cpu *cpu, struct tr_model *model)
{
    uint32_t a, b, c, d, vendor[3];
    *cpu = (struct tr_cpu){0};
    *model = (struct tr_model){{0}, 0, 0};
    const unsigned last = read_leaf_0(vendor);
    if (last < 1)
        return;
    __cpuid(1, a, b, c, d);
    read_model(model, vendor, a);
    int sse2 = (d & bit_SSE2) != 0;
    cpu->present |= when(c, bit_AES, TR_FEATURE_AES) | when(c, bit_PCLMUL, TR_FEATURE_CLMUL) |
                    when(c, bit_SSSE3, TR_FEATURE_SSSE3) | when(c, bit_AVX, TR_FEATURE_AVX);
    if (c & bit_OSXSAVE)
        cpu->xcr0 = read_xcr0();
    if (last >= 7) {
        __cpuid_count(7, 0, a, b, c, d);
        cpu->present |=
            when(b, bit_AVX2, TR_FEATURE_AVX2) |
            when(b, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_BMI2, TR_FEATURE_AVX512) |
            when(c, bit_VAES, TR_FEATURE_VAES) | when(c, bit_VPCLMULQDQ, TR_FEATURE_VCLMUL) |
            when(b, bit_SHA, TR_FEATURE_SHA);
    }
    cpu->usable = sse2 ? cpu->present & tr_features_saved(cpu->xcr0) : 0;
}

#else
/* Bits of AT_HWCAP (Linux, Documentation/arch/arm64/elf_hwcaps.rst). All reported features are
 * usable, because the kernel clears the bits of features that it does not support. */
#    define HWCAP_ASIMD (1ul << 1)
#    define HWCAP_AES   (1ul << 3)
#    define HWCAP_PMULL (1ul << 4)
#    define HWCAP_SHA3  (1ul << 17)

void tr_cpu_read(struct tr_cpu *cpu, struct tr_model *model)
{
    const unsigned long has = TR_ARM64 ? tr_env_hwcap() : 0;
    *cpu = (struct tr_cpu){0};
    *model = (struct tr_model){{0}, 0, 0};
    if (has & HWCAP_ASIMD)
        cpu->present = TR_FEATURE_NEON | (has & HWCAP_AES ? TR_FEATURE_AES : 0) |
                       (has & HWCAP_PMULL ? TR_FEATURE_CLMUL : 0) |
                       (has & HWCAP_SHA3 ? TR_FEATURE_SHA3 : 0);
    cpu->usable = cpu->present;
}
#endif

void tr_cpu_detect(struct tr_cpu *cpu)
{
    struct tr_model model;
    tr_cpu_read(cpu, &model);
}
