/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kind a socket is of; and the socket behind a descriptor of the current process. */
#pragma once

#include "bpf/io/descriptor.h"
#include "bpf/shared/net_parts.h"

/* include/linux/socket.h, include/linux/net.h, include/uapi/linux/in.h */
#define AF_UNIX	    1
#define AF_INET	    2
#define AF_INET6    10
#define SOCK_STREAM 1
#define SOCK_DGRAM  2
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

/* The first part of struct sock. */
struct sock_common {
	unsigned short skc_family;
} RELOCATED;

struct sock {
	unsigned short sk_type;
	unsigned short sk_protocol;
} RELOCATED;

struct socket {
	struct sock *sk;
} RELOCATED;

struct file___socket {
	struct socket *private_data;
} RELOCATED;

static __always_inline enum net_kind kind_by(uint32_t family, uint32_t type, uint32_t protocol)
{
	if (family == AF_UNIX)
		return NET_UNIX;
	if (family != AF_INET && family != AF_INET6)
		return NET_OTHER;
	if (type == SOCK_STREAM && protocol == IPPROTO_TCP)
		return NET_TCP;
	return type == SOCK_DGRAM && protocol == IPPROTO_UDP ? NET_UDP : NET_OTHER;
}

/* Returns the kind of a socket that a typed tracepoint has as an argument. */
static __always_inline enum net_kind socket_kind(const struct sock *sock)
{
	return kind_by(((const struct sock_common *)sock)->skc_family, sock->sk_type,
		       sock->sk_protocol);
}

/* Returns the socket behind a descriptor; NULL: it is none. Its fields are to be read. */
static __always_inline struct sock *descriptor_socket(uint64_t descriptor)
{
	struct file___any *file = descriptor_file(descriptor);

	if (file_kind(file) != IO_SOCKET)
		return NULL;
	return BPF_CORE_READ((struct file___socket *)file, private_data, sk);
}

/* Returns the kind of such a socket. */
static __always_inline enum net_kind socket_kind_read(const struct sock *sock)
{
	return kind_by(BPF_CORE_READ((const struct sock_common *)sock, skc_family),
		       BPF_CORE_READ(sock, sk_type), BPF_CORE_READ(sock, sk_protocol));
}
