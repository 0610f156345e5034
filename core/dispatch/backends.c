/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of backends, strongest first, and the choice among them. */
#include "dispatch/backend.h"
#include "dispatch/select.h"
#include "dispatch/tuning.h"
#include "util.h"

static const struct tr_backend *const list[] = {
#if TR_X86
    &tr_vaes512,         &tr_vaes256,       &tr_aesni, &tr_vaes512_noclmul,
    &tr_vaes256_noclmul, &tr_aesni_noclmul, &tr_vperm,
#elif TR_ARM64
    &tr_armce, &tr_armce_noclmul, &tr_vperm,
#endif
    &tr_bitslice};

#define COUNT (sizeof(list) / sizeof(list[0]))
_Static_assert(COUNT <= TR_MAX_BACKENDS, "counters have room for every backend");

static const char *const op_names[TR_OPS] = {
#define NAME(constant, name) #name,
    TR_BULK_OPS(NAME)
#undef NAME
};

const char *tr_op_name(enum tr_op op)
{
    return (unsigned)op < TR_OPS ? op_names[op] : NULL;
}

const struct tr_backend *tr_backend_at(unsigned index)
{
    return index < COUNT ? list[index] : NULL;
}

const struct tr_backend *tr_backend_by_name(const char *name)
{
    for (unsigned i = 0; i < COUNT; i++) {
        if (tr_word_is(name, tr_length(name), list[i]->name))
            return list[i];
    }
    return NULL;
}

const char *tr_backend_name(const struct tr_backend *backend)
{
    return backend->name;
}

tr_features tr_backend_features(const struct tr_backend *backend)
{
    return backend->features;
}

unsigned tr_backend_index(const struct tr_backend *backend)
{
    unsigned i = 0;
    while (i < COUNT - 1 && list[i] != backend)
        i++;
    return i;
}

int tr_is_listed(const char *text, const char *name)
{
    while (text != NULL && *text != '\0') {
        size_t n = 0;
        while (text[n] != '\0' && text[n] != ',')
            n++;
        if (tr_word_is(text, n, name))
            return 1;
        text += n + (text[n] == ',');
    }
    return 0;
}

static unsigned strongest(tr_features usable)
{
    unsigned i = 0;
    while (i < COUNT - 1 && (list[i]->features & ~usable) != 0)
        i++;
    return i;
}

/* Returns TR_FEATURE_AVX512 if 512-bit registers lower the clock, and if masking this feature would
 * change the choice of a backend. Otherwise returns 0. */
static tr_features avoid(tr_features usable, const struct tr_model *model, const char *sabotage)
{
    if (!tr_tuning_here(model)->clock_drops && !tr_env_clock_drops() &&
        !tr_is_listed(sabotage, "clock"))
        return 0;
    return strongest(usable) != strongest(usable & ~TR_FEATURE_AVX512) ? TR_FEATURE_AVX512 : 0;
}

enum tr_status tr_select_by(tr_kat_fn *known, void *memory, const char *mask,
                            tr_features also_masked, const char *sabotage,
                            struct tr_selection *selection)
{
    struct tr_selection s = {0};
    struct tr_model model;
    tr_cpu_read(&s.cpu, &model);
    tr_features wanted;
    (void)tr_mask_read(mask, &s.masked, &wanted, &s.bad_mask);
    s.masked |= also_masked;
    tr_features usable = s.cpu.usable & ~s.masked & ~tr_env_unusable();
    s.avoided = avoid(usable, &model, sabotage) & ~wanted;
    usable &= ~s.avoided;
    for (unsigned i = 0; i < COUNT && s.backend == NULL; i++) {
        if ((list[i]->features & ~usable) != 0)
            continue;
        if (known(list[i], tr_is_listed(sabotage, list[i]->name), memory) == TR_OK)
            s.backend = list[i];
        else
            s.failed |= (uint32_t)1 << i;
    }
    *selection = s;
    return s.backend != NULL ? TR_OK : TR_ERR_SELF_TEST;
}
