// SPDX-License-Identifier: BSD-2-Clause
// Sends and receives RTP packets of one payload size through libsrtp, as each end of a call does:
//
//   srtp POLICY PAYLOAD PACKETS
//
// POLICY is cm (AES-128-CM, HMAC-SHA1-80: RFC 3711) or gcm-128 or gcm-256 (RFC 7714).
#include <arpa/inet.h>
#include <srtp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 12, LONGEST = 1500 };

static void demand(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "srtp: %s failed\n", what);
        exit(1);
    }
}

static void choose(srtp_crypto_policy_t *policy, const char *name)
{
    if (!strcmp(name, "cm"))
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(policy);
    else if (!strcmp(name, "gcm-128"))
        srtp_crypto_policy_set_aes_gcm_128_16_auth(policy);
    else if (!strcmp(name, "gcm-256"))
        srtp_crypto_policy_set_aes_gcm_256_16_auth(policy);
    else
        demand(0, "POLICY");
}

static srtp_t session(const char *name, srtp_ssrc_type_t direction)
{
    static unsigned char key[SRTP_MAX_KEY_LEN] = "the same test key at both ends, with its salt";
    srtp_policy_t policy = {.ssrc.type = direction, .key = key};
    srtp_t made;
    choose(&policy.rtp, name);
    choose(&policy.rtcp, name);
    demand(!srtp_create(&made, &policy), "srtp_create");
    return made;
}

int main(int argc, char **argv)
{
    demand(argc == 4, "the number of words");
    int payload = atoi(argv[2]), packets = atoi(argv[3]);
    unsigned char packet[HEADER + LONGEST + SRTP_MAX_TRAILER_LEN] = {0x80}, text[LONGEST];
    demand(payload > 0 && payload <= LONGEST, "PAYLOAD");
    demand(!srtp_init(), "srtp_init");
    srtp_t sender = session(argv[1], ssrc_any_outbound),
           receiver = session(argv[1], ssrc_any_inbound);
    memset(text, 0x5a, sizeof text);
    for (int at = 0; at < packets; at++) {
        uint16_t sequence = htons(at);
        int length = HEADER + payload;
        memcpy(packet + 2, &sequence, sizeof sequence);
        memcpy(packet + HEADER, text, payload);
        demand(!srtp_protect(sender, packet, &length) && length > HEADER + payload, "srtp_protect");
        demand(memcmp(packet + HEADER, text, payload), "encryption");
        demand(!srtp_unprotect(receiver, packet, &length) && length == HEADER + payload,
               "srtp_unprotect");
        demand(!memcmp(packet + HEADER, text, payload), "decryption");
    }
    srtp_dealloc(sender);
    srtp_dealloc(receiver);
    return srtp_shutdown();
}
