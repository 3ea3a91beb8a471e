// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "container/cgroup.h"
#include "proc/permission.h"

#define GROUPS_MAX	  65536
#define OVERFLOW_UID	  65534 /* Source: user_namespaces(7): any user without a number here */
#define IPV6_PREFIX_BYTES 8	/* a host has a /64 for itself as a rule */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Source: include/uapi/asm-generic/socket.h of Linux 6.5 */
#endif

/* The first byte of a key, so that a user isn't taken for an address. */
enum key_kind { KEY_UNKNOWN, KEY_USER, KEY_ADDRESS, KEY_LOOPBACK };

static void set_key(struct peer *peer, enum key_kind kind, const void *data, size_t bytes)
{
	memset(peer->key, 0, sizeof(peer->key));
	peer->key[0] = (unsigned char)kind;
	if (bytes)
		memcpy(peer->key + 1, data, bytes);
}

/* Returns whether the number is that of one user. If we are in a user namespace, all users without
 * a number there look like OVERFLOW_UID. */
static bool has_number(uid_t uid)
{
	char text[128] = "";
	unsigned long inner, outer, count;
	size_t len = 0;

	if (uid != OVERFLOW_UID)
		return true;
	_cleanup_close_ int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || file_read_up_to(fd, text, sizeof(text) - 1, &len) < 0)
		return false;
	return sscanf(text, "%lu %lu %lu", &inner, &outer, &count) == 3 && inner <= uid &&
	       count > uid - inner;
}

/* ---- a Unix socket ---- */

static bool is_in_group(int fd, gid_t own, gid_t wanted)
{
	socklen_t bytes = GROUPS_MAX * sizeof(gid_t);
	_cleanup_free_ gid_t *groups = NULL;

	if (own == wanted)
		return true;
	groups = malloc(bytes);
	if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
		return false;
	for (size_t i = 0; i < bytes / sizeof(gid_t); i++) {
		if (groups[i] == wanted)
			return true;
	}
	return false;
}

/*
 * Returns whether the process that connected is in our user namespace: a sandbox has its user's
 * number but not its user's rights. False if the process is gone, since another process may have
 * its pid by now: a pidfd shows that (SO_PEERPIDFD, Linux 6.5).
 */
static bool is_in_our_namespace(int fd, pid_t pid)
{
	_cleanup_close_ int pidfd = -1, folder = -1;
	socklen_t bytes = sizeof(pidfd);
	char path[32];

	if (pid <= 0)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) < 0) {
		pidfd = -1;
		if (errno != ENOPROTOOPT)
			return false;
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	if (pidfd >= 0 && poll(&end, 1, 0) != 0)
		return false;
	return permission_same_namespace(folder);
}

static void find_unix(int fd, const struct peer_question *question, struct peer *peer)
{
	struct ucred ucred;
	socklen_t bytes = sizeof(ucred);

	peer->is_unix = true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &bytes) < 0 || ucred.uid == (uid_t)-1 ||
	    !has_number(ucred.uid))
		return;
	peer->is_contained = !is_in_our_namespace(fd, ucred.pid);
	if (peer->is_contained)
		return;
	peer->has_uid = true;
	peer->uid = ucred.uid;
	peer->gid = ucred.gid;
	peer->in_group = question->has_group && is_in_group(fd, ucred.gid, question->group);
}

/* ---- TCP ---- */

/* Turns an IPv4-mapped IPv6 address, as a socket for both has it, into an IPv4 address. */
static void unmap_ipv4(struct sockaddr_storage *name)
{
	const struct sockaddr_in6 v6 = *(struct sockaddr_in6 *)name;
	struct sockaddr_in *v4 = (struct sockaddr_in *)name;

	if (name->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return;
	*name = (struct sockaddr_storage){.ss_family = AF_INET};
	v4->sin_port = v6.sin6_port;
	memcpy(&v4->sin_addr, &v6.sin6_addr.s6_addr[12], sizeof(v4->sin_addr));
}

static bool is_loopback(const struct sockaddr_storage *name)
{
	if (name->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)name)->sin_addr.s_addr) >> 24 == 127;
	return name->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)name)->sin6_addr);
}

static void book_to_address(const struct sockaddr_storage *name, struct peer *peer)
{
	if (is_loopback(name)) /* whoever has one of the 16 million loopback addresses has all */
		set_key(peer, KEY_LOOPBACK, NULL, 0);
	else if (name->ss_family == AF_INET)
		set_key(peer, KEY_ADDRESS, &((const struct sockaddr_in *)name)->sin_addr,
			sizeof(struct in_addr));
	else if (name->ss_family == AF_INET6)
		set_key(peer, KEY_ADDRESS, &((const struct sockaddr_in6 *)name)->sin6_addr,
			IPV6_PREFIX_BYTES);
}

void peer_try(struct peer_means *ret)
{
	struct sock_owner own = {0};
	enum sock_way way = sock_diag_try(&own);

	*ret = (struct peer_means){way, cgroup_id_try(own.cgroup), own.cgroup};
}

/*
 * Returns whether a cgroup is, or may be, in another container than ours. If all cgroups can be
 * found and this one isn't, it was removed while its socket was open, as root in a container can do
 * with the container's cgroups. If only cgroups below ours can be found, another one may be a
 * container's or the host's. If none can be found, the answer is false.
 */
static bool is_foreign_container(const struct peer_means *means, uint64_t cgroup)
{
	_cleanup_free_ struct cgroups *own = NULL;
	struct container_place place;

	if (!cgroup)
		return means->sight == CGROUPS_BELOW;
	if (cgroup == means->own_cgroup)
		return false;
	if (cgroup_id_place(cgroup, &place) < 0)
		return means->sight != CGROUPS_UNSEEN;
	if (!place.id[0])
		return false;
	own = malloc(sizeof(*own));
	return !own || cgroups_read(getpid(), own) < 0 || strcmp(own->place.id, place.id) != 0;
}

static void find_tcp(int fd, const struct sockaddr_storage *theirs,
		     const struct sockaddr_storage *ours, const struct peer_question *question,
		     struct peer *peer)
{
	struct sock_owner owner;

	book_to_address(theirs, peer);
	if (!question->loopback_uid || !is_loopback(theirs) || !is_loopback(ours) ||
	    !sock_is_established(fd))
		return;
	/* As long as this end is connected, no other socket has the peer's addresses. */
	if (sock_diag_owner(question->means.way, theirs, ours, &owner) < 0 ||
	    !sock_is_established(fd) || !has_number(owner.uid))
		return;
	peer->is_contained = is_foreign_container(&question->means, owner.cgroup);
	peer->has_uid = !peer->is_contained;
	peer->uid = owner.uid;
}

void peer_find(int fd, const struct peer_question *question, struct peer *ret)
{
	struct sockaddr_storage theirs = {0}, ours = {0};
	socklen_t bytes = sizeof(theirs), our_bytes = sizeof(ours);

	*ret = (struct peer){.gid = GID_UNKNOWN};
	if (getsockname(fd, (struct sockaddr *)&ours, &our_bytes) < 0)
		return;
	if (ours.ss_family == AF_UNIX) {
		find_unix(fd, question, ret);
	} else if (getpeername(fd, (struct sockaddr *)&theirs, &bytes) == 0) {
		unmap_ipv4(&theirs);
		unmap_ipv4(&ours);
		find_tcp(fd, &theirs, &ours, question, ret);
	}
	if (ret->has_uid)
		set_key(ret, KEY_USER, &ret->uid, sizeof(ret->uid));
}
