/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Loading and unloading: selects a backend by known-answer tests and registers all algorithms. */
#include "tenrounds_kernel.h"

#include "selftest/selftest.h"

#include <linux/crypto.h>
#include <linux/fips.h>
#include <linux/module.h>
#include <linux/slab.h>

#undef pr_fmt
#define pr_fmt(fmt) "tenrounds: " fmt

const struct tr_backend *tr_kernel_backend;

/* The core calls this when a caller sets a key without naming a backend. */
const struct tr_backend *tr_backend_selected(void)
{
    return tr_kernel_backend;
}

/* Memory for the known-answer tests. It is too large for the stack. */
union known_work {
    struct tr_known_work brief;
    struct tr_known_long_work lengthy;
};

/* Runs all known-answer tests of a backend. */
static enum tr_status known(const struct tr_backend *backend, int falsify, void *memory)
{
    union known_work *work = memory;
    enum tr_status status = TR_OK;
    unsigned int k;

    for (k = 0; k < TR_KNOWN_KEYS && status == TR_OK; k++) {
        status = tr_kat_short(backend, TR_TESTS_ALL, k, falsify, &work->brief);
        if (status == TR_OK)
            status = tr_kat_long(backend, TR_TESTS_ALL, k, &work->lengthy);
    }
    return status;
}

/* Selects the strongest backend that passes its known-answer tests. The backend bitslice must pass
 * its tests, too, because it is the fallback when the kernel refuses the vector registers. */
static int choose(union known_work *work, struct tr_selection *s)
{
    int sabotaged = tr_is_listed(tr_kernel_sabotage, tr_bitslice.name);
    enum tr_status status = tr_select_by(known, work, tr_kernel_mask, 0, tr_kernel_sabotage, s);

    if (s->bad_mask != NULL) {
        pr_err("not loaded: unknown word in the parameter mask: \"%.*s\"; tenrounds(5) lists "
               "the words\n",
               (int)strcspn(s->bad_mask, ", \t\n"), s->bad_mask);
        return -EINVAL;
    }
    if (status == TR_OK && s->backend != &tr_bitslice)
        status = known(&tr_bitslice, sabotaged, work);
    if (status != TR_OK) {
        pr_err("not loaded: %s, the fallback of all backends, fails its known-answer tests\n",
               tr_bitslice.name);
        return -EBADMSG;
    }
    return 0;
}

static int default_priority(const struct tr_backend *b)
{
    if (b->features & TR_FEATURE_VAES)
        return 450;
    return b->features & TR_FEATURE_AES ? 250 : 90;
}

/* Logs one line after a successful load. */
static void say(const struct tr_selection *s, int priority)
{
    char failed[128] = "";
    unsigned int i, n = 0;

    for (i = 0; tr_backend_at(i) != NULL; i++) {
        if (s->failed >> i & 1)
            n += scnprintf(failed + n, sizeof(failed) - n, "%s%s",
                           n == 0 ? "; known-answer tests failed, not used: " : " ",
                           tr_backend_at(i)->name);
    }
    pr_info("backend %s (priority %d%s%s)\n", s->backend->name, priority,
            s->avoided != 0
                ? "; no 512-bit registers, which lower the clock here (mask=avx512 allows them)"
                : "",
            failed);
}

void tr_kernel_name_driver(char *name, const char *backend)
{
    size_t len = strlen(name);

    scnprintf(name + len, CRYPTO_MAX_ALG_NAME - len, "%s", backend);
}

/* Refuses to load where the kernel would panic: in FIPS mode crypto_check_module_sig()
 * (crypto/algapi.c) panics when a module without a trusted signature registers an algorithm. */
static int __init check_fips(void)
{
#ifdef MODULE
    if (fips_enabled && !module_sig_ok(THIS_MODULE)) {
        pr_err("not loaded: in FIPS mode the kernel accepts cryptography only from modules signed "
               "with a key that it trusts\n");
        return -EPERM;
    }
#endif
    return 0;
}

/* Registers all algorithms, or none on an error. */
static int __init register_all(const char *backend, int priority)
{
    int err = tr_kernel_register_skciphers(backend, priority);

    if (err != 0)
        return err;
    err = tr_kernel_register_aeads(backend, priority);
    if (err != 0)
        goto no_aeads;
    err = tr_kernel_register_hashes(backend, priority);
    if (err == 0)
        return 0;
    tr_kernel_unregister_aeads();
no_aeads:
    tr_kernel_unregister_skciphers();
    return err;
}

static int __init tenrounds_init(void)
{
    union known_work *work;
    struct tr_selection selection;
    int err = check_fips(), priority;

    if (err != 0)
        return err;
    work = kmalloc(sizeof(*work), GFP_KERNEL);
    if (work == NULL)
        return -ENOMEM;
    err = choose(work, &selection);
    kfree(work);
    if (err != 0)
        return err;
    tr_kernel_backend = selection.backend;
    tr_kernel_vector_loaded();
    priority = tr_kernel_priority != 0 ? tr_kernel_priority : default_priority(selection.backend);
    err = register_all(tr_kernel_backend->name, priority);
    if (err != 0) {
        pr_err("not loaded: the kernel refused to register the algorithms of %s (error %d)\n",
               tr_kernel_backend->name, -err);
        return err;
    }
    tr_kernel_counters_show();
    say(&selection, priority);
    return 0;
}
module_init(tenrounds_init);

static void __exit tenrounds_exit(void)
{
    tr_kernel_counters_hide();
    tr_kernel_unregister_hashes();
    tr_kernel_unregister_aeads();
    tr_kernel_unregister_skciphers();
}
module_exit(tenrounds_exit);

MODULE_DESCRIPTION("AES at the processor's limit: VAES, AVX-512, AES-NI");
MODULE_AUTHOR("The tenrounds authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(TR_VERSION_STRING);
