// SPDX-License-Identifier: BSD-2-Clause
// Sends records of one size by DTLS 1.2 over UDP on loopback, and receives them, in one process:
//
//   dtls SUITE SIZE RECORDS
//
// The server's certificate and key are rsa.pem and rsa.key.
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1400, MTU = 1500 };

static void demand(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "dtls: %s failed\n", what);
        ERR_print_errors_fp(stderr);
        exit(1);
    }
}

// Makes two UDP sockets that are connected to each other, at these addresses.
static void sockets(int ends[2], struct sockaddr_in at[2])
{
    for (int i = 0; i < 2; i++) {
        socklen_t size = sizeof at[i];
        at[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        ends[i] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        demand(!bind(ends[i], (struct sockaddr *)&at[i], size), "bind");
        demand(!getsockname(ends[i], (struct sockaddr *)&at[i], &size), "getsockname");
    }
    for (int i = 0; i < 2; i++)
        demand(!connect(ends[i], (struct sockaddr *)&at[1 - i], sizeof at[i]), "connect");
}

static SSL *end(const char *suite, int descriptor, const struct sockaddr_in *peer, int server)
{
    SSL_CTX *context = SSL_CTX_new(DTLS_method());
    demand(context && SSL_CTX_set_cipher_list(context, suite), "SSL_CTX_set_cipher_list");
    if (server)
        demand(SSL_CTX_use_certificate_file(context, "rsa.pem", SSL_FILETYPE_PEM) == 1 &&
                   SSL_CTX_use_PrivateKey_file(context, "rsa.key", SSL_FILETYPE_PEM) == 1,
               "the certificate");
    SSL *made = SSL_new(context);
    BIO *bio = BIO_new_dgram(descriptor, BIO_CLOSE);
    demand(made && bio, "SSL_new");
    BIO_ADDR *address = BIO_ADDR_new();
    BIO_ADDR_rawmake(address, AF_INET, &peer->sin_addr, sizeof peer->sin_addr, peer->sin_port);
    BIO_ctrl_set_connected(bio, address);
    BIO_ADDR_free(address);
    SSL_set_bio(made, bio, bio);
    SSL_set_options(made, SSL_OP_NO_QUERY_MTU);
    SSL_set_mtu(made, MTU);
    if (server)
        SSL_set_accept_state(made);
    else
        SSL_set_connect_state(made);
    SSL_CTX_free(context);
    return made;
}

// Shakes hands in one thread, then lets the sockets block.
static void connected(SSL *client, SSL *server, const int ends[2])
{
    struct pollfd either[2] = {{.fd = ends[0], .events = POLLIN},
                               {.fd = ends[1], .events = POLLIN}};
    while (SSL_do_handshake(client) != 1 || SSL_do_handshake(server) != 1) {
        SSL_do_handshake(server);
        demand(poll(either, 2, 10000) > 0, "the handshake");
    }
    for (int i = 0; i < 2; i++)
        demand(!fcntl(ends[i], F_SETFL, 0), "fcntl");
}

int main(int argc, char **argv)
{
    demand(argc == 4, "the number of words");
    const char *suite = argv[1];
    int size = atoi(argv[2]), records = atoi(argv[3]), ends[2];
    struct sockaddr_in at[2];
    unsigned char text[LONGEST], got[LONGEST];
    demand(size > 0 && size <= LONGEST, "SIZE");
    sockets(ends, at);
    SSL *client = end(suite, ends[0], &at[1], 0), *server = end(suite, ends[1], &at[0], 1);
    connected(client, server, ends);
    demand(!strcmp(SSL_get_cipher_name(client), suite), "the choice of the suite");
    memset(text, 0x5a, sizeof text);
    for (int count = 0; count < records; count++) {
        text[0] = count;
        demand(SSL_write(client, text, size) == size, "SSL_write");
        demand(SSL_read(server, got, sizeof got) == size && !memcmp(got, text, size), "SSL_read");
    }
    SSL_free(client);
    SSL_free(server);
    return 0;
}
