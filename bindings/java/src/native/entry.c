/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that Java calls: through foreign functions from JDK 22 on, else through JNI. Java
 * has checked all ranges. */
#include <jni.h>
#include <stdlib.h>

#include "context.h"
#include "org_tenrounds_JniCalls.h"

/* The address of a buffer: `at` is an index into a Java array or, inverted, an address. */
static uint8_t *place(uint8_t *array, int64_t at)
{
    return at >= 0 ? array + at : (uint8_t *)(uintptr_t)~at;
}

static inline int32_t run_call(int32_t operation, int64_t context, const uint8_t *iv,
                               int32_t iv_len, const uint8_t *aad, int32_t aad_len, uint8_t *in,
                               int64_t in_at, uint8_t *out, int64_t out_at, int32_t len,
                               int32_t tag_len)
{
    const struct call call = {
        .context = (union context *)(uintptr_t)context,
        .iv = iv,
        .iv_len = (size_t)iv_len,
        .aad = aad_len >= 0 ? aad : place(in, in_at) + aad_len,
        .aad_len = (size_t)(aad_len >= 0 ? aad_len : -aad_len),
        .in = place(in, in_at),
        .out = place(out, out_at),
        .len = (size_t)len,
        .tag_len = (size_t)tag_len,
    };
    return run(operation, &call);
}

/* Called through foreign functions, with arrays that the collector cannot move until it returns.
 * `what` has the length of the IV, that of the tag and the operation, `lengths` those of the AAD and
 * the text: see ForeignCalls.java. */
JNIEXPORT int32_t tenrounds_call(int64_t context, int64_t what, const uint8_t *iv,
                                 const uint8_t *aad, int64_t lengths, uint8_t *in, int64_t in_at,
                                 uint8_t *out, int64_t out_at)
{
    return run_call(what & 0xff, context, iv, (int32_t)(what >> 32), aad, (int32_t)(lengths >> 32),
                    in, in_at, out, out_at, (int32_t)lengths, what >> 8 & 0xff);
}

/* An array as C sees it: a copy if it is short, because a critical section costs more. A
 * negative length, of AAD that is not in an array, has none. */
struct view {
    jbyteArray array;
    uint8_t *bytes;
    uint8_t copy[64];
};

static void copy_short(JNIEnv *env, struct view *view, jbyteArray array, jint len)
{
    view->array = len > (jint)sizeof(view->copy) ? array : NULL;
    view->bytes = view->copy;
    if (view->array == NULL && len > 0)
        (*env)->GetByteArrayRegion(env, array, 0, len, (jbyte *)view->copy);
}

static int hold(JNIEnv *env, struct view *view)
{
    if (view->array != NULL)
        view->bytes = (*env)->GetPrimitiveArrayCritical(env, view->array, NULL);
    return view->bytes != NULL;
}

static void release(JNIEnv *env, struct view *view, jint mode)
{
    if (view->array != NULL && view->bytes != NULL)
        (*env)->ReleasePrimitiveArrayCritical(env, view->array, view->bytes, mode);
}

JNIEXPORT jint JNICALL Java_org_tenrounds_JniCalls_jniCall(
    JNIEnv *env, jclass class, jint operation, jlong context, jbyteArray iv, jint iv_len,
    jbyteArray aad, jint aad_len, jbyteArray in, jlong in_at, jbyteArray out, jlong out_at,
    jint len, jint tag_len)
{
    struct view v, a;
    struct view i = {.array = in_at >= 0 ? in : NULL, .bytes = i.copy};
    struct view o = {.array = out_at >= 0 ? out : NULL, .bytes = o.copy};
    jint status = TR_ERR_STATE;

    (void)class;
    copy_short(env, &v, iv, iv_len);
    copy_short(env, &a, aad, aad_len);
    /* No call of JNI between the first array that is held and the last that is released. */
    if (hold(env, &v) && hold(env, &a) && hold(env, &i) && hold(env, &o))
        status = run_call(operation, context, v.bytes, iv_len, a.bytes, aad_len, i.bytes, in_at,
                          o.bytes, out_at, len, tag_len);
    release(env, &o, 0);
    release(env, &i, JNI_ABORT);
    release(env, &a, JNI_ABORT);
    release(env, &v, JNI_ABORT);
    return status;
}

/* A short call of a mode of SP 800-38A: Java has written the IV and the text into the context. */
JNIEXPORT jint JNICALL Java_org_tenrounds_JniCalls_shortCall(JNIEnv *env, jclass class,
                                                             jint operation, jlong context,
                                                             jint iv_len, jint len)
{
    union context *x = (union context *)(uintptr_t)context;
    const struct call call = {
        .context = x,
        .iv = x->aes.next_iv,
        .iv_len = (size_t)iv_len,
        .in = x->aes.text,
        .out = x->aes.text,
        .len = (size_t)len,
    };

    (void)env;
    (void)class;
    return run(operation, &call);
}

JNIEXPORT jobject JNICALL Java_org_tenrounds_JniCalls_shortBuffer(JNIEnv *env, jclass class,
                                                                  jlong context)
{
    union context *x = (union context *)(uintptr_t)context;

    (void)class;
    return (*env)->NewDirectByteBuffer(env, x->aes.next_iv,
                                       sizeof(x->aes.next_iv) + sizeof(x->aes.text));
}

JNIEXPORT jlong JNICALL Java_org_tenrounds_JniCalls_jniAddress(JNIEnv *env, jclass class,
                                                               jobject buffer)
{
    (void)class;
    return (jlong)(uintptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}

JNIEXPORT jint JNICALL Java_org_tenrounds_JniCalls_start(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    return select_backend();
}

/* The bytes of an allocation: at least those of a key with its message, in whole cache lines. */
static size_t allocated(jlong bytes)
{
    size_t least = sizeof(union context);
    size_t wanted = (size_t)bytes > least ? (size_t)bytes : least;
    return (wanted + 63) / 64 * 64;
}

/* The alignment of a cache line, so that no vector load of the powers of H crosses one. */
JNIEXPORT jlong JNICALL Java_org_tenrounds_JniCalls_allocate(JNIEnv *env, jclass class, jlong bytes)
{
    (void)env;
    (void)class;
    return (jlong)(uintptr_t)aligned_alloc(64, allocated(bytes));
}

JNIEXPORT void JNICALL Java_org_tenrounds_JniCalls_free(JNIEnv *env, jclass class, jlong memory,
                                                        jlong bytes)
{
    void *address = (void *)(uintptr_t)memory;

    (void)env;
    (void)class;
    tr_cleanse(address, allocated(bytes));
    free(address);
}
