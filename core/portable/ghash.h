/* SPDX-License-Identifier: BSD-2-Clause */
/* Bulk operations of the bitslice backend that are not AES. */
#ifndef TR_PORTABLE_GHASH_H
#define TR_PORTABLE_GHASH_H

#include "../backend.h"

void tr_portable_ghash_key(struct tr_ghash *ghash);
tr_bulk_fn tr_portable_ghash;

#endif
