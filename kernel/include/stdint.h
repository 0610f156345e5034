/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Replaces <stdint.h> in kernel builds: the kernel's headers define the fixed-width types and
 * SIZE_MAX. */
#include <linux/limits.h>
#include <linux/types.h>
