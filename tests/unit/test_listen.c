// SPDX-License-Identifier: GPL-2.0-only
/* Addresses to listen at: what is one, what is none, and that a socket listens where it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/listen.h"

static void test_addresses(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} cases[] = {
		{LISTEN_DEFAULT, LISTEN_DEFAULT},
		{"0.0.0.0:0", "0.0.0.0:0"},
		{"localhost:65535", "127.0.0.1:65535"},
		{"[::1]:9435", "[::1]:9435"},
		{"[::]:00080", "[::]:80"},
		{"[fe80::1%eth0]:1", NULL},
		{"", NULL},
		{":", NULL},
		{":9435", NULL},
		{"9435", NULL},
		{"127.0.0.1", NULL},
		{"127.0.0.1:", NULL},
		{"127.0.0.1:65536", NULL},
		{"127.0.0.1:99999", NULL},
		{"127.0.0.1:100000", NULL},
		{"127.0.0.1:-1", NULL},
		{"127.0.0.1:+1", NULL},
		{"127.0.0.1: 1", NULL},
		{"127.0.0.1:1 ", NULL},
		{"127.0.0.1:0x1", NULL},
		{"127.1:80", NULL},
		{"256.0.0.1:80", NULL},
		{"::1:9435", NULL},
		{"[::1]", NULL},
		{"[]:1", NULL},
		{"[127.0.0.1]:1", NULL},
		{"example.com:80", NULL},
		{"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1", NULL},
	};
	struct sockaddr_storage addr;
	char text[LISTEN_TEXT_LEN];
	socklen_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ok = listen__parse(cases[i].in, &addr, &len);

		if (ok != (cases[i].out != NULL))
			fail_msg("'%s' was %s", cases[i].in, ok ? "taken" : "refused");
		if (ok)
			assert_string_equal(listen__text(&addr, text), cases[i].out);
	}
}

static void test_sockets(void **state)
{
	struct sockaddr_storage addr, again;
	char text[LISTEN_TEXT_LEN];
	socklen_t len;
	int fd, fd2;

	(void)state;
	assert_true(listen__parse("127.0.0.1:0", &addr, &len));
	fd = listen__open(&addr, len);
	assert_true(fd >= 0);
	assert_string_not_equal(listen__text(&addr, text), "127.0.0.1:0");
	again = addr;
	assert_true(listen__open(&again, len) < 0); /* taken */
	fd2 = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd2 >= 0);
	assert_int_equal(connect(fd2, (struct sockaddr *)&addr, len), 0);
	close(fd2);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
