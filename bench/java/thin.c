/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PKCS#11 module that only calls the core. With it, scripts/bench-java measures how much time
 * Java adds to the core. It has one key, one session and one operation, for one thread, and checks
 * nothing. The numbers and layouts are those of PKCS#11 2.40.
 */
#include <stdint.h>
#include <string.h>

#include "tenrounds.h"

typedef unsigned long number;

enum { OK = 0, FAILED = 5, MECHANISM_INVALID = 0x70, WRONG_TAG = 0x40 };
enum { AES_CBC = 0x1082, AES_CTR = 0x1086, AES_GCM = 0x1087 };
enum { KEY_VALUE = 0x11, KEY_TYPE = 0x100, VALUE_LEN = 0x161, EXTRACTABLE = 0x162, AES = 0x1f };

struct version {
    uint8_t major, minor;
};
struct library {
    struct version cryptoki;
    char maker[32];
    number flags;
    char description[32];
    struct version version;
};
struct slot {
    char description[64], maker[32];
    number flags;
    struct version hardware, firmware;
};
struct token {
    char label[32], maker[32], model[16], serial[16];
    number flags, counts[10];
    struct version hardware, firmware;
    char time[16];
};
struct mechanism {
    number type;
    uint8_t *parameter;
    number len;
};
struct attribute {
    number type;
    void *value;
    number len;
};
/* CK_GCM_PARAMS, in the layout that has ulIvBits. */
struct gcm {
    uint8_t *iv;
    number iv_len, iv_bits;
    uint8_t *aad;
    number aad_len, tag_bits;
};
struct counter {
    number bits;
    uint8_t block[16];
};

static struct {
    struct tr_aes_key aes;
    struct tr_gcm_key gcm;
    number mechanism;
    uint8_t iv[16];
    struct gcm parameters;
    unsigned used;
    uint8_t keystream[16];
} state;

static number nothing(void)
{
    return OK;
}

static number library_info(struct library *info)
{
    memset(info, ' ', sizeof *info);
    info->cryptoki = (struct version){2, 40};
    info->flags = 0;
    return OK;
}

static number slots(uint8_t present, number *list, number *count)
{
    (void)present;
    *count = 1;
    if (list != NULL)
        list[0] = 0;
    return OK;
}

static number slot_info(number id, struct slot *info)
{
    (void)id;
    memset(info, ' ', sizeof *info);
    info->flags = 1; /* a token is present */
    return OK;
}

static number token_info(number id, struct token *info)
{
    (void)id;
    memset(info, ' ', sizeof *info);
    info->flags = 0x400; /* it is initialised */
    memset(info->counts, 0, sizeof info->counts);
    return OK;
}

static number mechanisms(number id, number *list, number *count)
{
    static const number all[] = {AES_CBC, AES_CTR, AES_GCM};
    (void)id;
    *count = 3;
    if (list != NULL)
        memcpy(list, all, sizeof all);
    return OK;
}

static number mechanism_info(number id, number type, number info[3])
{
    (void)id;
    (void)type;
    info[0] = info[1] = 16;
    info[2] = 0x100 | 0x200; /* encrypts, decrypts */
    return OK;
}

static number open_session(number id, number flags, void *application, void *notify, number *handle)
{
    (void)id;
    (void)flags;
    (void)application;
    (void)notify;
    *handle = 1;
    return OK;
}

static number create(number session, const struct attribute *list, number count, number *handle)
{
    (void)session;
    *handle = 1;
    for (number i = 0; i < count; i++) {
        if (list[i].type != KEY_VALUE)
            continue;
        if (tr_aes_set_key(&state.aes, NULL, list[i].value, list[i].len) != TR_OK ||
            tr_gcm_set_key(&state.gcm, NULL, list[i].value, list[i].len) != TR_OK)
            return FAILED;
    }
    return OK;
}

static number attributes(number session, number object, struct attribute *list, number count)
{
    (void)session;
    (void)object;
    for (number i = 0; i < count; i++) {
        struct attribute *a = &list[i];
        number value = a->type == KEY_TYPE ? AES : a->type == VALUE_LEN ? 16 : 0;
        uint8_t flag = a->type == EXTRACTABLE;
        a->len = value != 0 ? sizeof value : 1;
        if (a->value != NULL)
            memcpy(a->value, value != 0 ? (const void *)&value : &flag, a->len);
    }
    return OK;
}

static number init(number session, const struct mechanism *m, number key)
{
    (void)session;
    (void)key;
    state.mechanism = m->type;
    switch (m->type) {
    case AES_CBC:
        memcpy(state.iv, m->parameter, 16);
        return OK;
    case AES_CTR:
        memcpy(state.iv, m->parameter + offsetof(struct counter, block), 16);
        state.used = 0;
        return OK;
    case AES_GCM:
        if (m->len == sizeof(struct gcm)) {
            memcpy(&state.parameters, m->parameter, sizeof state.parameters);
        } else { /* without ulIvBits */
            memcpy(&state.parameters, m->parameter, 2 * sizeof(number));
            memcpy(&state.parameters.aad, m->parameter + 2 * sizeof(number), 3 * sizeof(number));
        }
        /* Java may free the IV after this call. */
        memcpy(state.iv, state.parameters.iv, state.parameters.iv_len);
        return OK;
    default:
        return MECHANISM_INVALID;
    }
}

static number encrypt(number session, const uint8_t *in, number len, uint8_t *out, number *out_len)
{
    const struct gcm *p = &state.parameters;
    number tag_len = p->tag_bits / 8;
    (void)session;
    *out_len = len + tag_len;
    return tr_gcm_seal(&state.gcm, state.iv, p->iv_len, p->aad, p->aad_len, out, in, len, out + len,
                       tag_len) == TR_OK
               ? OK
               : FAILED;
}

static number decrypt(number session, const uint8_t *in, number len, uint8_t *out, number *out_len)
{
    const struct gcm *p = &state.parameters;
    number tag_len = p->tag_bits / 8;
    (void)session;
    len -= tag_len;
    *out_len = len;
    return tr_gcm_open(&state.gcm, state.iv, p->iv_len, p->aad, p->aad_len, out, in, len, in + len,
                       tag_len) == TR_OK
               ? OK
               : WRONG_TAG;
}

static number update(number session, const uint8_t *in, number len, uint8_t *out, number *out_len)
{
    (void)session;
    *out_len = len;
    enum tr_status status =
        state.mechanism == AES_CBC
            ? tr_cbc_encrypt(&state.aes, state.iv, out, in, len)
            : tr_ctr(&state.aes, state.iv, state.keystream, &state.used, out, in, len);
    return status == TR_OK ? OK : FAILED;
}

static number final(number session, uint8_t *out, number *out_len)
{
    (void)session;
    (void)out;
    *out_len = 0;
    return OK;
}

typedef void (*function)(void);
#define F(name) ((function)(name))

/* CK_FUNCTION_LIST, with only the functions that Java calls. */
static struct {
    struct version version;
    function functions[68];
} list = {
    .version = {2, 40},
    .functions =
        {
            [0] = F(nothing),        /* C_Initialize */
            [1] = F(nothing),        /* C_Finalize */
            [2] = F(library_info),   /* C_GetInfo */
            [4] = F(slots),          /* C_GetSlotList */
            [5] = F(slot_info),      /* C_GetSlotInfo */
            [6] = F(token_info),     /* C_GetTokenInfo */
            [7] = F(mechanisms),     /* C_GetMechanismList */
            [8] = F(mechanism_info), /* C_GetMechanismInfo */
            [12] = F(open_session),  /* C_OpenSession */
            [13] = F(nothing),       /* C_CloseSession */
            [14] = F(nothing),       /* C_CloseAllSessions */
            [20] = F(create),        /* C_CreateObject */
            [22] = F(nothing),       /* C_DestroyObject */
            [24] = F(attributes),    /* C_GetAttributeValue */
            [29] = F(init),          /* C_EncryptInit */
            [30] = F(encrypt),       /* C_Encrypt */
            [31] = F(update),        /* C_EncryptUpdate */
            [32] = F(final),         /* C_EncryptFinal */
            [33] = F(init),          /* C_DecryptInit */
            [34] = F(decrypt),       /* C_Decrypt */
        },
};

__attribute__((visibility("default"))) number C_GetFunctionList(void **found);
number C_GetFunctionList(void **found)
{
    *found = &list;
    return OK;
}
