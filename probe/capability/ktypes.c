// SPDX-License-Identifier: GPL-2.0-or-later
#include "capability/ktypes.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NESTING_MAX 8
#define TRACEPOINT  "btf_trace_" /* begins the typedefs of tracepoints */

/* The fields that bpf/core/kernel_types.h declares. Fields that the kernel lacks are left out: the
 * programs check for them. */
static const struct {
	const char *type;
	const char *fields[40];
} wanted[] = {
	{"task_struct",
	 {"flags",
	  "pid",
	  "tgid",
	  "comm",
	  "stack",
	  "mm",
	  "group_leader",
	  "signal",
	  "start_boottime",
	  "real_parent",
	  "parent_exec_id",
	  "self_exec_id",
	  "in_execve",
	  "state",
	  "__state",
	  "exit_state",
	  "nvcsw",
	  "nivcsw",
	  "on_cpu",
	  "bpf_storage",
	  "thread_pid",
	  "cgroups",
	  "se",
	  "sched_info",
	  "rss_stat",
	  "pagefault_disabled",
	  "min_flt",
	  "maj_flt",
	  "ioac",
	  "utask",
	  "thread",
	  "thread_info",
	  "files"}},
	{"pt_regs", {"orig_x0", "syscallno"}}, /* arm64 */
	{"files_struct", {"fdt"}},
	{"fdtable", {"max_fds", "fd"}},
	{"mm_struct",
	 {"exec_vm", "total_vm", "data_vm", "map_count", "start_code", "end_code", "uprobes_state",
	  "rss_stat", "mm_mt", "context"}},
	{"maple_tree", {"ma_root"}},
	{"vm_area_struct", {"vm_start", "vm_end", "vm_flags", "vm_pgoff", "vm_file"}},
	{"file", {"f_inode", "private_data"}},
	{"socket", {"sk"}},
	{"sock_common", {"skc_family"}},
	{"sock", {"sk_type", "sk_protocol"}},
	{"sk_buff", {"len", "cb"}},
	{"tcp_skb_cb", {"tcp_gso_segs"}},
	{"inode",
	 {"i_ino", "i_size", "i_sb", "i_ctime_sec", "i_ctime_nsec", "__i_ctime", "i_ctime",
	  "i_mode", "i_rdev", "i_mapping"}},
	{"super_block", {"s_dev"}},
	{"page", {"compound_head"}},
	{"bio", {"bi_next", "bi_bdev", "bi_disk", "bi_opf", "bi_iter", "bi_io_vec", "bi_private"}},
	{"block_device", {"bd_disk", "bd_holder_disks"}},
	{"gendisk", {"disk_name", "queue", "slave_bdevs"}},
	{"request_queue", {"mq_ops"}},
	{"request", {"bio", "__data_len"}},
	{"io_kiocb", {"file", "ctx", "cqe", "flags", "opcode"}},
	{"io_ring_ctx", {"compat"}},
	{"io_sr_msg", {"umsg", "msg_flags", "flags"}},
	{"io_splice", {"splice_fd_in", "flags"}},
	{"io_uring_cqe", {"user_data", "res", "flags"}},
	{"uprobe_task", {"return_instances", "xol_vaddr", "vaddr"}},
	{"return_instance", {"stack", "orig_ret_vaddr", "next"}},
	{"xol_area", {"vaddr"}},
	{"rlimit", {"rlim_cur"}},
	{"signal_struct",
	 {"rlim", "live", "nr_threads", "nvcsw", "nivcsw", "min_flt", "maj_flt", "ioac",
	  "sum_sched_runtime"}},
	{"task_io_accounting",
	 {"rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes",
	  "cancelled_write_bytes"}},
	{"pid", {"level", "numbers"}},
	{"upid", {"nr", "ns"}},
	{"pid_namespace", {"ns"}},
	{"css_set", {"dfl_cgrp", "subsys"}},
	{"cgroup_subsys_state", {"cgroup"}},
	{"cgroup", {"kn", "root"}},
	{"kernfs_node", {"id", "name", "parent", "__parent"}},
	{"cfs_rq", {"rq"}},
	{"rq", {"nr_running", "cfs"}},
	{"page", {"flags", "compound_order", "index", "mapping", "mem_cgroup", "memcg_data"}},
	{"folio", {"_folio_order", "_flags_1", "index", "mapping", "memcg_data"}},
	{"mem_cgroup", {"css"}},
	{"address_space", {"host"}},
};

/* The enumerators that bpf/core/kernel_types.h declares. */
static const struct {
	const char *type;
	const char *names[4];
} wanted_enums[] = {
	{"vm_event_item", {"PGREUSE", "PGALLOC_DMA32", "PGALLOC_NORMAL", "PGALLOC_MOVABLE"}},
	{"cgroup_subsys_id", {"memory_cgrp_id", "pids_cgrp_id", "cpu_cgrp_id"}},
	{"pageflags", {"PG_writeback", "PG_head"}},
};

struct excerpt {
	const struct btf *from;
	struct btf *to;
	int pointer;
};

static void free_btf(struct btf **btf)
{
	btf__free(*btf);
}

static const struct btf_type *resolve_type(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

/* Adds an integer type, named by its size alone: CO-RE looks at nothing else. */
static int add_integer(struct excerpt *excerpt, uint32_t bytes)
{
	static const char *const names[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};

	if (bytes > 8 || !names[bytes])
		return -EINVAL;
	return btf__add_int(excerpt->to, names[bytes], bytes, 0);
}

/* Adds a struct inside a struct (atomic_t is one) with its integers and pointers. */
static int add_inner(struct excerpt *excerpt, const struct btf_type *type)
{
	const struct btf_member *member = btf_members(type);
	int narrow = add_integer(excerpt, 4), wide = add_integer(excerpt, 8);
	int id = btf__add_struct(excerpt->to, "", type->size);

	for (uint32_t i = 0; i < btf_vlen(type) && id > 0; i++) {
		const struct btf_type *inner = resolve_type(excerpt->from, member[i].type);
		int its = 0;

		if (inner && btf_is_ptr(inner))
			its = excerpt->pointer;
		else if (inner && btf_is_int(inner) && !btf_member_bitfield_size(type, i))
			its = inner->size == 4 ? narrow : inner->size == 8 ? wide : 0;
		if (its > 0)
			btf__add_field(excerpt->to,
				       btf__name_by_offset(excerpt->from, member[i].name_off), its,
				       btf_member_bit_offset(type, i), 0);
	}
	return id;
}

/* Adds an array of integers, pointers or structs; elements of another type become bytes. */
static int add_array(struct excerpt *excerpt, const struct btf_array *array)
{
	const struct btf_type *type = resolve_type(excerpt->from, array->type);
	int of = type && btf_is_ptr(type) ? excerpt->pointer
		 : type && btf_is_struct(type)
			 ? add_inner(excerpt, type)
			 : add_integer(excerpt, type && btf_is_int(type) ? type->size : 1);

	return btf__add_array(excerpt->to, add_integer(excerpt, 4), of, array->nelems);
}

static int add_field_type(struct excerpt *excerpt, const struct btf_type *type)
{
	if (btf_is_ptr(type))
		return excerpt->pointer;
	if (btf_is_int(type) || btf_is_any_enum(type))
		return add_integer(excerpt, type->size);
	if (btf_is_array(type))
		return add_array(excerpt, btf_array(type));
	if (btf_is_struct(type))
		return add_inner(excerpt, type);
	return -EINVAL;
}

struct found_member {
	const struct btf_type *type;
	uint32_t bit_offset, bit_size;
};

/* Finds a field by name, in anonymous structs and unions as well. */
static bool find_field(const struct btf *btf, const struct btf_type *within, const char *name,
		       uint32_t base, int nesting, struct found_member *found)
{
	const struct btf_member *member = btf_members(within);

	for (uint32_t i = 0; i < btf_vlen(within); i++) {
		const char *its_name = btf__name_by_offset(btf, member[i].name_off);
		const struct btf_type *type = resolve_type(btf, member[i].type);
		uint32_t offset = base + btf_member_bit_offset(within, i);

		if (!type || !its_name)
			continue;
		if (strcmp(its_name, name) == 0) {
			*found = (struct found_member){type, offset,
						       btf_member_bitfield_size(within, i)};
			return true;
		}
		if (!its_name[0] && btf_is_composite(type) && nesting < NESTING_MAX &&
		    find_field(btf, type, name, offset, nesting + 1, found))
			return true;
	}
	return false;
}

static bool field_of(const struct btf *btf, const char *type, const char *name,
		     struct found_member *found)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id > 0 && find_field(btf, btf__type_by_id(btf, (uint32_t)id), name, 0, 0, found);
}

static bool has_field(const struct btf *btf, const char *type, const char *name)
{
	struct found_member found;

	return field_of(btf, type, name, &found);
}

/* Adds a struct with the wanted fields. The types of the fields are added first: a struct takes
 * fields only until the next type is added. */
static int add_struct(struct excerpt *excerpt, const char *name, const char *const *fields)
{
	int id = btf__find_by_name_kind(excerpt->from, name, BTF_KIND_STRUCT);
	struct found_member found[ARRAY_SIZE(wanted[0].fields)] = {0};
	int types[ARRAY_SIZE(wanted[0].fields)] = {0};

	if (id < 0)
		return id;
	const struct btf_type *type = btf__type_by_id(excerpt->from, (uint32_t)id);
	for (int i = 0; fields[i]; i++) {
		if (find_field(excerpt->from, type, fields[i], 0, 0, &found[i]))
			types[i] = add_field_type(excerpt, found[i].type);
	}
	id = btf__add_struct(excerpt->to, name, type->size);
	for (int i = 0; fields[i] && id > 0; i++) {
		if (types[i] <= 0)
			continue;
		int r = btf__add_field(excerpt->to, fields[i], types[i], found[i].bit_offset,
				       found[i].bit_size);
		if (r < 0)
			return r;
	}
	return id < 0 ? id : 0;
}

/* Adds an enum with the wanted values. If the kernel lacks the enum, nothing is added, and the
 * programs do without. */
static int add_enum(struct excerpt *excerpt, const char *enum_name, const char *const *names,
		    size_t count)
{
	int id = btf__find_by_name_kind(excerpt->from, enum_name, BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(excerpt->from, (uint32_t)id) : NULL;

	if (!type)
		return 0;
	const struct btf_enum *value = btf_enum(type);
	int r = btf__add_enum(excerpt->to, enum_name, type->size);
	for (uint32_t i = 0; i < btf_vlen(type) && r >= 0; i++) {
		const char *name = btf__name_by_offset(excerpt->from, value[i].name_off);

		for (size_t j = 0; j < count && r >= 0; j++) {
			if (names[j] && strcmp(name, names[j]) == 0)
				r = btf__add_enum_value(excerpt->to, name, value[i].val);
		}
	}
	return r < 0 ? r : 0;
}

/* Returns the offset of a per-CPU variable in the CPU's memory, or -ENOENT. */
static int64_t percpu_offset(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *variable = &btf_var_secinfos(section)[i];
		const struct btf_type *its = btf__type_by_id(btf, variable->type);

		if (its && strcmp(btf__name_by_offset(btf, its->name_off), name) == 0)
			return variable->offset;
	}
	return -ENOENT;
}

/* Finds the distance from a CPU's runqueue to its vm_event_states. */
static void find_vm_events(const struct btf *btf, struct ktypes *ktypes)
{
	int64_t queue = percpu_offset(btf, "runqueues"), at = percpu_offset(btf, "vm_event_states");

	ktypes->has_vm_events = queue >= 0 && at >= 0 && ktypes->has_group_queues;
	ktypes->vm_events_behind_queue = at - queue;
}

static int write_excerpt(const struct btf *btf)
{
	uint32_t bytes;
	const void *data = btf__raw_data(btf, &bytes);
	_cleanup_close_ int fd = memfd_create("stackprobe-btf", MFD_CLOEXEC);

	if (!data)
		return -ENOMEM;
	if (fd < 0)
		return -errno;
	return write(fd, data, bytes) == (ssize_t)bytes ? TAKE_FD(fd) : -EIO;
}

/* Returns how many arguments a BPF program on the tracepoint has; 0: there is no such
 * tracepoint. */
static int count_arguments(const struct btf *btf, const char *tracepoint)
{
	char name[64];

	snprintf(name, sizeof(name), TRACEPOINT "%s", tracepoint);
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? resolve_type(btf, (uint32_t)id) : NULL;
	if (type && btf_is_ptr(type))
		type = resolve_type(btf, type->type);
	if (!type || !btf_is_func_proto(type) || !btf_vlen(type))
		return 0;
	return btf_vlen(type) - 1; /* the first argument is private to the tracepoint */
}

/* Returns the value of an enumerator; 0: the kernel has none of that name. */
static int enum_value(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *found = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const struct btf_enum *values = found ? btf_enum(found) : NULL;

	for (uint32_t i = 0; found && i < btf_vlen(found); i++) {
		const char *its_name = btf__name_by_offset(btf, values[i].name_off);

		if (its_name && strcmp(its_name, name) == 0)
			return values[i].val;
	}
	return 0;
}

/* Finds what block devices' requests tell. */
static void find_blocks(const struct btf *btf, struct ktypes *ktypes)
{
	int bio = count_arguments(btf, "block_bio_queue");

	ktypes->has_blocks = bio && count_arguments(btf, "block_rq_complete") >= 3;
	ktypes->has_block_queues = bio > 1;
	ktypes->has_issue_queue = count_arguments(btf, "block_rq_issue") > 1;
	ktypes->has_folio_heads = has_field(btf, "page", "compound_head");
}

/* Finds how the kernel counts resident pages, for page faults. */
static void find_resident(const struct btf *btf, struct ktypes *ktypes)
{
	struct found_member counters, values, events, own, sums;

	ktypes->has_rss_counters =
		field_of(btf, "mm_struct", "rss_stat", &counters) && btf_is_array(counters.type);
	ktypes->has_task_rss = has_field(btf, "task_struct", "rss_stat") &&
			       field_of(btf, "task_rss_stat", "events", &events) &&
			       field_of(btf, "task_rss_stat", "count", &own) &&
			       field_of(btf, "mm_rss_stat", "count", &sums) &&
			       events.bit_offset == 0 && own.bit_offset == 32 &&
			       sums.bit_offset == 0;
	ktypes->cpu_values_at =
		field_of(btf, "bpf_array", "pptrs", &values) ? values.bit_offset / 8 : 0;
}

int ktypes_open(struct ktypes *ktypes)
{
	_cleanup_(free_btf) struct btf *from = btf__load_vmlinux_btf();
	_cleanup_(free_btf) struct btf *to = btf__new_empty();
	struct excerpt excerpt = {.from = from, .to = to};
	int r = 0;

	if (!from)
		return errno ? -errno : -ENOENT;
	if (!to)
		return -ENOMEM;
	if (count_arguments(from, "io_uring_submit_req") == 1)
		ktypes->ring_arguments = count_arguments(from, "io_uring_complete");
	ktypes->has_switch_state = count_arguments(from, "sched_switch") >= 4;
	ktypes->has_switch_end = count_arguments(from, "sched_exit_tp") >= 1;
	ktypes->has_run_delay = has_field(from, "sched_info", "run_delay");
	ktypes->has_irq_times = has_field(from, "rq", "prev_irq_time");
	ktypes->has_steal_times = has_field(from, "rq", "prev_steal_time_rq");
	ktypes->has_call_counts = has_field(from, "task_io_accounting", "syscr");
	ktypes->has_disk_counts = has_field(from, "task_io_accounting", "read_bytes");
	ktypes->has_group_queues = has_field(from, "cfs_rq", "rq");
	ktypes->has_memory = btf__find_by_name_kind(from, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0;
	ktypes->uprobe_session = enum_value(from, "bpf_attach_type", "BPF_TRACE_UPROBE_SESSION");
	ktypes->has_fault_tracepoints = count_arguments(from, "page_fault_user") >= 3 &&
					count_arguments(from, "page_fault_kernel") >= 3;
	ktypes->has_dirty_folio = count_arguments(from, "writeback_dirty_folio") >= 1;
	ktypes->has_dirty_page = count_arguments(from, "writeback_dirty_page") >= 1;
	ktypes->throttle_arguments = count_arguments(from, "balance_dirty_pages");
	ktypes->has_added = count_arguments(from, "mm_filemap_add_to_page_cache") >= 1;
	ktypes->has_uses = count_arguments(from, "mm_filemap_get_pages") >= 3 &&
			   count_arguments(from, "mm_filemap_map_pages") >= 3 &&
			   count_arguments(from, "mm_filemap_fault") >= 2 &&
			   count_arguments(from, "mm_filemap_delete_from_page_cache") >= 1;
	ktypes->has_asked = ktypes->has_uses && count_arguments(from, "page_cache_sync_ra") >= 4 &&
			    count_arguments(from, "page_cache_async_ra") >= 4;
	ktypes->has_moves = count_arguments(from, "cgroup_attach_task") >= 3;
	ktypes->has_socket_lengths = count_arguments(from, "sock_send_length") >= 3 &&
				     count_arguments(from, "sock_recv_length") >= 3;
	ktypes->has_socket_states = count_arguments(from, "inet_sock_set_state") >= 3;
	ktypes->has_socket_ends = count_arguments(from, "tcp_destroy_sock") >= 1;
	ktypes->has_send_begin = count_arguments(from, "tcp_sendmsg_locked") >= 1;
	ktypes->retransmit_args = count_arguments(from, "tcp_retransmit_skb");
	find_vm_events(from, ktypes);
	find_resident(from, ktypes);
	find_blocks(from, ktypes);
	ktypes->has_map_allocator =
		btf__find_by_name_kind(from, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0;
	excerpt.pointer = btf__add_ptr(to, 0);
	for (size_t i = 0; i < ARRAY_SIZE(wanted) && r == 0; i++) {
		r = add_struct(&excerpt, wanted[i].type, wanted[i].fields);
		if (r == -ENOENT && i > 0) /* all kernels have task_struct; not all have cgroups */
			r = 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted_enums) && r == 0; i++)
		r = add_enum(&excerpt, wanted_enums[i].type, wanted_enums[i].names,
			     ARRAY_SIZE(wanted_enums[i].names));
	return r < 0 ? r : write_excerpt(to);
}

int ktypes_tracepoint(const char *name, void (*each)(void *arg, const char *name), void *arg)
{
	_cleanup_(free_btf) struct btf *btf = btf__load_vmlinux_btf();

	if (!btf)
		return -errno;
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *its =
			btf_is_typedef(type) ? btf__name_by_offset(btf, type->name_off) : "";

		if (strncmp(its, TRACEPOINT, strlen(TRACEPOINT)) != 0)
			continue;
		if (strcmp(its + strlen(TRACEPOINT), name) == 0)
			return 1;
		each(arg, its + strlen(TRACEPOINT));
	}
	return 0;
}
