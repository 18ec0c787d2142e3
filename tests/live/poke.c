// SPDX-License-Identifier: GPL-2.0-only
/*
 * poke PATH OFFSET [VALUE]: prints a 32-bit word of the first value of a pinned, mappable array,
 * and sets it.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <sys/mman.h>

#include "live.h"

int main(int argc, char **argv)
{
	union bpf_attr attr = {0};
	unsigned long offset;
	volatile uint32_t *p;
	int fd;

	if (argc < 3)
		return 2;
	attr.pathname = (uintptr_t)argv[1];
	fd = syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	if (fd < 0)
		die(argv[1]);
	offset = strtoul(argv[2], NULL, 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || offset > 4092)
		die("mmap");
	printf("%u\n", p[offset / 4]);
	if (argc > 3)
		p[offset / 4] = strtoul(argv[3], NULL, 0);
	return 0;
}
