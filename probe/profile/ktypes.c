// SPDX-License-Identifier: GPL-2.0-only
#include "profile/ktypes.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NESTING_MAX 8

/* What bpf/kernel.h declares. A field that the kernel lacks is left out: the programs ask. */
static const struct {
	const char *type;
	const char *fields[12];
} wanted[] = {
	{"task_struct",
	 {"flags", "pid", "tgid", "comm", "stack", "mm", "group_leader", "signal", "start_boottime",
	  "in_execve"}},
	{"mm_struct", {"exec_vm"}},
	{"signal_struct", {"live"}},
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

static const struct btf_type *resolve(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

/* Integers in the excerpt are told by their size alone; that is all CO-RE looks at. */
static int add_integer(struct excerpt *excerpt, uint32_t bytes)
{
	static const char *const names[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};

	if (bytes > 8 || !names[bytes])
		return -EINVAL;
	return btf__add_int(excerpt->to, names[bytes], bytes, 0);
}

/* A struct within a struct, as atomic_t is one: its integers. */
static int add_inner(struct excerpt *excerpt, const struct btf_type *type)
{
	const struct btf_member *member = btf_members(type);
	int integer = add_integer(excerpt, 4);
	int id = btf__add_struct(excerpt->to, "", type->size);

	for (int i = 0; i < btf_vlen(type) && id > 0; i++) {
		const struct btf_type *inner = resolve(excerpt->from, member[i].type);

		if (inner && btf_is_int(inner) && inner->size == 4)
			btf__add_field(excerpt->to,
				       btf__name_by_offset(excerpt->from, member[i].name_off),
				       integer, btf_member_bit_offset(type, (uint32_t)i), 0);
	}
	return id;
}

static int add_field_type(struct excerpt *excerpt, const struct btf_type *type)
{
	if (btf_is_ptr(type))
		return excerpt->pointer;
	if (btf_is_int(type) || btf_is_any_enum(type))
		return add_integer(excerpt, type->size);
	if (btf_is_array(type))
		return btf__add_array(excerpt->to, add_integer(excerpt, 4), add_integer(excerpt, 1),
				      btf_array(type)->nelems);
	if (btf_is_struct(type))
		return add_inner(excerpt, type);
	return -EINVAL;
}

struct found {
	const struct btf_type *type;
	uint32_t bit_offset, bit_size;
};

/* A field by name, in anonymous structs and unions as well. */
static bool find_field(const struct btf *btf, const struct btf_type *within, const char *name,
		       uint32_t base, int nesting, struct found *found)
{
	const struct btf_member *member = btf_members(within);

	for (uint32_t i = 0; i < btf_vlen(within); i++) {
		const char *its_name = btf__name_by_offset(btf, member[i].name_off);
		const struct btf_type *type = resolve(btf, member[i].type);
		uint32_t offset = base + btf_member_bit_offset(within, i);

		if (!type || !its_name)
			continue;
		if (strcmp(its_name, name) == 0) {
			*found = (struct found){type, offset, btf_member_bitfield_size(within, i)};
			return true;
		}
		if (!its_name[0] && btf_is_composite(type) && nesting < NESTING_MAX &&
		    find_field(btf, type, name, offset, nesting + 1, found))
			return true;
	}
	return false;
}

/* Types of the fields first: a struct is open for fields only until the next type is added. */
static int add_struct(struct excerpt *excerpt, const char *name, const char *const *fields)
{
	int id = btf__find_by_name_kind(excerpt->from, name, BTF_KIND_STRUCT);
	struct found found[ARRAY_SIZE(wanted[0].fields)] = {0};
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

int ktypes_open(void)
{
	_cleanup_(free_btf) struct btf *from = btf__load_vmlinux_btf();
	_cleanup_(free_btf) struct btf *to = btf__new_empty();
	struct excerpt excerpt = {.from = from, .to = to};
	int r = 0;

	if (!from)
		return errno ? -errno : -ENOENT;
	if (!to)
		return -ENOMEM;
	excerpt.pointer = btf__add_ptr(to, 0);
	for (size_t i = 0; i < ARRAY_SIZE(wanted) && r == 0; i++)
		r = add_struct(&excerpt, wanted[i].type, wanted[i].fields);
	return r < 0 ? r : write_excerpt(to);
}
