/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Loading and unloading: the choice of a backend by its known answers, and the registration of all algorithms. */
#include "tenrounds_kernel.h"

#include "selftest.h"

#include <linux/crypto.h>
#include <linux/fips.h>
#include <linux/module.h>
#include <linux/slab.h>

#undef pr_fmt
#define pr_fmt(fmt) "tenrounds: " fmt

const struct tr_backend *tr_kernel_backend;

/* For keys that are expanded for no backend in particular; the core wants the name. */
const struct tr_backend *tr_backend_selected(void)
{
    return tr_kernel_backend;
}

/* The strongest backend that passes its known answers; and bitslice has to, too, for it steps in where the
 * vector registers are refused. */
static int choose(struct tr_known_work *work, struct tr_selection *s)
{
    int sabotaged = tr_is_listed(tr_kernel_sabotage, tr_bitslice.name);
    enum tr_status status = tr_select_in(work, tr_kernel_mask, 0, tr_kernel_sabotage, s);

    if (s->bad_mask != NULL) {
        pr_err("not loaded: the parameter mask has a word that is no feature: \"%s\"\n",
               s->bad_mask);
        return -EINVAL;
    }
    if (status == TR_OK && s->backend != &tr_bitslice)
        status = tr_known_answers(&tr_bitslice, sabotaged, work);
    if (status != TR_OK) {
        pr_err("not loaded: %s computes wrong known answers, and without it nothing is left to "
               "rely on\n",
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

/* The one line at load. */
static void say(const struct tr_selection *s, int priority)
{
    char failed[128] = "";
    unsigned int i, n = 0;

    for (i = 0; tr_backend_at(i) != NULL; i++) {
        if (s->failed >> i & 1)
            n += scnprintf(failed + n, sizeof(failed) - n, "%s%s",
                           n == 0 ? "; wrong known answers, not used: " : " ",
                           tr_backend_at(i)->name);
    }
    pr_info("backend %s (priority %d%s%s)\n", s->backend->name, priority,
            s->avoided != 0 ? "; no 512 bits, which lower this processor's clock (mask=avx512)"
                            : "",
            failed);
}

void tr_kernel_name_driver(char *name, const char *backend)
{
    size_t len = strlen(name);

    scnprintf(name + len, CRYPTO_MAX_ALG_NAME - len, "%s", backend);
}

/* In FIPS mode the kernel panics where a module registers an algorithm and no key that it trusts has signed it
 * (crypto/algapi.c, crypto_check_module_sig()). */
static int __init check_fips(void)
{
#ifdef MODULE
    if (fips_enabled && !module_sig_ok(THIS_MODULE)) {
        pr_err("not loaded: in FIPS mode the kernel takes no cryptography from a module without "
               "a signature that it trusts\n");
        return -EPERM;
    }
#endif
    return 0;
}

static int __init tenrounds_init(void)
{
    struct tr_known_work *work;
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
    err = tr_kernel_register_skciphers(tr_kernel_backend->name, priority);
    if (err == 0) {
        err = tr_kernel_register_aeads(tr_kernel_backend->name, priority);
        if (err != 0)
            tr_kernel_unregister_skciphers();
    }
    if (err != 0) {
        pr_err("not loaded: the kernel did not take the algorithms of %s (error %d)\n",
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
    tr_kernel_unregister_aeads();
    tr_kernel_unregister_skciphers();
}
module_exit(tenrounds_exit);

MODULE_DESCRIPTION("AES at the processor's limit: VAES, AVX-512, AES-NI");
MODULE_AUTHOR("The tenrounds authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(TR_VERSION_STRING);
