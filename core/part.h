/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partial blocks in two 64-bit words; byte i is bits 8 i to 8 i + 7. Loads and stores use a few
 * wide accesses, which overlap if necessary but never leave the partial block. Byte by byte, they
 * would cost more than encrypting the block, and a wide load after narrow stores would stall (store
 * forwarding).
 */
#ifndef TR_PART_H
#define TR_PART_H

#include "util.h"

struct part {
    uint64_t low, high;
};

TR_INLINE uint64_t part_load64(const uint8_t *p)
{
    uint64_t v;
    __builtin_memcpy(&v, p, 8);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(v) : v;
}

TR_INLINE void part_store64(uint8_t *p, uint64_t v)
{
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        v = __builtin_bswap64(v);
    __builtin_memcpy(p, &v, 8);
}

TR_INLINE uint64_t part_load32(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, 4);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap32(v) : v;
}

TR_INLINE void part_store32(uint8_t *p, uint64_t v)
{
    uint32_t w = (uint32_t)v;
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        w = __builtin_bswap32(w);
    __builtin_memcpy(p, &w, 4);
}

/* Loads n bytes, 0 to 16, followed by zeros. */
TR_INLINE struct part part_load(const uint8_t *p, size_t n)
{
    struct part v = {0, 0};
    if (n >= 8) {
        v.low = part_load64(p);
        if (n > 8)
            v.high = part_load64(p + n - 8) >> 8 * (16 - n);
    } else if (n >= 4) {
        v.low = part_load32(p) | part_load32(p + n - 4) << 8 * (n - 4);
    } else if (n != 0) {
        v.low = p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1);
    }
    return v;
}

TR_INLINE void part_store(uint8_t *p, struct part v, size_t n)
{
    if (n == 16) {
        part_store64(p, v.low);
        part_store64(p + 8, v.high);
    } else if (n > 8) {
        part_store64(p, v.low);
        part_store64(p + n - 8, v.low >> 8 * (n - 8) | v.high << 8 * (16 - n));
    } else if (n == 8) {
        part_store64(p, v.low);
    } else if (n >= 4) {
        part_store32(p, v.low);
        part_store32(p + n - 4, v.low >> 8 * (n - 4));
    } else if (n != 0) {
        p[0] = (uint8_t)v.low;
        p[n / 2] = (uint8_t)(v.low >> 8 * (n / 2));
        p[n - 1] = (uint8_t)(v.low >> 8 * (n - 1));
    }
}

/* Shifts up by n bytes, 0 to 15, and fills with zeros. */
TR_INLINE struct part part_up(struct part v, unsigned n)
{
    if (n >= 8)
        v = (struct part){0, v.low << 8 * (n - 8)};
    else if (n != 0)
        v = (struct part){v.low << 8 * n, v.high << 8 * n | v.low >> (64 - 8 * n)};
    return v;
}

TR_INLINE struct part part_down(struct part v, unsigned n)
{
    if (n >= 8)
        v = (struct part){v.high >> 8 * (n - 8), 0};
    else if (n != 0)
        v = (struct part){v.low >> 8 * n | v.high << (64 - 8 * n), v.high >> 8 * n};
    return v;
}

/* Keeps the first n bytes, 0 to 16, and clears the others. */
TR_INLINE struct part part_first(struct part v, size_t n)
{
    if (n < 8)
        v = (struct part){v.low & (((uint64_t)1 << 8 * n) - 1), 0};
    else if (n < 16)
        v.high &= ((uint64_t)1 << 8 * (n - 8)) - 1;
    return v;
}

TR_INLINE struct part part_xor(struct part a, struct part b)
{
    return (struct part){a.low ^ b.low, a.high ^ b.high};
}

TR_INLINE struct part part_load_block(const uint8_t *p)
{
    return (struct part){part_load64(p), part_load64(p + 8)};
}

TR_INLINE void part_store_block(uint8_t *p, struct part v)
{
    part_store64(p, v.low);
    part_store64(p + 8, v.high);
}

/* As part_store_block(), in one store if the machine has one of 16 bytes. Use it before a vector
 * load of the same bytes. */
TR_INLINE void part_store_vector(uint8_t *p, struct part v)
{
    typedef uint64_t vector __attribute__((vector_size(16), aligned(1), may_alias));
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        part_store_block(p, v);
    else
        *(vector *)p = (vector){v.low, v.high};
}

#endif
