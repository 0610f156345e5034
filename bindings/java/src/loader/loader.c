// SPDX-License-Identifier: BSD-2-Clause
/*
 * Adds the jar of the provider to the class path of a running JVM: what `tenrounds enable
 * --java-home` has the JDK load before it looks for the provider.
 *
 * A JDK from 9 on has no folder whose jars all programs see, and reads options only from the command
 * line and the environment. But java.security can name a PKCS#11 library, which SunPKCS11 loads into
 * every JVM that uses cryptography. This one says that it cannot be initialised, so SunPKCS11 drops
 * out of the providers (handleStartupErrors = ignoreAll), and the next one is ours, from the jar.
 */
#include <dlfcn.h>
#include <jvmti.h>
#include <stdatomic.h>
#include <stddef.h>

/* CK_C_INITIALIZE_ARGS, CK_FUNCTION_LIST and return values of PKCS#11 2.40. */
struct arguments {
    void *mutexes[4];
    unsigned long flags;
    const char *jar; /* pReserved: SunPKCS11 passes the value of nssArgs */
};
#define OK            0UL
#define GENERAL_ERROR 5UL

/* 67 functions follow C_Initialize. SunPKCS11 calls none of them without it. */
struct functions {
    unsigned char version[2];
    unsigned long (*initialize)(const struct arguments *);
    void *others[67];
};

/* The JVM around this library; NULL if there is none. */
static JavaVM *machine(void)
{
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL)
        return NULL;
    jint (*find)(JavaVM **, jsize, jsize *);
    *(void **)&find = dlsym(library, "JNI_GetCreatedJavaVMs");
    JavaVM *vm = NULL;
    jsize count = 0;
    if (find == NULL || find(&vm, 1, &count) != JNI_OK || count != 1)
        vm = NULL;
    dlclose(library);
    return vm;
}

/* Whether JDK 24 or later has the option --illegal-native-access=deny, which stays in force. */
static int is_denied(JNIEnv *env)
{
    static const char mode[] = "()Ljdk/internal/module/ModuleBootstrap$IllegalNativeAccess;";
    jclass boot = (*env)->FindClass(env, "jdk/internal/module/ModuleBootstrap");
    jmethodID get = NULL;
    jobject said = NULL;
    if (boot != NULL)
        get = (*env)->GetStaticMethodID(env, boot, "illegalNativeAccess", mode);
    if (get != NULL)
        said = (*env)->CallStaticObjectMethod(env, boot, get);
    jclass type = NULL;
    if (!(*env)->ExceptionCheck(env) && said != NULL)
        type = (*env)->GetObjectClass(env, said);
    jfieldID deny = type != NULL ? (*env)->GetStaticFieldID(env, type, "DENY", mode + 2) : NULL;
    int denied = deny != NULL &&
                 (*env)->IsSameObject(env, said, (*env)->GetStaticObjectField(env, type, deny));
    (*env)->ExceptionClear(env);
    return denied;
}

/* As the option --enable-native-access=ALL-UNNAMED: without it, JDK 24 and later print warnings when
   the provider calls C. A later JDK that has none of these names prints them. */
static void allow_native_access(JNIEnv *env)
{
    if (is_denied(env))
        return;
    static const char type[] = "Ljava/lang/Module;";
    jmethodID allow = NULL;
    jfieldID unnamed = NULL;
    jclass module = (*env)->FindClass(env, "java/lang/Module");
    if (module != NULL)
        unnamed = (*env)->GetStaticFieldID(env, module, "ALL_UNNAMED_MODULE", type);
    if (unnamed != NULL)
        allow =
            (*env)->GetMethodID(env, module, "implAddEnableNativeAccess", "()Ljava/lang/Module;");
    if (allow != NULL)
        (*env)->CallObjectMethod(env, (*env)->GetStaticObjectField(env, module, unnamed), allow);
    (*env)->ExceptionClear(env);
}

static unsigned long initialize(const struct arguments *arguments)
{
    /* SunPKCS11 tries again, without locks. */
    static atomic_flag done = ATOMIC_FLAG_INIT;
    JavaVM *vm = machine();
    jvmtiEnv *tools;
    JNIEnv *env;
    if (vm == NULL || arguments == NULL || arguments->jar == NULL ||
        atomic_flag_test_and_set(&done) ||
        (*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK ||
        (*vm)->GetEnv(vm, (void **)&tools, JVMTI_VERSION_1_2) != JNI_OK)
        return GENERAL_ERROR;
    if ((*tools)->AddToSystemClassLoaderSearch(tools, arguments->jar) == JVMTI_ERROR_NONE)
        allow_native_access(env);
    (*tools)->DisposeEnvironment(tools);
    return GENERAL_ERROR;
}

JNIEXPORT unsigned long C_GetFunctionList(const struct functions **list);
unsigned long C_GetFunctionList(const struct functions **list)
{
    static const struct functions functions = {.version = {2, 40}, .initialize = initialize};
    *list = &functions;
    return OK;
}
