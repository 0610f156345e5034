/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic on blocks, and small functions that replace functions of a libc. */
#ifndef TR_UTIL_H
#define TR_UTIL_H

#include "tenrounds.h"

#define TR_INLINE static inline __attribute__((always_inline))
/* Optimizes a function that runs once for size instead of speed. */
#define TR_COLD   __attribute__((__cold__))

/* Defines an inline function that returns the value of an expression. */
#define TR_OPERATION(target, type, name, parameters, ...)                                          \
    TR_INLINE target type name parameters                                                          \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

/* States a fact that the compiler cannot derive. UndefinedBehaviorSanitizer checks it. */
#define TR_ASSUME(fact)                                                                            \
    do {                                                                                           \
        if (!(fact))                                                                               \
            __builtin_unreachable();                                                               \
    } while (0)

/* Places a function at the start of a cache line. At other addresses, a call of few blocks takes up
 * to 7 % longer, because it is bound by instruction fetch (Zen 4), and 16 bytes of GCM up to 12 %
 * (Emerald Rapids). */
#define TR_AT_LINE __attribute__((aligned(64)))

/* tr_cleanse(), inline, for buffers on the stack and in messages. It uses 16-byte stores, because a
 * libc's memset() or the compiler's REP STOS would take longer than encrypting a block. It clobbers
 * only the cleansed bytes, so that other values stay in registers. */
TR_INLINE void tr_cleanse_inline(void *memory, size_t len)
{
    typedef uint64_t two __attribute__((vector_size(16), aligned(1), may_alias));
    struct eight {
        two words[4];
    } __attribute__((may_alias));
    uint8_t *p = memory;
    for (; len >= 64; p += 64, len -= 64) {
        struct eight *to = (struct eight *)p;
        to->words[0] = to->words[1] = to->words[2] = to->words[3] = (two){0};
        __asm__ volatile("" : "+m"(*to));
    }
    for (; len >= 16; p += 16, len -= 16) {
        *(two *)p = (two){0};
        __asm__ volatile("" : "+m"(*(two *)p));
    }
    for (; len != 0; p++, len--) {
        *p = 0;
        __asm__ volatile("" : "+m"(*p));
    }
}

/* tr_length() returns the length of a string. tr_word_is() says whether `text` equals the n bytes
 * at `word`. */
TR_INLINE size_t tr_length(const char *text)
{
    size_t n = 0;
    for (; text[n] != '\0'; n++)
        __asm__("" : "+r"(n)); /* keeps the compiler from calling strlen() */
    return n;
}

TR_INLINE int tr_word_is(const char *word, size_t n, const char *text)
{
    return tr_length(text) == n && __builtin_memcmp(word, text, n) == 0;
}

/* Whether `out` begins inside `in`, but not at its start ("Overlap" in tenrounds.h). A call would
 * then overwrite input before it reads it. */
TR_INLINE int tr_bad_overlap(const uint8_t *out, const uint8_t *in, size_t len)
{
    uintptr_t ahead = (uintptr_t)out - (uintptr_t)in;
    return __builtin_expect(ahead < len, 0) && ahead != 0;
}

TR_INLINE uint64_t tr_load64_be(const uint8_t *p)
{
    uint64_t v;
    __builtin_memcpy(&v, p, 8);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? v : __builtin_bswap64(v);
}

TR_INLINE void tr_store64_be(uint8_t *p, uint64_t v)
{
    if (__BYTE_ORDER__ != __ORDER_BIG_ENDIAN__)
        v = __builtin_bswap64(v);
    __builtin_memcpy(p, &v, 8);
}

/* Adds n to a 128-bit big-endian counter (SP 800-38A appendix B.1). The compiler computes the carry
 * without a branch; the counter is public anyway. */
TR_INLINE void tr_counter_add(uint8_t counter[16], uint64_t n)
{
    uint64_t low = tr_load64_be(counter + 8) + n;
    tr_store64_be(counter + 8, low);
    tr_store64_be(counter, tr_load64_be(counter) + (low < n));
}

/* Adds n to the last 32 bits of a counter block, modulo 2^32 (SP 800-38D section 6.2). */
TR_INLINE void tr_counter_add32(uint8_t counter[16], uint32_t n)
{
    uint64_t low = tr_load64_be(counter + 8);
    tr_store64_be(counter + 8, (low & 0xffffffff00000000) | (uint32_t)(low + n));
}

/* Byte-reverses a block. Both pointers may be equal. */
TR_INLINE void tr_reverse_block(uint8_t out[16], const uint8_t in[16])
{
    uint64_t first = __builtin_bswap64(tr_load64_be(in));
    uint64_t last = __builtin_bswap64(tr_load64_be(in + 8));
    tr_store64_be(out, last);
    tr_store64_be(out + 8, first);
}

/* Sets `out` to a ^ b, for one block. Any of the three pointers may be equal. */
TR_INLINE void tr_xor_block(uint8_t *out, const uint8_t *a, const uint8_t *b)
{
    uint64_t x[2], y[2];
    __builtin_memcpy(x, a, 16);
    __builtin_memcpy(y, b, 16);
    x[0] ^= y[0];
    x[1] ^= y[1];
    __builtin_memcpy(out, x, 16);
}

/* Sets `out` to t times x in GF(2^128), in XTS's byte order (IEEE 1619 section 5.2): the first byte
 * has the lowest powers of x. */
TR_INLINE void tr_xts_double(uint8_t out[16], const uint8_t t[16])
{
    uint64_t low, high, carry;
    low = __builtin_bswap64(tr_load64_be(t));
    high = __builtin_bswap64(tr_load64_be(t + 8));
    carry = 0 - (high >> 63);
    tr_store64_be(out, __builtin_bswap64(low << 1 ^ (carry & 0x87)));
    tr_store64_be(out + 8, __builtin_bswap64(high << 1 | low >> 63));
}

/* Multiplies a tweak, in the words *high and *low, by x^n for n up to 56. Shifts the tweak left,
 * and folds in the n bits that are shifted out. Folding shifts these bits by up to 7, and n + 7 is
 * at most 63, so they stay within a word. */
TR_INLINE void tr_xts_multiply_halves(uint64_t *low, uint64_t *high, unsigned n)
{
    /* Shifts twice, because n may be 0, and a shift by 64 is undefined. */
    uint64_t out = *high >> 1 >> (63 - n);
    *high = *high << n | *low >> 1 >> (63 - n);
    *low = *low << n ^ out ^ out << 1 ^ out << 2 ^ out << 7;
}

TR_INLINE void tr_xts_multiply(uint8_t t[16], unsigned n)
{
    uint64_t low = __builtin_bswap64(tr_load64_be(t)),
             high = __builtin_bswap64(tr_load64_be(t + 8));
    tr_xts_multiply_halves(&low, &high, n);
    tr_store64_be(t, __builtin_bswap64(low));
    tr_store64_be(t + 8, __builtin_bswap64(high));
}

/* Sets `out` to a times x in GF(2^128), with the polynomial x^128 + x^7 + x^2 + x + 1. The first
 * byte has the highest powers of x, as in CMAC, OCB and SIV. */
TR_INLINE void tr_double(uint8_t out[16], const uint8_t a[16])
{
    uint64_t high = tr_load64_be(a), low = tr_load64_be(a + 8), carry = 0 - (high >> 63);
    tr_store64_be(out, high << 1 | low >> 63);
    tr_store64_be(out + 8, low << 1 ^ (carry & 0x87));
}

/* TR_PUBLIC(x) is x, an int that depends on secrets but is public, so that code may branch on it.
 * Examples are whether a tag is right, the number of padding bytes, and whether two keys are equal.
 * With TR_TEST_PUBLIC, the macro also marks x as public for the checkers of tests/core/secrets.h.
 * TR_PUBLISH(p, len) marks the memory at p as public. Examples are a tag that is also the message's
 * first counter block, and the length of an unwrapped key. */
#ifdef TR_TEST_PUBLIC
#    include <valgrind/memcheck.h>
TR_INLINE int tr_public(int value)
{
    VALGRIND_MAKE_MEM_DEFINED(&value, sizeof(value));
    return value;
}
#    define TR_PUBLIC(x)       tr_public(x)
#    define TR_PUBLISH(p, len) VALGRIND_MAKE_MEM_DEFINED(p, len)
#else
#    define TR_PUBLIC(x)       (x)
#    define TR_PUBLISH(p, len) ((void)(p))
#endif

/* Whether n bytes are equal. The time does not depend on which bytes differ. */
TR_INLINE int tr_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
    unsigned difference = 0;
    for (size_t i = 0; i < n; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    __asm__("" : "+r"(difference)); /* prevents an early exit from the loop */
    return difference == 0;
}

#endif
