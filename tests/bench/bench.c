// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loads that run.py measures with. Each prints its result in ns, one number per line.
 *
 *   bench syscall_loop CPU SECONDS   least ns per getppid(2)
 *   bench pipe_pair CPU SECONDS      least ns per write(2) + read(2) of a byte, in its own pipe
 *   bench pingpong CPU SECONDS       least ns per switch: two processes, two pipes, one CPU
 *   bench fork_exit CPU SECONDS      least ns per fork, exit and wait of a child that does nothing
 *   bench packets CPU SECONDS        least ns per datagram over loopback: a softirq each
 *   bench kinds:N CPU SECONDS        least ns per call, N different system calls in turn
 *   bench messages CPU SECONDS       ns per message, least of whole rounds: 10 senders to each of
 * 10 receivers over socket pairs; on all CPUs bench web CPU SECONDS            ns per request,
 * least of whole rounds: a connection each, over loopback, a small answer; server and client on any
 * CPU bench threads N                  N sleeping threads, 500 a process, until stdin is closed
 *
 * "Least" is over many short batches, each well under a timer tick: what disturbs a batch only ever
 * adds to it.
 */
#include <errno.h>
#include <pthread.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH	    200 /* calls */
#define ROUNDS	    50	/* there and back */
#define PER_PROCESS 500
#define STACK_BYTES 65536

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

struct pipes {
	int to[2], from[2];
};

static void getppids(struct pipes *p)
{
	(void)p;
	for (int i = 0; i < BATCH; i++)
		syscall(SYS_getppid);
}

static void pairs(struct pipes *p)
{
	char c = 0;

	for (int i = 0; i < BATCH; i++)
		if (write(p->to[1], &c, 1) != 1 || read(p->to[0], &c, 1) != 1)
			die("pipe");
}

static void rounds(struct pipes *p)
{
	char c = 0;

	for (int i = 0; i < ROUNDS; i++)
		if (write(p->to[1], &c, 1) != 1 || read(p->from[0], &c, 1) != 1)
			die("pipe");
}

#define FORKS 4

static void forks(struct pipes *p)
{
	(void)p;
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = vfork();

		if (!pid)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			die("vfork");
	}
}

#define PACKETS 32

/* p->to: a connected pair of UDP sockets. */
static void packets(struct pipes *p)
{
	char c[64] = {0};

	for (int i = 0; i < PACKETS; i++)
		if (write(p->to[1], c, sizeof(c)) != sizeof(c) ||
		    read(p->to[0], c, sizeof(c)) != sizeof(c))
			die("loopback");
}

static int loopback(int type, struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, type, 0);

	*at = (struct sockaddr_in){.sin_family = AF_INET};
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof(*at)) ||
	    getsockname(fd, (struct sockaddr *)at, &len))
		die("socket");
	return fd;
}

static void udp_pair(struct pipes *p)
{
	struct sockaddr_in at;

	p->to[0] = loopback(SOCK_DGRAM, &at);
	p->to[1] = socket(AF_INET, SOCK_DGRAM, 0);
	if (p->to[1] < 0 || connect(p->to[1], (struct sockaddr *)&at, sizeof(at)))
		die("connect");
}

#define KIND_FIRST  1000 /* numbers that stand for no call: each fails at once */
#define KINDS_BATCH 1000
static int nr_kinds;

static void kinds(struct pipes *p)
{
	(void)p;
	for (int i = 0; i < KINDS_BATCH / nr_kinds * nr_kinds; i++)
		syscall(KIND_FIRST + i % nr_kinds);
}

/* ---- whole workloads: each batch is a round ---- */

#define PEERS	 10
#define MESSAGES 40 /* of each sender to each receiver */

static void send_all(int (*to)[2])
{
	char c[100] = {0};

	for (int m = 0; m < MESSAGES; m++)
		for (int i = 0; i < PEERS; i++)
			if (write(to[i][1], c, sizeof(c)) != sizeof(c))
				die("write");
	_exit(0);
}

static void receive_all(int fd)
{
	char c[100];

	for (int m = 0; m < MESSAGES * PEERS; m++)
		if (recv(fd, c, sizeof(c), MSG_WAITALL) != sizeof(c))
			die("recv");
	_exit(0);
}

static void messages(struct pipes *p)
{
	int s[PEERS][2];

	(void)p;
	for (int i = 0; i < PEERS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, s[i]))
			die("socketpair");
	for (int i = 0; i < 2 * PEERS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid && i < PEERS)
			receive_all(s[i][0]);
		if (!pid)
			send_all(s);
	}
	for (int i = 0; i < PEERS; i++) {
		close(s[i][0]);
		close(s[i][1]);
	}
	while (wait(NULL) > 0)
		;
}

#define REQUESTS 200

static void serve(int fd)
{
	static const char answer[1024] = "HTTP/1.0 200 OK\r\n\r\n";
	char buf[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int c = accept(fd, NULL, NULL);

		if (c < 0 || read(c, buf, sizeof(buf)) <= 0 ||
		    write(c, answer, sizeof(answer)) != sizeof(answer))
			die("server");
		close(c);
	}
}

/* p->to[0]: the server's port. */
static void requests(struct pipes *p)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = p->to[0]};
	char buf[2048];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < REQUESTS; i++) {
		int c = socket(AF_INET, SOCK_STREAM, 0);

		if (c < 0 || connect(c, (struct sockaddr *)&at, sizeof(at)) ||
		    write(c, "GET / HTTP/1.0\r\n\r\n", 18) != 18)
			die("client");
		while (read(c, buf, sizeof(buf)) > 0)
			;
		close(c);
	}
}

static void start_server(struct pipes *p)
{
	struct sockaddr_in at;
	int fd = loopback(SOCK_STREAM, &at);
	pid_t pid;

	if (listen(fd, 128))
		die("listen");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		serve(fd);
	p->to[0] = at.sin_port;
}

static uint64_t least(void (*batch)(struct pipes *), struct pipes *p, double seconds)
{
	uint64_t stop = now_ns() + (uint64_t)(seconds * 1e9), best = UINT64_MAX, t, d;

	do {
		t = now_ns();
		batch(p);
		d = now_ns() - t;
		best = d < best ? d : best;
	} while (t + d < stop);
	return best;
}

/* The other side: sends back what it gets, until the pipe ends. */
static void echo(struct pipes *p)
{
	char c;

	close(p->to[1]);
	while (read(p->to[0], &c, 1) == 1)
		if (write(p->from[1], &c, 1) != 1)
			break;
	_exit(0);
}

static double pingpong(struct pipes *p, double seconds)
{
	pid_t pid = fork();
	uint64_t best;

	if (pid < 0)
		die("fork");
	if (!pid)
		echo(p);
	best = least(rounds, p, seconds);
	close(p->to[1]);
	waitpid(pid, NULL, 0);
	return (double)best / ROUNDS / 2; /* there and back: two switches */
}

/* ---- threads ---- */

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void start_threads(int n)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 0; i < n; i++) {
		errno = pthread_create(&t, &attr, sleeper, NULL);
		if (errno)
			die("pthread_create");
	}
}

/* A process of n threads, itself among them; says "." when all are there and ends with its parent.
 */
static void one_process(int n, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	start_threads(n - 1);
	if (write(ready, ".", 1) != 1)
		die("write");
	sleeper(NULL);
}

static int threads(int n)
{
	int ready[2], started = 0;
	char buf[64];
	ssize_t got;

	if (pipe(ready))
		die("pipe");
	for (int left = n - 1; left > 0; left -= PER_PROCESS) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			close(ready[0]);
			one_process(left < PER_PROCESS ? left : PER_PROCESS, ready[1]);
		}
		started++;
	}
	close(ready[1]);
	while (started > 0 && (got = read(ready[0], buf, sizeof(buf))) > 0)
		started -= got;
	printf("%d\n", n);
	fflush(stdout);
	while (read(STDIN_FILENO, buf, sizeof(buf)) > 0)
		;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}

static int usage(void)
{
	fputs("usage: bench LOAD CPU SECONDS | threads N; the head of bench.c names the loads\n",
	      stderr);
	return 2;
}

static const struct load {
	const char *name;
	void (*batch)(struct pipes *);
	int per_batch;
	void (*prepare)(struct pipes *);
	bool all_cpus;
} loads[] = {
	{"syscall_loop", getppids, BATCH, NULL, false},
	{"pipe_pair", pairs, BATCH, NULL, false},
	{"fork_exit", forks, FORKS, NULL, false},
	{"packets", packets, PACKETS, udp_pair, false},
	{"messages", messages, PEERS *PEERS *MESSAGES, NULL, true},
	{"web", requests, REQUESTS, start_server, true},
};

static double run(const struct load *l, struct pipes *p, int cpu, double seconds)
{
	if (!l->all_cpus)
		pin(cpu);
	if (l->prepare)
		l->prepare(p);
	return (double)least(l->batch, p, seconds) / l->per_batch;
}

static double run_kinds(int n, struct pipes *p, int cpu, double seconds)
{
	struct load l = {"kinds", kinds, KINDS_BATCH / n * n, NULL, false};

	nr_kinds = n;
	return run(&l, p, cpu, seconds);
}

static double run_named(const char *name, struct pipes *p, int cpu, double seconds)
{
	if (!strcmp(name, "pingpong")) {
		pin(cpu);
		return pingpong(p, seconds);
	}
	if (!strncmp(name, "kinds:", 6) && atoi(name + 6) > 0 && atoi(name + 6) <= KINDS_BATCH)
		return run_kinds(atoi(name + 6), p, cpu, seconds);
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		if (!strcmp(name, loads[i].name))
			return run(&loads[i], p, cpu, seconds);
	return 0;
}

int main(int argc, char **argv)
{
	struct pipes p;
	double ns;

	if (argc == 3 && !strcmp(argv[1], "threads")) {
		setpgid(0, 0);
		return threads(atoi(argv[2]));
	}
	if (argc != 4)
		return usage();
	if (pipe(p.to) || pipe(p.from))
		die("pipe");
	ns = run_named(argv[1], &p, atoi(argv[2]), atof(argv[3]));
	if (!ns)
		return usage();
	printf("%.2f\n", ns);
	return 0;
}
