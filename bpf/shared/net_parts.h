/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a stack of the probe net (bpf/net.bpf.c, probe/probes/net.c), and the system calls that
 * wait for descriptors. The daemon fills in which number is which call.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

enum net_direction { NET_SEND, NET_RECEIVE };

enum net_kind { NET_TCP, NET_UDP, NET_UNIX, NET_OTHER, NET_KINDS };

/* The part of bytes that went that way, through such a socket. */
#define NET_PART(direction, kind) (1 + (direction)*NET_KINDS + (kind))
#define NET_PART_RETRANSMITTED	  9

/* How a call that waits tells its descriptors. */
enum net_wait {
	NET_WAIT_NONE, /* the call doesn't wait for descriptors */
	NET_WAIT_POLL, /* the first argument: an array of struct pollfd; the second one: how many */
	NET_WAIT_SELECT, /* how many bits; three sets of bits */
	NET_WAIT_EPOLL,	 /* the first argument is the descriptor of an epoll instance */
};

#define NET_CALLS_MAX 512 /* numbers of system calls */

/* Kinds of the descriptors that are waited for, as bits. */
#define NET_WAITS_SOCKETS 1U
#define NET_WAITS_PIPES	  2U
#define NET_WAITS_TTYS	  4U
#define NET_WAITS_OTHERS  8U
/* There are more than were looked at; alone: none could be looked at. */
#define NET_WAITS_MORE	16U
#define NET_WAITS_COUNT 32U

/* Descriptors that are looked at: of a call of poll; of a word of select's sets, and the words. */
#define NET_LOOKS      32
#define NET_WORD_LOOKS 16
#define NET_WORDS      16

/* The parts of a wait: by the kinds of descriptors, or by the number of an epoll instance. */
#define NET_PART_POLL(kinds)   (16 + (kinds))
#define NET_PART_SELECT(kinds) (16 + NET_WAITS_COUNT + (kinds))
#define NET_EPOLLS	       256 /* the last number stands for all higher ones */
#define NET_PART_EPOLL(number) (16 + 2 * NET_WAITS_COUNT + (number))
