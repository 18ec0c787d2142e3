/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of the classes, said once: X(enum suffix, name). A JSON key is the name and "_ns".
 *
 * The lists stand in the order of enum acct_class. They know nothing of how a class is shown.
 */
#ifndef CLASSES_H
#define CLASSES_H

#define ONCPU_CLASSES(X)                                                                           \
	X(USER, "user")                                                                            \
	X(SYS, "sys")                                                                              \
	X(IRQ, "irq")                                                                              \
	X(SOFTIRQ, "softirq")                                                                      \
	X(HV, "hv")                                                                                \
	X(BUSY, "busy")

#define OFFCPU_CLASSES(X)                                                                          \
	X(WAIT, "wait")                                                                            \
	X(SLEEP, "sleep")                                                                          \
	X(BLOCKED, "blocked")                                                                      \
	X(IOWAIT, "iowait")                                                                        \
	X(STOPPED, "stopped")

#define IDLE_CLASS(X) X(IDLE, "idle")

#endif /* CLASSES_H */
