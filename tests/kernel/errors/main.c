/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Usage: insmod errors.ko backend=aesni. With a backend, this module runs all tests while it loads.
 * It writes counts to its parameters, and the first 20 differences to the kernel's log. With or
 * without a backend, it then stays loaded, so that load.c can make an allocation fail while
 * tenrounds.ko loads. */
#include "errors.h"

#include <linux/module.h>

char *backend;
module_param(backend, charp, 0444);
MODULE_PARM_DESC(backend, "the backend whose drivers are tested, such as aesni");

unsigned int cases;
module_param(cases, uint, 0444);
static unsigned int differences;
module_param(differences, uint, 0444);

const char *driver_name(const struct pair *pair, int whose, char name[128])
{
    if (whose == THEIRS)
        return pair->theirs;
    snprintf(name, 128, "%s-tenrounds-%s", pair->prefix, backend);
    return name;
}

void differ(const char *what, const char *format, ...)
{
    struct va_format vaf;
    va_list args;

    differences++;
    va_start(args, format);
    vaf.fmt = format;
    vaf.va = &args;
    if (differences <= 20)
        pr_err("%s: %pV\n", what, &vaf);
    va_end(args);
}

void same_error(const struct pair *pair, int ours, int theirs, const char *format, ...)
{
    struct va_format vaf;
    va_list args;

    cases++;
    if (ours == theirs)
        return;
    va_start(args, format);
    vaf.fmt = format;
    vaf.va = &args;
    differ(pair->prefix, "%pV: ours returned %d, theirs %d", &vaf, ours, theirs);
    va_end(args);
}

static int __init errors_init(void)
{
    int err = starve_register();

    if (err != 0)
        return err;
    if (backend != NULL) {
        test_ciphers();
        test_aeads();
        test_hashes();
    }
    err = load_register();
    if (err != 0)
        starve_unregister();
    return err;
}
module_init(errors_init);

static void __exit errors_exit(void)
{
    load_unregister();
    starve_unregister();
}
module_exit(errors_exit);

MODULE_DESCRIPTION("Compares our drivers with others on bad input");
MODULE_LICENSE("Dual BSD/GPL");
