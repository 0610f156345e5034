/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM (SP 800-38D) for one vector type: gcm/stream.h has streaming calls, gcm/message.h one-shot
 * messages, and gcm/call.h whole calls.
 */
#ifndef TR_SIMD_GCM_H
#define TR_SIMD_GCM_H

#include "simd/gcm/call.h"
#include "simd/gcm/stream.h"

#endif
