// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What processes have cost so far, of the whole host: an iterator over threads, which reads the
 *sums that the kernel keeps, and two programs that see ends. A process that lives for milliseconds
 *is seen at its end.
 *
 *	sched_process_exit, each thread   what the kernel drops with a thread is added to
 *`cost_ended` sched_process_free, main thread   the parent has waited for the process: its sums are
 *sent
 *
 * Between the release of a main thread and sched_process_free, some ms, a process is in neither:
 *the daemon keeps what it read before.
 */
#include "bpf/core/task.h"
#include "bpf/process/group.h"
#include "bpf/shared/faults.h"
#include "bpf/shared/process_cost.h"

#define PF_EXITING 0x00000004 /* include/linux/sched.h */
#define EXIT_DEAD  0x10

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COSTS_ENDED_MAX);
	__type(key, struct cost_ended_key);
	__type(value, struct cost_ended);
} cost_ended SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, COSTS_RING_BYTES);
} costs_ring SEC(".maps");

/* What was lost: threads that found no room in `cost_ended`, processes that found none in the
 * ring. */
uint64_t lost_threads, lost_processes;

static __always_inline struct cost_ended_key key_of(struct task_struct *task)
{
	return (struct cost_ended_key){(uint64_t)BPF_CORE_READ(task, signal),
				       BPF_CORE_READ(task, tgid)};
}

/* Of an orphan the new parent is read, whose number of execve calls mostly is another one. */
static __always_inline void read_forker(struct task_struct *leader, struct cost_owner *owner)
{
	struct task_struct *parent = BPF_CORE_READ(leader, real_parent);
	unsigned int forked_at = BPF_CORE_READ(leader, parent_exec_id);

	owner->has_execed = BPF_CORE_READ(leader, self_exec_id) != forked_at;
	if (owner->has_execed || owner->is_kernel ||
	    BPF_CORE_READ(parent, self_exec_id) != forked_at)
		return;
	owner->forker = BPF_CORE_READ(parent, tgid);
	owner->forker_start_ns = BPF_CORE_READ(parent, group_leader, start_boottime);
}

static __always_inline void read_owner(struct task_struct *task, struct cost_owner *owner)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct group_nodes nodes;

	owner->start_ns = BPF_CORE_READ(leader, start_boottime);
	owner->tgid = BPF_CORE_READ(task, tgid);
	owner->is_kernel = (BPF_CORE_READ(task, flags) & PF_KTHREAD) != 0;
	BPF_CORE_READ_STR_INTO(&owner->comm, leader, comm);
	group_of_task(leader, &owner->group, &nodes);
	read_forker(leader, owner);
}

static __always_inline void read_io(const struct task_io_accounting *from, struct cost_sums *to)
{
	if (bpf_core_field_exists(from->syscr)) {
		to->of[COST_READ_CALLS] = BPF_CORE_READ(from, syscr);
		to->of[COST_WRITE_CALLS] = BPF_CORE_READ(from, syscw);
		to->of[COST_READ_CHARS] = BPF_CORE_READ(from, rchar);
		to->of[COST_WRITE_CHARS] = BPF_CORE_READ(from, wchar);
	}
	if (bpf_core_field_exists(from->read_bytes)) {
		to->of[COST_READ_BYTES] = BPF_CORE_READ(from, read_bytes);
		to->of[COST_WRITE_BYTES] = BPF_CORE_READ(from, write_bytes);
		to->of[COST_CANCELLED_BYTES] = BPF_CORE_READ(from, cancelled_write_bytes);
	}
}

/* Reads the sums of the process's threads that have ended. */
static __always_inline void read_ended(struct task_struct *task, struct cost_sums *to)
{
	struct cost_ended_key key = key_of(task);
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	const struct cost_ended *more = bpf_map_lookup_elem(&cost_ended, &key);

	to->of[COST_RUN] = BPF_CORE_READ(signal, sum_sched_runtime);
	to->of[COST_VOLUNTARY] = BPF_CORE_READ(signal, nvcsw);
	to->of[COST_INVOLUNTARY] = BPF_CORE_READ(signal, nivcsw);
	to->of[COST_MINOR] = BPF_CORE_READ(signal, min_flt);
	to->of[COST_MAJOR] = BPF_CORE_READ(signal, maj_flt);
	read_io(&signal->ioac, to);
	if (!more)
		return;
	to->of[COST_DELAY] = more->delay_ns;
	to->of[COST_SLICES] = more->slices;
	to->of[COST_MIGRATIONS] = more->migrations;
}

/* Reads what the kernel drops with a thread. */
static __always_inline void read_dropped(struct task_struct *task, struct cost_sums *to)
{
	if (bpf_core_field_exists(task->sched_info.run_delay)) {
		to->of[COST_DELAY] = BPF_CORE_READ(task, sched_info.run_delay);
		to->of[COST_SLICES] = BPF_CORE_READ(task, sched_info.pcount);
	}
	to->of[COST_MIGRATIONS] = BPF_CORE_READ(task, se.nr_migrations);
}

/*
 * Reads the sums of a thread; nothing that may be in `ended` already. So the thread has either
 * begun to end (which sets PF_EXITING first), or been released (which sets EXIT_DEAD first), after
 * `ended` was read, or it is seen here.
 */
static __always_inline void read_own(struct task_struct *task, struct cost_sums *to)
{
	to->of[COST_RUN] = BPF_CORE_READ(task, se.sum_exec_runtime);
	to->of[COST_VOLUNTARY] = BPF_CORE_READ(task, nvcsw);
	to->of[COST_INVOLUNTARY] = BPF_CORE_READ(task, nivcsw);
	to->of[COST_MINOR] = BPF_CORE_READ(task, min_flt);
	to->of[COST_MAJOR] = BPF_CORE_READ(task, maj_flt);
	read_io(&task->ioac, to);
	read_dropped(task, to);
	if (BPF_CORE_READ(task, flags) & PF_EXITING)
		to->of[COST_DELAY] = to->of[COST_SLICES] = to->of[COST_MIGRATIONS] = 0;
	if (BPF_CORE_READ(task, exit_state) == EXIT_DEAD)
		__builtin_memset(to, 0, sizeof(*to));
}

/* Returns the process's resident pages, as the sums have them that the CPUs or threads add their
 * parts to from time to time. */
static __always_inline uint64_t resident_pages(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___before *before = (void *)mm;
	struct mm_rss_stat sums = {};

	if (!mm)
		return 0;
	if (bpf_core_field_exists(mm->rss_stat[0].count)) {
		sums.count[RSS_FILE] = BPF_CORE_READ(mm, rss_stat[RSS_FILE].count);
		sums.count[RSS_ANON] = BPF_CORE_READ(mm, rss_stat[RSS_ANON].count);
		sums.count[RSS_SHMEM] = BPF_CORE_READ(mm, rss_stat[RSS_SHMEM].count);
	} else if (bpf_core_read(&sums, sizeof(sums), &before->rss_stat)) {
		return 0;
	}
	int64_t pages = sums.count[RSS_FILE] + sums.count[RSS_ANON] + sums.count[RSS_SHMEM];
	return pages > 0 ? (uint64_t)pages : 0;
}

SEC("iter/task")
int read_costs(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ((struct bpf_iter_meta *)ctx->meta)->seq;
	struct thread_cost thread = {};

	if (!task)
		return 0;
	read_owner(task, &thread.owner);
	thread.owner.rss_pages = resident_pages(task);
	read_ended(task, &thread.ended);
	read_own(task, &thread.own);
	bpf_seq_write(seq, &thread, sizeof(thread));
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_cost_exit(struct bpf_raw_tracepoint_args *ctx)
{
	static const struct cost_ended none;
	struct task_struct *task = (void *)ctx->args[0];
	struct cost_ended_key key = key_of(task);
	struct cost_ended *sums;
	struct cost_sums own = {};

	bpf_map_update_elem(&cost_ended, &key, &none, BPF_NOEXIST);
	sums = bpf_map_lookup_elem(&cost_ended, &key);
	if (!sums) {
		__sync_fetch_and_add(&lost_threads, 1);
		return 0;
	}
	read_dropped(task, &own);
	__sync_fetch_and_add(&sums->delay_ns, own.of[COST_DELAY]);
	__sync_fetch_and_add(&sums->slices, own.of[COST_SLICES]);
	__sync_fetch_and_add(&sums->migrations, own.of[COST_MIGRATIONS]);
	return 0;
}

/* Returns the flag of a record: the daemon reads when it is asked, or before the ring is full. */
static __always_inline uint64_t ring_flag(void)
{
	return bpf_ringbuf_query(&costs_ring, BPF_RB_AVAIL_DATA) > COSTS_RING_BYTES / 4
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

SEC("raw_tp/sched_process_free")
int on_cost_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct cost_ended_key key = key_of(task);
	struct ended_cost ended = {};

	/* The old main thread of a program whose other thread called execve is skipped. */
	if (BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid) ||
	    BPF_CORE_READ(task, group_leader) != task)
		return 0;
	read_owner(task, &ended.owner);
	read_ended(task, &ended.all);
	bpf_map_delete_elem(&cost_ended, &key);
	if (bpf_ringbuf_output(&costs_ring, &ended, sizeof(ended), ring_flag()))
		__sync_fetch_and_add(&lost_processes, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
