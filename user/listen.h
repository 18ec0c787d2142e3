/* SPDX-License-Identifier: GPL-2.0-only */
/* Where to listen: ADDR:PORT as text, as an address and as a socket. Knows no protocol. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define LISTEN_DEFAULT	"127.0.0.1:9435"
#define LISTEN_TEXT_LEN 80

/*
 * "127.0.0.1:9435", "[::1]:9435" or "localhost:9435": numbers, so that no name server is asked.
 * Port 0 lets the kernel choose. False: it is none.
 */
bool listen__parse(const char *s, struct sockaddr_storage *addr, socklen_t *len);

/* The same as text. */
const char *listen__text(const struct sockaddr_storage *addr, char buf[LISTEN_TEXT_LEN]);

/* A non-blocking socket that listens there, or -errno. *addr becomes what the kernel has chosen. */
int listen__open(struct sockaddr_storage *addr, socklen_t len);

#endif /* LISTEN_H */
