// SPDX-License-Identifier: GPL-2.0-only
/* The files of /proc as the fuzzer has them; a task can choose its own name. */
#include <stdlib.h>
#include <string.h>

#include "procseed.h"

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t len)
{
	char *buf = malloc(len ? len : 1); /* not terminated, and not a byte longer */
	const char *path = NULL;
	struct proc_stat st;
	size_t n;

	memcpy(buf, in, len);
	if (!proc__parse_stat(buf, len, &st) && (!st.tid || st.cpu > INT32_MAX))
		abort();
	proc__parse_syscall(buf, len);
	proc__parse_uid(buf, len);
	n = proc__parse_cgroup(buf, len, &path);
	if (n && (path < buf || path + n > buf + len || *path != '/'))
		abort();
	free(buf);
	return 0;
}
