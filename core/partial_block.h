/* SPDX-License-Identifier: BSD-2-Clause */
/* Partial blocks in two 64-bit words. Byte i of a block is bits 8 i to 8 i + 7. Loads and stores
 * use a few wide accesses, which may overlap. Only partial_load_after() accesses memory outside the
 * partial block. Copying byte by byte would take longer than encrypting the block. A wide load
 * after such narrow stores would also cause a store-forwarding stall. */
#ifndef TR_PARTIAL_BLOCK_H
#define TR_PARTIAL_BLOCK_H

#include "util.h"

struct partial_block {
    uint64_t low, high;
};

TR_INLINE uint64_t partial_load64(const uint8_t *p)
{
    uint64_t v;
    __builtin_memcpy(&v, p, 8);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(v) : v;
}

TR_INLINE void partial_store64(uint8_t *p, uint64_t v)
{
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        v = __builtin_bswap64(v);
    __builtin_memcpy(p, &v, 8);
}

TR_INLINE uint64_t partial_load32(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, 4);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap32(v) : v;
}

TR_INLINE void partial_store32(uint8_t *p, uint64_t v)
{
    uint32_t w = (uint32_t)v;
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        w = __builtin_bswap32(w);
    __builtin_memcpy(p, &w, 4);
}

/* Loads n bytes, 0 to 16, and fills the rest with zeros. */
TR_INLINE struct partial_block partial_load(const uint8_t *p, size_t n)
{
    struct partial_block v = {0, 0};
    if (n >= 8) {
        v.low = partial_load64(p);
        if (n > 8)
            v.high = partial_load64(p + n - 8) >> 8 * (16 - n);
    } else if (n >= 4) {
        v.low = partial_load32(p) | partial_load32(p + n - 4) << 8 * (n - 4);
    } else if (n != 0) {
        v.low = p[0] | (uint64_t)p[n / 2] << 8 * (n / 2) | (uint64_t)p[n - 1] << 8 * (n - 1);
    }
    return v;
}

/* Loads a nonce of 12 bytes, which may have just been stored as 4 and 8 bytes, or as 8 and 4. An
 * 8-byte load that spans both stores would cause a store-forwarding stall: 64 bytes of GCM would
 * take twice as long (Emerald Rapids). A 4-byte load never spans both. The asm statement keeps gcc
 * from combining two of them. */
TR_INLINE struct partial_block partial_load_nonce(const uint8_t p[12])
{
    uint64_t middle = partial_load32(p + 4);
    __asm__("" : "+r"(middle));
    return (struct partial_block){partial_load32(p) | middle << 32, partial_load32(p + 8)};
}

/* As partial_load() for 1 to 16 bytes, without a branch. Reads up to 7 bytes before p, so these
 * must be readable. */
TR_INLINE struct partial_block partial_load_after(const uint8_t *p, size_t n)
{
    const unsigned shift = 8 * ((16 - (unsigned)n) & 7);
    const uint64_t last = partial_load64(p + n - 8), first = partial_load64(n < 8 ? p + n - 8 : p);
    return (struct partial_block){first >> (n < 8 ? shift : 0), n > 8 ? last >> shift : 0};
}

TR_INLINE void partial_store(uint8_t *p, struct partial_block v, size_t n)
{
    if (n == 16) {
        partial_store64(p, v.low);
        partial_store64(p + 8, v.high);
    } else if (n > 8) {
        partial_store64(p, v.low);
        partial_store64(p + n - 8, v.low >> 8 * (n - 8) | v.high << 8 * (16 - n));
    } else if (n == 8) {
        partial_store64(p, v.low);
    } else if (n >= 4) {
        partial_store32(p, v.low);
        partial_store32(p + n - 4, v.low >> 8 * (n - 4));
    } else if (n != 0) {
        p[0] = (uint8_t)v.low;
        p[n / 2] = (uint8_t)(v.low >> 8 * (n / 2));
        p[n - 1] = (uint8_t)(v.low >> 8 * (n - 1));
    }
}

/* Shifts up by n bytes, 0 to 15, and fills with zeros. */
TR_INLINE struct partial_block partial_up(struct partial_block v, unsigned n)
{
    if (n >= 8)
        v = (struct partial_block){0, v.low << 8 * (n - 8)};
    else if (n != 0)
        v = (struct partial_block){v.low << 8 * n, v.high << 8 * n | v.low >> (64 - 8 * n)};
    return v;
}

TR_INLINE struct partial_block partial_down(struct partial_block v, unsigned n)
{
    if (n >= 8)
        v = (struct partial_block){v.high >> 8 * (n - 8), 0};
    else if (n != 0)
        v = (struct partial_block){v.low >> 8 * n | v.high << (64 - 8 * n), v.high >> 8 * n};
    return v;
}

/* Keeps the first n bytes, 0 to 16, and clears the others. */
TR_INLINE struct partial_block partial_first(struct partial_block v, size_t n)
{
    if (n < 8)
        v = (struct partial_block){v.low & (((uint64_t)1 << 8 * n) - 1), 0};
    else if (n < 16)
        v.high &= ((uint64_t)1 << 8 * (n - 8)) - 1;
    return v;
}

/* Clears the first n bytes, 0 to 15, and keeps the others, without a branch. */
TR_INLINE struct partial_block partial_from(struct partial_block v, size_t n)
{
    const uint64_t kept = ~(uint64_t)0 << 8 * (n & 7);
    return (struct partial_block){n < 8 ? v.low & kept : 0, n < 8 ? v.high : v.high & kept};
}

TR_INLINE struct partial_block partial_xor(struct partial_block a, struct partial_block b)
{
    return (struct partial_block){a.low ^ b.low, a.high ^ b.high};
}

TR_INLINE struct partial_block partial_load_block(const uint8_t *p)
{
    return (struct partial_block){partial_load64(p), partial_load64(p + 8)};
}

TR_INLINE void partial_store_block(uint8_t *p, struct partial_block v)
{
    partial_store64(p, v.low);
    partial_store64(p + 8, v.high);
}

/* TR_PARTIAL_VECTOR is 1 where this code may use vector registers. A kernel compiles most code
 * without them: there, even a function that returns a vector is a compile error. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && (defined(__SSE2__) || defined(__ARM_NEON))
#    define TR_PARTIAL_VECTOR 1
typedef uint64_t partial_vector __attribute__((vector_size(16), aligned(1), may_alias));

/* Returns both words as a vector. Without the asm statement, gcc 12 would move one of the words
 * through the stack and leave a copy there. */
TR_INLINE partial_vector partial_to_vector(struct partial_block v)
{
#    if defined(__x86_64__)
    typedef long long words __attribute__((vector_size(16)));
    words low = {(long long)v.low, 0}, high = {(long long)v.high, 0};
    __asm__("" : "+x"(low), "+x"(high));
    return (partial_vector){(uint64_t)low[0], (uint64_t)high[0]};
#    else
    return (partial_vector){v.low, v.high};
#    endif
}
#else
#    define TR_PARTIAL_VECTOR 0
#endif

/* As partial_store_block(), but in one 16-byte store if TR_PARTIAL_VECTOR is 1. Use it before a
 * vector load of the same bytes. */
TR_INLINE void partial_store_vector(uint8_t *p, struct partial_block v)
{
#if TR_PARTIAL_VECTOR
    *(partial_vector *)p = partial_to_vector(v);
#else
    partial_store_block(p, v);
#endif
}

/* XORs v into the 16 bytes at p, in a vector register if TR_PARTIAL_VECTOR is 1. The vector
 * register is faster than two words if a vector store wrote these bytes and a vector load will read
 * them. */
TR_INLINE void partial_xor_vector(uint8_t *p, struct partial_block v)
{
#if TR_PARTIAL_VECTOR
    *(partial_vector *)p ^= partial_to_vector(v);
#else
    partial_store_block(p, partial_xor(partial_load_block(p), v));
#endif
}

#endif
