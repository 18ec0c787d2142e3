// SPDX-License-Identifier: GPL-2.0-only
/*
 * The HTTP side of `utilbpf serve`, on libmicrohttpd, in one thread and one loop.
 *
 * A scrape ends the window, so that its figures are of now; scrapes that come close together share
 * one window and one rendered text, so that the cost does not grow with their number. Nobody is
 * trusted: connections are few, requests small, and each has a fixed time from the first byte to
 * the last. It must not know how figures come about or what they look like.
 */
#include <errno.h>
#include <malloc.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "confine.h"
#include "listen.h"
#include "out_openmetrics.h"
#include "serve.h"

#define NS_PER_S 1000000000ULL

#define MAX_CONNECTIONS	  128
#define MAX_REQUEST_BYTES 8192 /* line and headers */
#define REQUEST_NS	  (10 * NS_PER_S)

/* Windows are at least this long, and long enough that they cost a 20th of a CPU at most. */
#define MIN_WINDOW_NS (200 * 1000000ULL)
#define COST_SHARE    20
/* And at most this, scraped or not: what has ended within a window takes memory until it is over.
 */
#define MAX_WINDOW_NS (10 * NS_PER_S)

struct client {
	struct MHD_Connection *conn; /* NULL: free */
	uint64_t deadline;	     /* ns, CLOCK_MONOTONIC; 0: cut off already */
};

struct serve {
	struct sockaddr_storage addr;
	char where[LISTEN_TEXT_LEN];
	int fd; /* -1 once it is the daemon's */
	struct MHD_Daemon *daemon;
	const struct engine_ops *ops;
	struct engine *e;
	struct metrics *metrics;
	struct names *names;
	struct client clients[MAX_CONNECTIONS];
	struct MHD_Response *texts[METRICS_OPENMETRICS + 1]; /* of the last window, as rendered */
	uint64_t rolled;				     /* when the last window ended, ns */
	uint64_t cost;					     /* of ending and rendering it, ns */
	uint64_t poll_ns; /* after so long the engine wants to be looked after */
	int error;	  /* -errno of the last one, 0 */
};

/* ---- windows ---- */

/* CPU time of the one thread: on a busy machine, waiting for a CPU is no cost of ours. */
static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return timespec_ns(&ts);
}

static void forget_texts(struct serve *s)
{
	for (int i = 0; i <= METRICS_OPENMETRICS; i++) {
		/* those who are being answered hold on to it */
		if (s->texts[i])
			MHD_destroy_response(s->texts[i]);
		s->texts[i] = NULL;
	}
}

static void roll(struct serve *s)
{
	struct report r = {0};
	uint64_t begin = cpu_ns();

	s->error = s->ops->roll(s->e, clock_ns(), &r);
	if (!s->error) {
		metrics__add(s->metrics, &r, s->names);
		forget_texts(s);
	}
	report__free(&r);
	/* A window in which very many tasks ended was large: not for ever. */
	malloc_trim(0);
	s->rolled = clock_ns();
	s->cost = cpu_ns() - begin;
}

/* How old figures may be before a scrape gets new ones. */
static uint64_t fresh_for(const struct serve *s)
{
	uint64_t ns = COST_SHARE * s->cost;

	if (ns < MIN_WINDOW_NS)
		return MIN_WINDOW_NS;
	return ns < MAX_WINDOW_NS ? ns : MAX_WINDOW_NS;
}

static struct MHD_Response *text_of(struct serve *s, enum metrics_format format)
{
	struct MHD_Response *r;
	uint64_t begin;
	size_t len;
	char *text;

	if (s->texts[format])
		return s->texts[format];
	begin = cpu_ns();
	text = metrics__text(s->metrics, format, &len);
	if (!text)
		return NULL;
	r = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(text);
		return NULL;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, metrics__content_type(format));
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	s->texts[format] = r;
	s->cost += cpu_ns() - begin;
	return r;
}

/* ---- answers ---- */

/* A line of plain text. */
static enum MHD_Result say(struct MHD_Connection *conn, unsigned int status, const char *text)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	done = MHD_queue_response(conn, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result say_error(struct MHD_Connection *conn, int err)
{
	char text[128];

	snprintf(text, sizeof(text), "cannot read the accounts: %s\n", strerror(-err));
	return say(conn, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result give_metrics(struct serve *s, struct MHD_Connection *conn)
{
	enum metrics_format format = metrics__negotiate(
		MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	struct MHD_Response *r;

	if (!s->rolled || clock_ns() - s->rolled >= fresh_for(s))
		roll(s);
	if (s->error)
		return say_error(conn, s->error);
	r = text_of(s, format);
	if (!r)
		return say_error(conn, -ENOMEM);
	metrics__shown(s->metrics);
	return MHD_queue_response(conn, MHD_HTTP_OK, r);
}

static enum MHD_Result give_health(const struct serve *s, struct MHD_Connection *conn)
{
	return s->error ? say_error(conn, s->error) : say(conn, MHD_HTTP_OK, "ok\n");
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_len, void **state)
{
	struct serve *s = ctx;

	(void)version, (void)upload, (void)upload_len, (void)state;
	/* Answered at once: a body that may follow is never read. */
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return say(conn, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!strcmp(url, "/metrics"))
		return give_metrics(s, conn);
	if (!strcmp(url, "/healthz"))
		return give_health(s, conn);
	return say(conn, MHD_HTTP_NOT_FOUND, "utilbpf: see /metrics and /healthz\n");
}

/* ---- clients ---- */

static void client_changed(void *ctx, struct MHD_Connection *conn, void **socket_ctx,
			   enum MHD_ConnectionNotificationCode code)
{
	struct serve *s = ctx;
	struct client *c = *socket_ctx;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c)
			*c = (struct client){0};
		return;
	}
	for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
		if (s->clients[i].conn)
			continue;
		s->clients[i] = (struct client){conn, clock_ns() + REQUEST_NS};
		*socket_ctx = &s->clients[i];
		return;
	}
}

/*
 * MHD's own timeout begins anew with each byte, so who sends or takes one byte now and then would
 * stay for ever. A socket that is shut down ends its connection in MHD at once.
 */
static void cut_slow(struct serve *s, uint64_t now)
{
	for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
		const union MHD_ConnectionInfo *info;
		struct client *c = &s->clients[i];

		if (!c->conn || !c->deadline || now < c->deadline)
			continue;
		c->deadline = 0;
		info = MHD_get_connection_info(c->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
	}
}

/* ---- the loop ---- */

static int start_daemon(struct serve *s)
{
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, answer, s, MHD_OPTION_LISTEN_SOCKET, s->fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MAX_REQUEST_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)(REQUEST_NS / NS_PER_S),
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, client_changed, s,
		MHD_OPTION_END);
	if (!s->daemon)
		return errno ? -errno : -EINVAL;
	s->fd = -1;
	return 0;
}

/* Until something is to do: at most until the engine wants to be looked after. */
static int wait_ms(struct serve *s)
{
	int ms = (int)(s->poll_ns / 1000000);
	MHD_UNSIGNED_LONG_LONG mhd;

	if (MHD_get_timeout(s->daemon, &mhd) == MHD_YES && mhd < (unsigned int)ms)
		ms = (int)mhd;
	return ms;
}

static void loop(struct serve *s, int sigfd)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {{.fd = sigfd, .events = POLLIN},
			       {.fd = info ? info->epoll_fd : -1, .events = POLLIN}};
	struct signalfd_siginfo si;
	uint64_t now, polled = 0;

	for (;;) {
		poll(fds, 2, wait_ms(s));
		if (fds[0].revents && read(sigfd, &si, sizeof(si)) == sizeof(si))
			return;
		MHD_run(s->daemon);
		now = clock_ns();
		if (now - polled < s->poll_ns)
			continue;
		polled = now;
		cut_slow(s, now);
		s->poll_ns = s->ops->poll(s->e);
		if (now - s->rolled >= MAX_WINDOW_NS)
			roll(s);
	}
}

int serve__open(struct serve **out, const char *addr, struct metrics *metrics, struct names *names,
		char *why, size_t len)
{
	struct serve *s = calloc(1, sizeof(*s));
	socklen_t addr_len;

	*out = NULL;
	if (!s) {
		snprintf(why, len, "cannot serve: out of memory");
		return -ENOMEM;
	}
	if (!listen__parse(addr, &s->addr, &addr_len)) {
		snprintf(why, len, "cannot listen: no such address");
		free(s);
		return -EINVAL;
	}
	s->metrics = metrics;
	s->names = names;
	s->fd = listen__open(&s->addr, addr_len);
	if (s->fd < 0) {
		int err = s->fd;

		snprintf(why, len, "cannot listen at %s: %s; give another place with --listen",
			 listen__text(&s->addr, s->where), strerror(-err));
		free(s);
		return err;
	}
	listen__text(&s->addr, s->where);
	*out = s;
	return 0;
}

const char *serve__where(const struct serve *s)
{
	return s->where;
}

/* What docker calls its containers only root can read: those of later containers stay short ids. */
static void name_container(void *ctx, uint64_t id, const char *path)
{
	names__group_container(ctx, id, path);
}

int serve__run(struct serve *s, const struct engine_ops *ops, struct engine *e, int sigfd,
	       char *why, size_t len)
{
	int err;

	s->ops = ops;
	s->e = e;
	s->rolled = ops->start(e);
	err = start_daemon(s);
	if (err) {
		snprintf(why, len, "cannot start the HTTP server: %s", strerror(-err));
		return err;
	}
	names__cgroup_each(s->names, name_container, s->names);
	err = confine__privileges(why, len);
	if (!err)
		err = confine__syscalls(why, len);
	if (err)
		return err;
	/* Nothing to show yet would be no answer, and what cannot work shall fail now. */
	roll(s);
	if (s->error) {
		snprintf(why, len, "cannot read the accounts: %s", strerror(-s->error));
		return s->error;
	}
	fprintf(stderr, "utilbpf: serving http://%s/metrics\n", s->where);
	loop(s, sigfd);
	return 0;
}

void serve__close(struct serve *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->fd >= 0)
		close(s->fd);
	forget_texts(s);
	free(s);
}
