/* SPDX-License-Identifier: BSD-2-Clause */
/* The choice of a backend by features, masks and known-answer tests, which the caller passes. */
#ifndef TR_DISPATCH_SELECT_H
#define TR_DISPATCH_SELECT_H

#include "tenrounds.h"

/* As tr_select(), but tests each candidate with known(backend, falsify, memory), until one
 * passes. */
typedef enum tr_status tr_kat_fn(const struct tr_backend *backend, int falsify, void *memory);
enum tr_status tr_select_by(tr_kat_fn *known, void *memory, const char *mask,
                            tr_features also_masked, const char *sabotage,
                            struct tr_selection *selection);

/* Whether `name` is one of the comma-separated words of `text`, which may be NULL. */
int tr_is_listed(const char *text, const char *name);

#endif
