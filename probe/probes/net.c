// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe net: bytes that were sent and received through sockets, segments that TCP sent again,
 * and waits for descriptors, by the stack that made the call. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "bpf/shared/net_parts.h"
#include "kernel/tracer_part.h"
#include "net.skel.h"
#include "probes/io_numbers.h"
#include "probes/probe_needs.h"
#include "profile/view.h"
#include "select/param.h"

#define NO_LENGTHS                                                                                 \
	"bytes are those of system calls, for this kernel's sockets tell no lengths; "             \
	"what io_uring moves is not seen"
#define NO_FIRST_SENDER                                                                            \
	"segments of an accepted connection that are sent again in its first send are not seen"
#define NO_SENDERS "segments that are sent again are not seen"

struct net_params {
	int64_t wait; /* count the waits for descriptors as well */
};
PARAMS_FIT(struct net_params);

static const struct param params[] = {
	{"net_wait", PARAM_NUMBER_OF(struct net_params, wait), .max = 1,
	 .help = "1: the time in poll, select and epoll is counted as well (`view=wait`). Each "
		 "system call on the host costs some 0.3 us more then"},
	{0},
};

struct wait_number {
	uint16_t number;
	uint8_t call; /* enum net_wait */
};

static const struct wait_number calls[] = {
#ifdef SYS_poll
	{SYS_poll, NET_WAIT_POLL},
#endif
#ifdef SYS_select
	{SYS_select, NET_WAIT_SELECT},
#endif
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, NET_WAIT_EPOLL},
#endif
	{SYS_ppoll, NET_WAIT_POLL},
	{SYS_pselect6, NET_WAIT_SELECT},
	{SYS_epoll_pwait, NET_WAIT_EPOLL},
	{441, NET_WAIT_EPOLL}, /* epoll_pwait2, of all processors */
};

/* Numbers of 32-bit code. Source: arch/x86/entry/syscalls/syscall_32.tbl,
 * arch/arm/tools/syscall.tbl
 */
static const struct wait_number narrow_calls[] = {
	{142, NET_WAIT_SELECT}, /* _newselect */
	{168, NET_WAIT_POLL},
#ifdef __x86_64__
	{256, NET_WAIT_EPOLL},	{308, NET_WAIT_SELECT}, /* pselect6 */
	{309, NET_WAIT_POLL},				/* ppoll */
	{319, NET_WAIT_EPOLL},				/* epoll_pwait */
#else
	{252, NET_WAIT_EPOLL},	{335, NET_WAIT_SELECT}, /* pselect6 */
	{336, NET_WAIT_POLL},				/* ppoll */
	{346, NET_WAIT_EPOLL},				/* epoll_pwait */
#endif
	{413, NET_WAIT_SELECT}, /* pselect6_time64 */
	{414, NET_WAIT_POLL},	/* ppoll_time64 */
	{441, NET_WAIT_EPOLL},
};

/* clang-format off */
#define PARTS_OF(direction, frame)                                                                 \
	[NET_PART(direction, NET_TCP)] = {{frame, "[tcp]"}},                                       \
	[NET_PART(direction, NET_UDP)] = {{frame, "[udp]"}},                                       \
	[NET_PART(direction, NET_UNIX)] = {{frame, "[unix]"}},                                     \
	[NET_PART(direction, NET_OTHER)] = {{frame, "[other]"}}

/* Kinds of descriptors: bits of NET_WAITS_…, in the order sockets, pipes, ttys, others. */
#define KINDS_OF(part, call, more, is_more)                                                        \
	[part(1 + (is_more))] = {{"[" call ": sockets" more "]"}},                                 \
	[part(2 + (is_more))] = {{"[" call ": pipes" more "]"}},                                   \
	[part(3 + (is_more))] = {{"[" call ": sockets, pipes" more "]"}},                          \
	[part(4 + (is_more))] = {{"[" call ": ttys" more "]"}},                                    \
	[part(5 + (is_more))] = {{"[" call ": sockets, ttys" more "]"}},                           \
	[part(6 + (is_more))] = {{"[" call ": pipes, ttys" more "]"}},                             \
	[part(7 + (is_more))] = {{"[" call ": sockets, pipes, ttys" more "]"}},                    \
	[part(8 + (is_more))] = {{"[" call ": others" more "]"}},                                  \
	[part(9 + (is_more))] = {{"[" call ": sockets, others" more "]"}},                         \
	[part(10 + (is_more))] = {{"[" call ": pipes, others" more "]"}},                          \
	[part(11 + (is_more))] = {{"[" call ": sockets, pipes, others" more "]"}},                 \
	[part(12 + (is_more))] = {{"[" call ": ttys, others" more "]"}},                           \
	[part(13 + (is_more))] = {{"[" call ": sockets, ttys, others" more "]"}},                  \
	[part(14 + (is_more))] = {{"[" call ": pipes, ttys, others" more "]"}},                    \
	[part(15 + (is_more))] = {{"[" call ": sockets, pipes, ttys, others" more "]"}}

#define WAITS_OF(part, call)                                                                       \
	[part(0)] = {{"[" call ": no descriptors]"}},                                              \
	[part(NET_WAITS_MORE)] = {{"[" call ": unknown]"}},                                        \
	KINDS_OF(part, call, "", 0),                                                               \
	KINDS_OF(part, call, ", more", NET_WAITS_MORE)

#define EPOLL(number, digits) [NET_PART_EPOLL(number)] = {{"[epoll: fd " digits "]"}}
#define EPOLLS_OF_5(first, tens, a, b, c, d, e)                                                    \
	EPOLL(first, tens a), EPOLL((first) + 1, tens b), EPOLL((first) + 2, tens c),              \
	EPOLL((first) + 3, tens d), EPOLL((first) + 4, tens e)
#define EPOLLS_OF_10(first, tens)                                                                  \
	EPOLLS_OF_5(first, tens, "0", "1", "2", "3", "4"),                                         \
	EPOLLS_OF_5((first) + 5, tens, "5", "6", "7", "8", "9")
#define EPOLLS_OF_50(first, a, b, c, d, e)                                                         \
	EPOLLS_OF_10(first, a), EPOLLS_OF_10((first) + 10, b), EPOLLS_OF_10((first) + 20, c),      \
	EPOLLS_OF_10((first) + 30, d), EPOLLS_OF_10((first) + 40, e)
/* clang-format on */

static const struct part_row parts[] = {
	PARTS_OF(NET_SEND, "[send]"),
	PARTS_OF(NET_RECEIVE, "[receive]"),
	[NET_PART_RETRANSMITTED] = {{"[retransmit]"}},
	WAITS_OF(NET_PART_POLL, "poll"),
	WAITS_OF(NET_PART_SELECT, "select"),
	EPOLLS_OF_50(0, "", "1", "2", "3", "4"),
	EPOLLS_OF_50(50, "5", "6", "7", "8", "9"),
	EPOLLS_OF_50(100, "10", "11", "12", "13", "14"),
	EPOLLS_OF_50(150, "15", "16", "17", "18", "19"),
	EPOLLS_OF_50(200, "20", "21", "22", "23", "24"),
	EPOLLS_OF_5(250, "25", "0", "1", "2", "3", "4"),
	[NET_PART_EPOLL(NET_EPOLLS - 1)] = {{"[epoll: fd 255 or above]"}},
};

static const struct pprof_shape waited = {
	.values = {{"waits", "count", PPROF_EVENTS},
		   {"net_wait", "nanoseconds", PPROF_WEIGHT, 1000}},
	.period_type = "",
	.period_unit = "",
};

static const struct view_row views[VIEWS] = {
	[VIEW_ALL] = {.name = "bytes"},
	[VIEW_SECOND] = {.name = "wait",
			 .folder = "net-wait",
			 .title = "Waits for Descriptors",
			 .count_name = "us",
			 .event_name = "waits",
			 .event_title = "Waits for Descriptors, Times",
			 .pprof = &waited},
};

static void fill_calls(const volatile uint8_t to[NET_CALLS_MAX], const struct wait_number *rows,
		       size_t count)
{
	uint8_t *table = (uint8_t *)(uintptr_t)to; /* constant from the load on */

	for (size_t i = 0; i < count; i++)
		table[rows[i].number] = rows[i].call;
}

/* Has programs on retransmissions loaded, where the kernel has what they need. */
static void choose_senders(struct net_bpf *bpf, const struct ktypes *types)
{
	bool stored = types->has_socket_lengths; /* newer than storage in sockets */
	bool kept = types->retransmit_args && (stored || types->has_socket_ends);

	bpf_program__set_autoload(bpf->progs.on_retransmission, kept);
	bpf_program__set_autoload(bpf->progs.begin_connection, kept && types->has_socket_states);
	bpf_program__set_autoload(bpf->progs.begin_send, kept && stored && types->has_send_begin);
	bpf_program__set_autoload(bpf->progs.end_socket, kept && !stored);
	bpf_map__set_autocreate(bpf->maps.senders, stored);
	bpf_map__set_autocreate(bpf->maps.senders_by_address, !stored);
	bpf->rodata->has_socket_storage = stored;
	bpf->rodata->has_retransmit_error = types->retransmit_args >= 3;
	bpf->rodata->keeps_senders = kept;
}

/* Has only those programs loaded whose hooks the kernel has; waits are attached later. */
static void choose_hooks(struct net_bpf *bpf, const struct ktypes *types)
{
	bpf_program__set_autoload(bpf->progs.end_send, types->has_socket_lengths);
	bpf_program__set_autoload(bpf->progs.end_receive, types->has_socket_lengths);
	bpf_program__set_autoload(bpf->progs.end_call, !types->has_socket_lengths);
	choose_senders(bpf, types);
	bpf_program__set_autoattach(bpf->progs.begin_wait, false);
	bpf_program__set_autoattach(bpf->progs.end_wait, false);
	bpf_program__set_autoattach(bpf->progs.end_thread, false);
}

static struct net_bpf *open_net(const struct load_from *from)
{
	struct net_bpf *bpf = tracer_open(from->tracer, net);

	if (!bpf)
		return NULL;
	tracer_set_stacks(bpf);
	io_numbers_fill(bpf->rodata->io_calls, bpf->rodata->io_narrow_calls);
	fill_calls(bpf->rodata->net_calls, calls, ARRAY_SIZE(calls));
	fill_calls(bpf->rodata->net_narrow_calls, narrow_calls, ARRAY_SIZE(narrow_calls));
	choose_hooks(bpf, tracer_ktypes(from->tracer));
	return bpf;
}

OWN_OBJECT(net)

/* Attaches what only waits need, or detaches it. */
static int set_waits(struct net_bpf *bpf, bool wanted, struct why *why)
{
	int r = 0;

	if (!wanted) {
		link_detach(&bpf->links.begin_wait);
		link_detach(&bpf->links.end_wait);
		link_detach(&bpf->links.end_thread);
		return 0;
	}
	r = link_attach(&bpf->links.end_thread, bpf->progs.end_thread);
	if (r == 0)
		r = link_attach(&bpf->links.end_wait, bpf->progs.end_wait);
	if (r == 0)
		r = link_attach(&bpf->links.begin_wait, bpf->progs.begin_wait);
	if (r < 0)
		tracer_explain(why, r, "the begin of system calls can't be seen");
	return r;
}

static int start_sockets(struct probe_run *run, struct why *why)
{
	const struct net_params *wanted = run->settings;
	int r = 0;

	if (!run->own)
		r = tracer_load_own(run->tracer, &loadable_net, &run->own,
				    "the programs on sockets can't be loaded", why);
	return r < 0 ? r : set_waits(tracer_own_bpf(run->own), wanted->wait, why);
}

static void stop_sockets(struct probe_run *run)
{
	tracer_unload(&run->own);
}

static const char *sockets_limit(const struct ktypes *types)
{
	if (!types->has_socket_lengths && types->retransmit_args && types->has_socket_ends)
		return NO_LENGTHS "; " NO_FIRST_SENDER;
	if (!types->has_socket_lengths)
		return NO_LENGTHS "; " NO_SENDERS;
	if (!types->retransmit_args)
		return NO_SENDERS;
	return types->has_send_begin ? "" : NO_FIRST_SENDER;
}

const struct kind probe_net = {
	.name = "net",
	.title = "Network",
	.count_name = "bytes",
	.for_users = true,
	.counts_empty = true,
	.second_unit = 1000, /* ns */
	.second_apart = true,
	.event_name = "messages",
	.event_title = "Messages",
	.pprof = {.values = {{"messages", "count", PPROF_EVENTS}, {"net", "bytes", PPROF_WEIGHT}},
		  .period_type = "",
		  .period_unit = ""},
	.upload = {"net", "stackprobe-net", ".bytes", "bytes", 100},
	.deepflow = 4,
	.views = views,
	.params = params,
	PARTS(parts),
	.needs = {NEEDS_PROGRAMS, {CAN_TYPED_TRACEPOINT}, NEEDS_DATA, NEEDS_FILE_NAMES},
	.loads = net_loads,
	.start = start_sockets,
	.stop = stop_sockets,
	.limit = sockets_limit,
};
