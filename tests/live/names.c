// SPDX-License-Identifier: GPL-2.0-only
/* names: children with names that no terminal and no parser should meet; "HEX pid" for each. */
#include "live.h"

int main(void)
{
	static const char *const names[] = {
		"\033[31mred\033[0m",
		"a\"b'c,d",
		"new\nline\r",
		"\xff\xfe\xc3(",
		"tab\tbell\a",
		"back\\slash\\n",
		"\xc2\x9b"
		"csi",
		"=1+2|x",
		"\xe2\x80\xae"
		"rtl",
		"a b  c ",
		"\xf0\x9f\x98\x80"
		"ok",
		"%s%n%x",
		"\x7f"
		"del",
		"\xed\xa0\x80",
		"</script>&",
	};
	const int n = sizeof(names) / sizeof(names[0]);
	pid_t pids[sizeof(names) / sizeof(names[0])];
	char c;

	for (int i = 0; i < n; i++) {
		pids[i] = spawn();
		if (!pids[i]) {
			close(0);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, names[i]);
			for (;;)
				nap(10000000);
		}
		for (const char *p = names[i]; *p; p++)
			printf("%02x", (unsigned char)*p);
		printf(" %d\n", pids[i]);
	}
	nap(50000000);
	puts("ready 0");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		wait_for(pids[i]);
	}
	return 0;
}
