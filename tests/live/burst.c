// SPDX-License-Identifier: GPL-2.0-only
/*
 * burst SECONDS: for so long bursts of getppid(2), as fast as they go, each followed by a nap of 2
 * ms; then prints how many calls of both it made, and how long the longest getppid took.
 */
#include "live.h"

int main(int argc, char **argv)
{
	uint64_t end, longest = 0;
	long calls = 0, naps = 0;

	if (argc < 2)
		return 2;
	end = now_ns() + (uint64_t)(atof(argv[1]) * NS_PER_S);
	while (now_ns() < end) {
		for (int i = 0; i < 5000; i++, calls++) {
			uint64_t t = now_ns();

			syscall(SYS_getppid);
			t = now_ns() - t;
			longest = t > longest ? t : longest;
		}
		nap(2000000);
		naps++;
	}
	printf("getppid %ld\nclock_nanosleep %ld\nlongest %llu\n", calls, naps,
	       (unsigned long long)longest);
	return 0;
}
