// SPDX-License-Identifier: GPL-2.0-only
/*
 * The small sums and names that everyone who reads a report shares.
 *
 * It owns what "on-CPU", "off-CPU" and util% mean. It must not know engines, formats or who
 * fills a report.
 */
#include "classes.h"
#include "report.h"

uint64_t report__oncpu(const uint64_t ns[AC_NR])
{
	uint64_t sum = 0;

	for (int i = AC_USER; i <= AC_BUSY; i++)
		sum += ns[i];
	return sum;
}

uint64_t report__offcpu(const uint64_t ns[AC_NR])
{
	uint64_t sum = 0;

	for (int i = AC_WAIT; i <= AC_STOPPED; i++)
		sum += ns[i];
	return sum;
}

double report__util(const uint64_t ns[AC_NR])
{
	double on = (double)report__oncpu(ns), all = on + (double)report__offcpu(ns);

	return all > 0 ? 100 * on / all : 0;
}

#define NAME(id, name) [AC_##id] = name,
#define KEY(id, name)  [AC_##id] = name "_ns",

const char *report__class_name(enum acct_class cls)
{
	static const char *const names[AC_NR] = {ONCPU_CLASSES(NAME) OFFCPU_CLASSES(NAME)
							 IDLE_CLASS(NAME)};

	return (unsigned int)cls < AC_NR ? names[cls] : "none";
}

const char *report__class_key(enum acct_class cls)
{
	static const char *const keys[AC_NR] = {ONCPU_CLASSES(KEY) OFFCPU_CLASSES(KEY)
							IDLE_CLASS(KEY)};

	return (unsigned int)cls < AC_NR ? keys[cls] : "none_ns";
}
