// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/sock_diag.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Source: include/net/tcp_states.h */
#define TCP_STATE_ESTABLISHED 1

#define ANSWER_BYTES	      4096
#define PROC_MAX	      (256 << 10) /* bytes of /proc/net/tcp: 1,700 sockets, some ms */
#define LINE_BYTES	      512

/* ---- by netlink ---- */

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 request;
};

static int put_address(const struct sockaddr_storage *name, __be16 *port, __be32 address[4])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)name;

	switch (name->ss_family) {
	case AF_INET:
		*port = v4->sin_port;
		memcpy(address, &v4->sin_addr, sizeof(v4->sin_addr));
		return 0;
	case AF_INET6:
		*port = v6->sin6_port;
		memcpy(address, &v6->sin6_addr, sizeof(v6->sin6_addr));
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}

static int send_question(int fd, const struct sockaddr_storage *theirs,
			 const struct sockaddr_storage *ours)
{
	struct question question = {
		.head = {.nlmsg_len = sizeof(question),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = (__u8)theirs->ss_family,
			    .sdiag_protocol = IPPROTO_TCP,
			    .idiag_states = 1u << TCP_STATE_ESTABLISHED,
			    .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
	};
	struct inet_diag_sockid *id = &question.request.id;
	int r = put_address(theirs, &id->idiag_sport, id->idiag_src);

	if (r == 0)
		r = put_address(ours, &id->idiag_dport, id->idiag_dst);
	if (r < 0)
		return r;
	return send(fd, &question, sizeof(question), MSG_DONTWAIT) == sizeof(question) ? 0 : -errno;
}

static uint64_t cgroup_of(const struct nlmsghdr *head)
{
	const struct inet_diag_msg *found = NLMSG_DATA(head);
	long left = (long)head->nlmsg_len - (long)NLMSG_LENGTH(sizeof(*found));
	uint64_t cgroup = 0;

	for (const struct rtattr *at = (const struct rtattr *)(found + 1); RTA_OK(at, left);
	     at = RTA_NEXT(at, left)) {
		if (at->rta_type == INET_DIAG_CGROUP_ID && RTA_PAYLOAD(at) >= sizeof(cgroup))
			memcpy(&cgroup, RTA_DATA(at), sizeof(cgroup));
	}
	return cgroup;
}

/* Returns whether the kernel found the connection: it answers with a listener if there is no
 * connection with these addresses. */
static bool is_it(const struct inet_diag_msg *found, const struct sockaddr_storage *theirs,
		  const struct sockaddr_storage *ours)
{
	__be32 from[4] = {0}, to[4] = {0};
	__be16 from_port = 0, to_port = 0;

	put_address(theirs, &from_port, from);
	put_address(ours, &to_port, to);
	return found->idiag_state == TCP_STATE_ESTABLISHED && found->idiag_inode != 0 &&
	       found->id.idiag_sport == from_port && found->id.idiag_dport == to_port;
}

static int by_netlink(const struct sockaddr_storage *theirs, const struct sockaddr_storage *ours,
		      struct sock_owner *ret)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr head;
		char bytes[ANSWER_BYTES];
	} answer;

	if (fd < 0)
		return -errno;
	int r = send_question(fd, theirs, ours);
	if (r < 0)
		return r;
	ssize_t n =
		recv(fd, &answer, sizeof(answer), MSG_DONTWAIT); /* the answer is there already */
	if (n < 0)
		return -errno;
	if (!NLMSG_OK(&answer.head, (size_t)n))
		return -EBADMSG;
	if (answer.head.nlmsg_type == NLMSG_ERROR &&
	    answer.head.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return ((struct nlmsgerr *)NLMSG_DATA(&answer.head))->error ?: -EBADMSG;
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
	if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(*found)))
		return -EBADMSG;
	if (!is_it(found, theirs, ours))
		return -ENOENT;
	*ret = (struct sock_owner){.uid = found->idiag_uid, .cgroup = cgroup_of(&answer.head)};
	return 0;
}

/* ---- by /proc/net/tcp ---- */

/* Writes an address as in /proc/net/tcp (proc(5)): each 32-bit word as a number in the processor's
 * byte order. */
static void write_address(char *to, size_t bytes, const struct sockaddr_storage *name)
{
	__be32 address[4] = {0};
	__be16 port = 0;
	size_t len = 0;

	put_address(name, &port, address);
	for (int i = 0; i < (name->ss_family == AF_INET ? 1 : 4); i++)
		len += (size_t)snprintf(to + len, bytes - len, "%08X", address[i]);
	snprintf(to + len, bytes - len, ":%04X", ntohs(port));
}

/* Returns whether a line is that of the socket, and stores the socket's owner. */
static bool take_line(const char *line, const char *theirs, const char *ours,
		      struct sock_owner *ret)
{
	char local[48], remote[48];
	unsigned state, uid;
	unsigned long inode;

	if (sscanf(line, " %*u: %47s %47s %x %*x:%*x %*x:%*x %*x %u %*d %lu", local, remote, &state,
		   &uid, &inode) != 5)
		return false;
	if (strcmp(local, theirs) != 0 || strcmp(remote, ours) != 0 ||
	    state != TCP_STATE_ESTABLISHED || !inode)
		return false;
	*ret = (struct sock_owner){.uid = uid};
	return true;
}

static int look_up(const char *path, const struct sockaddr_storage *theirs,
		   const struct sockaddr_storage *ours, struct sock_owner *ret)
{
	char from[48], to[48], line[LINE_BYTES];
	FILE *file = fopen(path, "re");
	int r = -ENOENT;
	size_t bytes = 0;

	if (!file)
		return -errno;
	write_address(from, sizeof(from), theirs);
	write_address(to, sizeof(to), ours);
	while (r == -ENOENT && fgets(line, sizeof(line), file)) {
		bytes += strlen(line);
		if (take_line(line, from, to, ret))
			r = 0;
		else if (bytes > PROC_MAX)
			r = -EFBIG;
	}
	fclose(file);
	return r;
}

/* Returns an IPv4 address as an IPv4-mapped IPv6 address. */
static struct sockaddr_storage map_to_ipv6(const struct sockaddr_storage *name)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;
	struct sockaddr_storage to = {.ss_family = AF_INET6};
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&to;

	v6->sin6_port = v4->sin_port;
	v6->sin6_addr.s6_addr[10] = v6->sin6_addr.s6_addr[11] = 0xff;
	memcpy(&v6->sin6_addr.s6_addr[12], &v4->sin_addr, sizeof(v4->sin_addr));
	return to;
}

static int by_proc(const struct sockaddr_storage *theirs, const struct sockaddr_storage *ours,
		   struct sock_owner *ret)
{
	if (theirs->ss_family != AF_INET)
		return look_up("/proc/net/tcp6", theirs, ours, ret);
	int r = look_up("/proc/net/tcp", theirs, ours, ret);
	if (r != -ENOENT)
		return r;
	const struct sockaddr_storage from = map_to_ipv6(theirs), to = map_to_ipv6(ours);
	return look_up("/proc/net/tcp6", &from, &to, ret);
}

int sock_diag_owner(enum sock_way way, const struct sockaddr_storage *theirs,
		    const struct sockaddr_storage *ours, struct sock_owner *ret)
{
	switch (way) {
	case SOCK_BY_NETLINK:
		return by_netlink(theirs, ours, ret);
	case SOCK_BY_PROC:
		return by_proc(theirs, ours, ret);
	default:
		return -EOPNOTSUPP;
	}
}

/* Makes a loopback connection and stores the addresses of its two ends. */
static int connect_to_itself(int listener, int client, struct sockaddr_storage *client_name,
			     struct sockaddr_storage *server_name)
{
	struct sockaddr_in loopback = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(*server_name), client_bytes = sizeof(*client_name);

	if (listener < 0 || client < 0 ||
	    bind(listener, (struct sockaddr *)&loopback, sizeof(loopback)) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)server_name, &bytes) < 0 ||
	    connect(client, (struct sockaddr *)server_name, bytes) < 0 ||
	    getsockname(client, (struct sockaddr *)client_name, &client_bytes) < 0)
		return -errno;
	return 0;
}

enum sock_way sock_diag_try(struct sock_owner *ret)
{
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage ours = {0}, theirs = {0};

	if (connect_to_itself(listener, client, &theirs, &ours) < 0)
		return SOCK_UNTOLD;
	for (enum sock_way way = SOCK_BY_NETLINK; way < SOCK_UNTOLD; way++) {
		if (sock_diag_owner(way, &theirs, &ours, ret) == 0)
			return way;
	}
	return SOCK_UNTOLD;
}

bool sock_is_established(int fd)
{
	struct tcp_info info = {0};
	socklen_t bytes = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
	       info.tcpi_state == TCP_STATE_ESTABLISHED;
}
