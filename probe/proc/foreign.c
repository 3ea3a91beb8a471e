// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/cleanup.h"

#define TRIES_MAX 3 /* to open a path while somebody renames a folder (EAGAIN) */

/* Magic numbers that linux/magic.h lacks; their sources in Linux 6.12. */
#define BCACHEFS_MAGIC	 0xca451a4e /* fs/bcachefs/bcachefs_format.h */
#define CONFIGFS_MAGIC	 0x62656570 /* fs/configfs/mount.c */
#define FUNCTIONFS_MAGIC 0x0a647361 /* drivers/usb/gadget/function/f_fs.c */
#define FUSECTL_MAGIC	 0x65735543 /* fs/fuse/control.c */
#define GADGETFS_MAGIC	 0xaee71ee7 /* drivers/usb/gadget/legacy/inode.c */
#define MQUEUE_MAGIC	 0x19800202 /* ipc/mqueue.c */
#define NFSD_MAGIC	 0x6e667364 /* fs/nfsd/nfsctl.c */
#define PIDFS_MAGIC	 0x50494446 /* include/uapi/linux/magic.h of 6.12 */
#define RPCPIPEFS_MAGIC	 0x67596969 /* net/sunrpc/rpc_pipe.c */
#define ZFS_MAGIC	 0x2fc12fc1 /* OpenZFS's include/sys/fs/zfs.h */

/* File systems that the kernel makes up. Only 32 bits of f_type are compared: where f_type is a
 * signed word of 32 bits, the upper bits are its sign. */
static const uint32_t kernels_own[] = {
	PROC_SUPER_MAGIC,     SYSFS_MAGIC,	    DEBUGFS_MAGIC,	  TRACEFS_MAGIC,
	SECURITYFS_MAGIC,     PSTOREFS_MAGIC,	    BPF_FS_MAGIC,	  EFIVARFS_MAGIC,
	CGROUP_SUPER_MAGIC,   CGROUP2_SUPER_MAGIC,  SELINUX_MAGIC,	  SMACK_MAGIC,
	AAFS_MAGIC,	      BINFMTFS_MAGIC,	    BINDERFS_SUPER_MAGIC, DEVPTS_SUPER_MAGIC,
	RDTGROUP_SUPER_MAGIC, OPENPROM_SUPER_MAGIC, XENFS_SUPER_MAGIC,	  USBDEVICE_SUPER_MAGIC,
	NSFS_MAGIC,	      PIDFS_MAGIC,	    ANON_INODE_FS_MAGIC,  DMA_BUF_MAGIC,
	CONFIGFS_MAGIC,	      FUNCTIONFS_MAGIC,	    FUSECTL_MAGIC,	  GADGETFS_MAGIC,
	MQUEUE_MAGIC,	      NFSD_MAGIC,	    RPCPIPEFS_MAGIC,
};

/* Returns -ENODEV for a file system that the kernel makes up. A file system on a block device is
 * none and isn't asked: statfs() of NFS asks the server. Neither is one without an answer: a FUSE
 * server may lack statfs. */
static int check_file_system(int found, const struct stat *stat)
{
	struct statfs system;

	if (major(stat->st_dev) != 0)
		return 0;
	if (fstatfs(found, &system) < 0)
		return errno == ENOSYS ? 0 : -errno;
	for (size_t i = 0; i < ARRAY_SIZE(kernels_own); i++) {
		if ((uint32_t)system.f_type == kernels_own[i])
			return -ENODEV;
	}
	return 0;
}

static bool has_owner(const struct foreign_rules *rules, uid_t uid)
{
	for (size_t i = 0; i < rules->owners_count; i++) {
		if (rules->owners[i] == uid)
			return true;
	}
	return !rules->owners;
}

int foreign_check(int found, const struct foreign_rules *rules, struct stat *stat)
{
	struct stat own;

	if (!stat)
		stat = &own;
	if (fstat(found, stat) < 0)
		return -errno;
	if (S_ISLNK(stat->st_mode))
		return -ELOOP;
	if (!S_ISREG(stat->st_mode))
		return -EINVAL;
	int r = check_file_system(found, stat);
	if (r < 0)
		return r;
	if (!has_owner(rules, stat->st_uid))
		return -EPERM;
	if (stat->st_size < 0 || (uint64_t)stat->st_size < rules->bytes_min)
		return -ENODATA;
	return rules->bytes_max && (uint64_t)stat->st_size > rules->bytes_max ? -EFBIG : 0;
}

/* Opens the very file of an O_PATH descriptor, by our own /proc. */
static int reopen_file(int found)
{
	char link[32] = "/proc/self/fd/", digits[12];
	size_t at = strlen(link), count = 0;

	do {
		digits[count++] = (char)('0' + found % 10);
		found /= 10;
	} while (found);
	while (count)
		link[at++] = digits[--count];
	link[at] = '\0';
	int fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int foreign_open_found(int found, const struct foreign_rules *rules, struct stat *stat)
{
	int r = foreign_check(found, rules, stat);

	return r < 0 ? r : reopen_file(found);
}

int foreign_find(const struct foreign *foreign)
{
	static const uint64_t resolve[] = {
		[FOREIGN_IN_ROOT] = RESOLVE_IN_ROOT,
		[FOREIGN_LAST_FILE] = RESOLVE_IN_ROOT,
		[FOREIGN_NO_LINKS] = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = resolve[foreign->links] | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int here = -1;
	int root_fd = foreign->root_fd;
	long fd = -1;

	if (foreign->links != FOREIGN_IN_ROOT)
		how.flags |= O_NOFOLLOW;
	if (root_fd < 0)
		root_fd = here = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	for (int i = 0; i < TRIES_MAX; i++) {
		fd = syscall(SYS_openat2, root_fd, foreign->path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

int foreign_open(const struct foreign *foreign, struct stat *stat)
{
	_cleanup_close_ int found = foreign_find(foreign);

	return found < 0 ? found : foreign_open_found(found, &foreign->rules, stat);
}

bool foreign_tells_owner(int fd, const struct stat *stat)
{
	/* File systems on disks or in memory whose st_dev isn't a block device. */
	static const uint32_t ours[] = {BTRFS_SUPER_MAGIC, BCACHEFS_MAGIC, ZFS_MAGIC, TMPFS_MAGIC};
	struct statfs system;

	if (major(stat->st_dev) != 0)
		return true;
	if (fd < 0 || fstatfs(fd, &system) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		if ((uint32_t)system.f_type == ours[i])
			return true;
	}
	return false;
}
