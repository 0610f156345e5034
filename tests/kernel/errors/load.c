/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Makes an allocation fail while our module loads. */
#include "errors.h"

#include <linux/limits.h>
#include <linux/module.h>
#include <linux/notifier.h>

static unsigned int starve_load; /* the number of the allocation that fails, from 1; 0: none */
module_param(starve_load, uint, 0600);
static bool starved;
module_param(starved, bool, 0600);

static int on_module(struct notifier_block *block, unsigned long state, void *data)
{
    const struct module *which = data;
    unsigned int kept;

    if (strcmp(which->name, "tenrounds") != 0 || starve_load == 0)
        return NOTIFY_DONE;
    if (state == MODULE_STATE_COMING)
        starve_begin(starve_load);
    else if (starve_end(&kept))
        starved = true;
    return NOTIFY_DONE;
}

/* The lowest priority makes this notifier run after all others. Counting therefore begins after
 * their allocations at MODULE_STATE_COMING. Counting ends after their allocations at
 * MODULE_STATE_LIVE or MODULE_STATE_GOING, so these are counted and can fail. */
static struct notifier_block block = {.notifier_call = on_module, .priority = INT_MIN};

int load_register(void)
{
    return register_module_notifier(&block);
}

void load_unregister(void)
{
    unregister_module_notifier(&block);
}
