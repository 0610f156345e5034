/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partial blocks in two 64-bit words. Byte i of a block is bits 8 i to 8 i + 7. Loads and stores
 * use a few wide accesses, which may overlap. Only part_load_after() accesses memory outside the
 * partial block. Copying byte by byte would take longer than encrypting the block. A wide load
 * after such narrow stores would also cause a store-forwarding stall.
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

/* Loads n bytes, 0 to 16, and fills the rest with zeros. */
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

/* Loads a nonce of 12 bytes, which may have just been stored as 4 and 8 bytes, or as 8 and 4. An
 * 8-byte load that spans both stores would cause a store-forwarding stall. A 4-byte load never
 * spans both. */
TR_INLINE struct part part_load_nonce(const uint8_t p[12])
{
    return (struct part){part_load32(p) | part_load32(p + 4) << 32, part_load32(p + 8)};
}

/* As part_load() for 1 to 16 bytes, without a branch. Reads up to 7 bytes before p, so these must
 * be readable. */
TR_INLINE struct part part_load_after(const uint8_t *p, size_t n)
{
    const unsigned shift = 8 * ((16 - (unsigned)n) & 7);
    const uint64_t last = part_load64(p + n - 8), first = part_load64(n < 8 ? p + n - 8 : p);
    return (struct part){first >> (n < 8 ? shift : 0), n > 8 ? last >> shift : 0};
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

/* Clears the first n bytes, 0 to 15, and keeps the others, without a branch. */
TR_INLINE struct part part_from(struct part v, size_t n)
{
    const uint64_t kept = ~(uint64_t)0 << 8 * (n & 7);
    return (struct part){n < 8 ? v.low & kept : 0, n < 8 ? v.high : v.high & kept};
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

/* TR_PART_VECTOR is 1 where this code may use vector registers. A kernel compiles most code without
 * them: there, even a function that returns a vector is a compile error. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && (defined(__SSE2__) || defined(__ARM_NEON))
#    define TR_PART_VECTOR 1
typedef uint64_t part_vector __attribute__((vector_size(16), aligned(1), may_alias));

/* Returns both words as a vector. Without the asm statement, gcc 12 would move one of the words
 * through the stack and leave a copy there. */
TR_INLINE part_vector part_to_vector(struct part v)
{
#    if defined(__x86_64__)
    typedef long long words __attribute__((vector_size(16)));
    words low = {(long long)v.low, 0}, high = {(long long)v.high, 0};
    __asm__("" : "+x"(low), "+x"(high));
    return (part_vector){(uint64_t)low[0], (uint64_t)high[0]};
#    else
    return (part_vector){v.low, v.high};
#    endif
}
#else
#    define TR_PART_VECTOR 0
#endif

/* As part_store_block(), but in one 16-byte store if TR_PART_VECTOR is 1. Use it before a vector
 * load of the same bytes. */
TR_INLINE void part_store_vector(uint8_t *p, struct part v)
{
#if TR_PART_VECTOR
    *(part_vector *)p = part_to_vector(v);
#else
    part_store_block(p, v);
#endif
}

/* XORs v into the 16 bytes at p, in a vector register if TR_PART_VECTOR is 1. The vector register
 * is faster than two words if a vector store wrote these bytes and a vector load will read them. */
TR_INLINE void part_xor_vector(uint8_t *p, struct part v)
{
#if TR_PART_VECTOR
    *(part_vector *)p ^= part_to_vector(v);
#else
    part_store_block(p, part_xor(part_load_block(p), v));
#endif
}

#endif
