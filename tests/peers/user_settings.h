/* SPDX-License-Identifier: BSD-2-Clause
 * The AES of wolfSSL for scripts/peers: the modes that bench/src/peers/wolfssl.rs measures, with
 * the assembly code for x86-64, from which wolfSSL chooses at run time.
 */
#define WOLFCRYPT_ONLY
#define SINGLE_THREADED
#define WC_NO_RNG
#define NO_FILESYSTEM
#define NO_ASN
#define NO_BIG_INT
#define NO_DES3
#define NO_DH
#define NO_DSA
#define NO_ERROR_STRINGS
#define NO_HMAC
#define NO_MD5
#define NO_PWDBASED
#define NO_RSA
#define NO_SHA
#define NO_SHA256
#define WC_NO_HARDEN

#define HAVE_AES_ECB
#define HAVE_AESGCM
#define WOLFSSL_AES_COUNTER
#define WOLFSSL_AES_DIRECT
#define WOLFSSL_AES_XTS
#ifdef __x86_64__
#    define WOLFSSL_AESNI
#    define WOLFSSL_X86_64_BUILD
#    define USE_INTEL_SPEEDUP
#endif
