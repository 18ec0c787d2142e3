// SPDX-License-Identifier: GPL-2.0-only
/*
 * abis N: N rounds of 32-bit system calls from 64-bit code, which only x86 can: one with rcx and
 * r11 as the `syscall` instruction before it has left them, one whose rcx is the address that comes
 * after it. Before and after each come 64-bit ones. Elsewhere it exits with status 3.
 */
#include "live.h"

#ifdef __x86_64__
#define GETPID_32 20 /* arch/x86/entry/syscalls/syscall_32.tbl */

static void round_of_calls(void)
{
	long ret = SYS_getppid;

	__asm__ volatile("syscall\n\t"
			 "mov %[nr], %%eax\n\t"
			 "int $0x80"
			 : "+a"(ret)
			 : [nr] "i"(GETPID_32)
			 : "rcx", "r11", "memory");
	if (ret != getpid())
		die("int $0x80");
	__asm__ volatile("lea 1f(%%rip), %%rcx\n\t"
			 "xor %%r11d, %%r11d\n\t"
			 "mov %[nr], %%eax\n\t"
			 "int $0x80\n"
			 "1:"
			 : "=a"(ret)
			 : [nr] "i"(GETPID_32)
			 : "rcx", "r11", "memory");
	if (ret != getpid())
		die("int $0x80");
}
#endif

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
#ifdef __x86_64__
	for (long i = atol(argv[1]); i; i--)
		round_of_calls();
	return 0;
#else
	(void)argv;
	return 3;
#endif
}
