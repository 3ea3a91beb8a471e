// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/vdso.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define VDSO_MAX 65536

/* Returns our own one, which lies in our memory as in every 64-bit process's; NULL: there is none.
 * *bytes: its length, the end of its section table, which every linker puts last. */
static const uint8_t *find_own(size_t *bytes)
{
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR); // NOLINT

	if (image)
		*bytes = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	return (const uint8_t *)image;
}

static int write_own(int fd)
{
	size_t bytes;
	const uint8_t *own = find_own(&bytes);

	if (!own)
		return -ENOENT;
	if (bytes > VDSO_MAX)
		return -EBADMSG;
	return write(fd, own, bytes) == (ssize_t)bytes ? 0 : -EIO;
}

#ifdef __x86_64__

#define ARCH_MAP_VDSO_32 0x2002
#define PAGE		 4096
#define PLACE		 0x10000000UL /* where the kernel is asked to map it */
#define DATA_PAGES_MAX	 32	      /* of the kernel's clocks, right before the code */

/* What the child ends with. */
enum { MAPPED_DONE, MAPPED_NONE, MAPPED_FAILED };

/*
 * Has the kernel map the 32-bit vDSO, and writes it. The kernel does so for a process that has no
 * vDSO (any more), nor a page of its data, which lies right before it. For a child of a process
 * with threads: only system calls. Returns the exit status.
 */
static int write_mapped(int fd)
{
	const uint8_t *place = (const uint8_t *)PLACE; // NOLINT
	size_t own_bytes = 0;
	uint8_t *own = (uint8_t *)find_own(&own_bytes);
	long bytes = -1;
	char head[SELFMAG];

	if (own)
		munmap(own, own_bytes);
	for (int i = 1; i <= DATA_PAGES_MAX && bytes < 0; i++) {
		bytes = syscall(SYS_arch_prctl, ARCH_MAP_VDSO_32, PLACE);
		if (bytes < 0 && (errno != EEXIST || !own))
			return errno == EINVAL ? MAPPED_NONE : MAPPED_FAILED;
		if (bytes < 0) /* fails as long as a mapping would be cut in two */
			munmap(own - (size_t)i * PAGE, (size_t)i * PAGE);
	}
	/* (A page of data may not be readable, which write() survives.) */
	for (int i = 0; bytes > 0 && i < DATA_PAGES_MAX; i++, place += PAGE) {
		if (pwrite(fd, place, (size_t)bytes, 0) == bytes &&
		    pread(fd, head, sizeof(head), 0) == sizeof(head) &&
		    memcmp(head, ELFMAG, SELFMAG) == 0)
			return MAPPED_DONE;
	}
	return MAPPED_FAILED;
}

static int write_narrow(int fd)
{
	pid_t child = fork();
	Elf32_Ehdr header;
	int status;

	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(write_mapped(fd));
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != MAPPED_DONE)
		return WIFEXITED(status) && WEXITSTATUS(status) == MAPPED_NONE ? -ENOENT : -EIO;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_ident[EI_CLASS] != ELFCLASS32)
		return -EBADMSG;
	return 0;
}

#else

static int write_narrow(int fd)
{
	(void)fd;
	return -ENOENT;
}

#endif

int vdso_open(bool narrow)
{
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	int r = narrow ? write_narrow(fd) : write_own(fd);
	return r < 0 ? r : TAKE_FD(fd);
}
