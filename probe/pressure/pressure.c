// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's trigger isn't believed blindly. Without CAP_SYS_RESOURCE its first window begins at
 * the sum that privileged triggers have counted, mostly 0 (kernel/sched/psi.c,
 * psi_trigger_create()): so it fires at the first stall, however short, and perhaps twice more, as
 * each window adds a share of the one before. So the sum is looked at as well:
 *
 *	looking --nothing odd for LOOKING_WINDOWS--> relying on the kernel
 *	relying --fires, and the sum has grown by less than the stall--> looking, again
 *
 * While the sum is looked at each second, that alone decides. A trigger that is relied on fires at
 * the first stall after a while without one, so what the sum has grown by is all of that window.
 */
#include "pressure/pressure.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "pressure/pressure_file.h"
#include "pressure/pressure_total.h"

#define LOOKING_WINDOWS 3

struct pressure {
	struct loop *loop;
	struct pressure_wish wish;
	int fd;			  /* -1: it has ended */
	struct loop_watch kernel; /* of the kernel's trigger; fd -1: there is none */
	struct loop_timer look;
	uint64_t look_until_ns; /* then the kernel's trigger is relied on */
	struct pressure_total total;
	struct why why; /* why the kernel doesn't tell */
};

static void stop_waiting(struct pressure *pressure)
{
	if (pressure->kernel.fd >= 0) {
		loop_unwatch(pressure->loop, &pressure->kernel);
		close(TAKE_FD(pressure->kernel.fd));
	}
	loop_timer_cancel(pressure->loop, &pressure->look);
	if (pressure->fd >= 0)
		close(TAKE_FD(pressure->fd));
}

static void end_waiting(struct pressure *pressure, int error, const struct why *why)
{
	stop_waiting(pressure);
	pressure->wish.ended(pressure->wish.arg, error, why);
}

static void look_later(struct pressure *pressure)
{
	uint64_t window_ns = pressure->total.window_ns;

	loop_timer_set(pressure->loop, &pressure->look,
		       loop_now_ns() + (window_ns < NS_PER_S ? window_ns : NS_PER_S));
}

/* Looks at the sum each second from now on, for a while if there is the kernel's trigger. */
static void begin_looking(struct pressure *pressure)
{
	pressure->look_until_ns =
		loop_now_ns() + LOOKING_WINDOWS * pressure->total.window_ns + NS_PER_S;
	if (!pressure->look.active)
		look_later(pressure);
}

/* Tells that tasks were stalled. What was told counts no more. */
static void tell_risen(struct pressure *pressure, uint64_t total_us)
{
	const struct pressure_text *text = &pressure->wish.text;

	pressure_total_begin(&pressure->total, text->stall_us, text->window_us);
	pressure_total_add(&pressure->total, loop_now_ns(), total_us);
	pressure->wish.risen(pressure->wish.arg);
}

static void time_to_look(void *arg)
{
	struct pressure *pressure = arg;
	struct why why;
	uint64_t total_us;
	int r = pressure_file_read(pressure->fd, &pressure->wish.text, &total_us, &why);

	if (r < 0) {
		end_waiting(pressure, r, &why);
		return;
	}
	if (pressure->kernel.fd < 0 || loop_now_ns() < pressure->look_until_ns)
		look_later(pressure);
	if (pressure_total_add(&pressure->total, loop_now_ns(), total_us))
		tell_risen(pressure, total_us);
}

/* Called when the kernel's trigger fired, or its cgroup was removed. */
static void on_kernel(void *arg)
{
	struct pressure *pressure = arg;
	struct pollfd now = {.fd = pressure->kernel.fd, .events = POLLPRI};
	struct why why;
	uint64_t total_us;
	bool has_gone = poll(&now, 1, 0) > 0 && now.revents & POLLERR;
	int r = pressure_file_read(pressure->fd, &pressure->wish.text, &total_us, &why);

	if (r == 0 && has_gone) {
		why_set(&why, "the kernel's trigger has ended");
		r = -EIO;
	}
	if (r < 0) {
		end_waiting(pressure, r, &why);
		return;
	}
	bool relies = !pressure->look.active;
	uint64_t grown_us = pressure_total_growth(&pressure->total, total_us);
	if (pressure_total_add(&pressure->total, loop_now_ns(), total_us) ||
	    (relies && grown_us >= pressure->total.stall_us))
		tell_risen(pressure, total_us);
	else
		begin_looking(pressure);
}

/* Arms the kernel's trigger if that is allowed, and has the sum looked at. */
static void arm_pressure(struct pressure *pressure, uint64_t total_us)
{
	const struct pressure_text *text = &pressure->wish.text;
	int fd = pressure_file_arm(text, &pressure->why);

	pressure->kernel = (struct loop_watch){
		.fd = fd, .ready = on_kernel, .arg = pressure, .name = "pressure"};
	pressure->look =
		(struct loop_timer){.expired = time_to_look, .arg = pressure, .name = "pressure"};
	if (fd >= 0 && loop_watch_priority(pressure->loop, &pressure->kernel) < 0) {
		close(fd);
		why_set(&pressure->why, "the kernel's trigger can't be waited for");
		fd = -1;
	}
	if (fd < 0)
		pressure->kernel.fd = -1;
	pressure_total_begin(&pressure->total, text->stall_us, text->window_us);
	pressure_total_add(&pressure->total, loop_now_ns(), total_us);
	begin_looking(pressure);
}

int pressure_open(struct pressure **ret, struct loop *loop, const struct pressure_wish *wish,
		  struct why *why)
{
	_cleanup_close_ int fd = pressure_file_open(&wish->text, why);
	uint64_t total_us;
	int r = fd < 0 ? fd : pressure_file_read(fd, &wish->text, &total_us, why);

	if (r < 0)
		return r;
	struct pressure *pressure = calloc(1, sizeof(*pressure));
	if (!pressure) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	pressure->loop = loop;
	pressure->wish = *wish;
	pressure->fd = TAKE_FD(fd);
	arm_pressure(pressure, total_us);
	*ret = pressure;
	return 0;
}

void pressure_close(struct pressure *pressure)
{
	if (!pressure)
		return;
	stop_waiting(pressure);
	free(pressure);
}

bool pressure_is_kernels(const struct pressure *pressure, const char **why)
{
	*why = pressure->kernel.fd >= 0 ? "" : pressure->why.text;
	return pressure->kernel.fd >= 0;
}
