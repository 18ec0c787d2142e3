// SPDX-License-Identifier: GPL-2.0-only
/* See listen.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "listen.h"

#define BACKLOG 128

/* 0 to 65535, digits only. */
static bool parse_port(const char *s, in_port_t *port)
{
	unsigned int v = 0;

	if (!*s || strlen(s) > 5)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = 10 * v + (unsigned int)(*s - '0');
	}
	*port = htons(v);
	return v <= UINT16_MAX;
}

bool listen__parse(const char *s, struct sockaddr_storage *addr, socklen_t *len)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *v4 = (struct sockaddr_in *)addr;
	const char *colon = strrchr(s, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t n;

	if (!colon || (size_t)(colon - s) >= sizeof(host))
		return false;
	n = colon - s;
	memcpy(host, s, n);
	host[n] = '\0';
	memset(addr, 0, sizeof(*addr));
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		v6->sin6_family = AF_INET6;
		*len = sizeof(*v6);
		return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1 &&
		       parse_port(colon + 1, &v6->sin6_port);
	}
	v4->sin_family = AF_INET;
	*len = sizeof(*v4);
	return inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &v4->sin_addr) ==
		       1 &&
	       parse_port(colon + 1, &v4->sin_port);
}

const char *listen__text(const struct sockaddr_storage *addr, char buf[LISTEN_TEXT_LEN])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	char host[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(buf, LISTEN_TEXT_LEN, "[%s]:%u", host, ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(buf, LISTEN_TEXT_LEN, "%s:%u", host, ntohs(v4->sin_port));
	}
	return buf;
}

int listen__open(struct sockaddr_storage *addr, socklen_t len)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, err;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)addr, len) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)addr, &len)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}
