// SPDX-License-Identifier: GPL-2.0-or-later
/* Points in this very program, with small BPF programs that count their hits. Without the privilege
 * for these, or on another processor, all is skipped. */
#include "unit/lib/unit.h"

#if defined(__x86_64__)

#include <fcntl.h>
#include <link.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "alloc/uprobes.h"

#define SESSION 57 /* BPF_TRACE_UPROBE_SESSION */
#define CALLS	10

/* The first begins with an instruction that is emulated, the second with one that is stepped. */
uint64_t probed_push(uint64_t value);
uint64_t probed_step(uint64_t value);
__asm__(".text\n"
	".globl probed_push\n"
	".type probed_push, @function\n"
	"probed_push: push %rbx\n mov %rdi, %rax\n pop %rbx\n ret\n"
	".globl probed_step\n"
	".type probed_step, @function\n"
	"probed_step: mov %rdi, %rax\n ret\n");

/* ---- programs and what they count ---- */

enum { ENTRIES, RETURNS };

struct scene {
	int map_fd, exe_fd;
	struct call_programs programs;
	bool usable;
};

static int bpf(int command, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

/* Counts in entry `key`, and ends with `result`. */
static int load(int map_fd, int key, int result, int attach_type)
{
	const struct bpf_insn code[] = {
		{BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, key},
		{BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0},
		{BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4},
		{BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map_fd},
		{0, 0, 0, 0, 0},
		{BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0},
		{BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1},
		{BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD},
		{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, result},
		{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t) "GPL",
		.expected_attach_type = (uint32_t)attach_type,
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

static void scene_make(struct scene *scene)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 2};

	*scene = (struct scene){.map_fd = bpf(BPF_MAP_CREATE, &attr)};
	memset(scene->programs.fds, -1, sizeof(scene->programs.fds));
	memset(scene->programs.return_fds, -1, sizeof(scene->programs.return_fds));
	scene->programs.realloc_fd = -1;
	scene->usable = scene->map_fd >= 0;
	if (!scene->usable)
		return;
	scene->exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(scene->exe_fd >= 0);
}

/* Entries and returns of malloc, entries of free. */
static void load_events(struct scene *scene)
{
	scene->programs.fds[CALL_SIZE] = load(scene->map_fd, ENTRIES, 0, 0);
	scene->programs.return_fds[CALL_SIZE] = load(scene->map_fd, RETURNS, 0, 0);
	scene->programs.fds[CALL_FREE] = load(scene->map_fd, ENTRIES, 0, 0);
	assert_true(scene->programs.fds[CALL_FREE] >= 0);
}

/* False: this kernel has no sessions. */
static bool load_sessions(struct scene *scene)
{
	scene->programs.session = true;
	scene->programs.fds[CALL_SIZE] = load(scene->map_fd, ENTRIES, 0, SESSION);
	scene->programs.fds[CALL_FREE] = load(scene->map_fd, ENTRIES, 1, SESSION);
	return scene->programs.fds[CALL_FREE] >= 0;
}

static void scene_done(struct scene *scene)
{
	for (int i = 0; i < CALL_COUNT_OF; i++) {
		cleanup_close(&scene->programs.fds[i]);
		cleanup_close(&scene->programs.return_fds[i]);
	}
	cleanup_close(&scene->programs.realloc_fd);
	if (scene->usable)
		close(scene->exe_fd);
	cleanup_close(&scene->map_fd);
}

static uint64_t count(const struct scene *scene, int key)
{
	uint64_t value = 0;
	union bpf_attr attr = {.map_fd = (uint32_t)scene->map_fd,
			       .key = (uintptr_t)&key,
			       .value = (uintptr_t)&value};

	assert_int_equal(bpf(BPF_MAP_LOOKUP_ELEM, &attr), 0);
	return value;
}

/* ---- points ---- */

struct search {
	uintptr_t address;
	uint64_t offset;
};

static int find_segment(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct search *search = arg;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && search->address - start < segment->p_filesz)
			search->offset = search->address - start + segment->p_offset;
	}
	return 1; /* the program comes first */
}

static uint64_t offset_of(uint64_t (*function)(uint64_t value))
{
	struct search search = {.address = (uintptr_t)function};

	dl_iterate_phdr(find_segment, &search);
	assert_true(search.offset);
	return search.offset;
}

static struct uprobes *attach(const struct scene *scene)
{
	struct uprobe_point points[] = {
		{.call = CALL_SIZE, .offset = offset_of(probed_push)},
		{.call = CALL_FREE, .offset = offset_of(probed_step)},
		{.call = CALL_MMAP, .offset = offset_of(probed_step)}, /* has no program */
	};
	struct uprobes *uprobes;
	struct why why = {0};

	if (uprobes_open(&uprobes, scene->exe_fd, points, ARRAY_SIZE(points), &scene->programs,
			 &why) < 0)
		fail_msg("%s", why.text);
	return uprobes;
}

static void call_both(void)
{
	for (uint64_t i = 0; i < CALLS; i++) {
		assert_int_equal(probed_push(i), i);
		assert_int_equal(probed_step(i), i);
	}
}

/* On each CPU; how many there are. */
static unsigned call_everywhere(void)
{
	cpu_set_t before, one;
	unsigned cpus = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &before))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		call_both();
		cpus++;
	}
	sched_setaffinity(0, sizeof(before), &before);
	return cpus;
}

static void assert_counts(const struct scene *scene, uint64_t entries, uint64_t returns)
{
	assert_int_equal(count(scene, ENTRIES), entries);
	assert_int_equal(count(scene, RETURNS), returns);
}

static void events_are_of_all_cpus(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	if (!scene.usable)
		skip();
	load_events(&scene);
	struct uprobes *uprobes = attach(&scene);
	unsigned calls = call_everywhere() * CALLS;
	assert_counts(&scene, 2UL * calls, calls);
	uprobes_close(uprobes);
	call_both();
	assert_counts(&scene, 2UL * calls, calls);
	scene_done(&scene);
}

static void a_realloc_that_may_be_malloc_has_its_own_program(void **state)
{
	struct uprobe_point points[] = {
		{.call = CALL_REALLOC, .offset = offset_of(probed_push)},
		{.call = CALL_REALLOC,
		 .offset = offset_of(probed_step),
		 .cookie = COOKIE_NULL_IS_MALLOC},
	};
	struct uprobes *uprobes;
	struct scene scene;
	struct why why = {0};

	(void)state;
	scene_make(&scene);
	if (!scene.usable)
		skip();
	scene.programs.fds[CALL_REALLOC] = load(scene.map_fd, 0, 0, 0);
	scene.programs.realloc_fd = load(scene.map_fd, 1, 0, 0);
	assert_true(scene.programs.realloc_fd >= 0);
	if (uprobes_open(&uprobes, scene.exe_fd, points, ARRAY_SIZE(points), &scene.programs,
			 &why) < 0)
		fail_msg("%s", why.text);
	call_both();
	probed_step(0);
	assert_int_equal(count(&scene, 0), CALLS);
	assert_int_equal(count(&scene, 1), CALLS + 1);
	uprobes_close(uprobes);
	scene_done(&scene);
}

static void sessions_say_whether_they_want_the_return(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	if (!scene.usable || !load_sessions(&scene))
		skip();
	struct uprobes *uprobes = attach(&scene);
	unsigned calls = call_everywhere() * CALLS;
	assert_counts(&scene, 3UL * calls, 0); /* one of the two has its return, too */
	uprobes_close(uprobes);
	call_both();
	assert_counts(&scene, 3UL * calls, 0);
	scene_done(&scene);
}

static void other_processes_are_probed_too(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	if (!scene.usable)
		skip();
	load_events(&scene);
	struct uprobes *uprobes = attach(&scene);
	pid_t pid = fork();
	if (pid == 0) {
		call_both();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_counts(&scene, 2UL * CALLS, CALLS);
	uprobes_close(uprobes);
	scene_done(&scene);
}

static void check_killed(struct scene *scene, unsigned hits)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		attach(scene);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	call_both();
	assert_int_equal(count(scene, ENTRIES), hits * CALLS);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	call_both();
	assert_int_equal(count(scene, ENTRIES), hits * CALLS);
	close(ready[0]);
	close(ready[1]);
}

static void nothing_is_left_of_one_that_is_killed(void **state)
{
	struct scene events, sessions;

	(void)state;
	scene_make(&events);
	if (!events.usable)
		skip();
	load_events(&events);
	check_killed(&events, 2);
	scene_done(&events);
	scene_make(&sessions);
	if (load_sessions(&sessions))
		check_killed(&sessions, 3);
	scene_done(&sessions);
}

/* All or none, and a sentence. */
static void check_bad_point(struct scene *scene)
{
	struct uprobe_point points[] = {
		{.call = CALL_SIZE, .offset = offset_of(probed_push)},
		{.call = CALL_FREE, .offset = 1ULL << 40},
	};
	struct uprobes *uprobes = NULL;
	struct why why = {0};

	assert_true(uprobes_open(&uprobes, scene->exe_fd, points, 2, &scene->programs, &why) < 0);
	assert_null(uprobes);
	assert_has(why.text, "its functions can't be probed: ");
	call_both();
	assert_counts(scene, 0, 0);
}

static void a_bad_point_leaves_nothing_attached(void **state)
{
	struct scene events, sessions;

	(void)state;
	scene_make(&events);
	if (!events.usable)
		skip();
	load_events(&events);
	check_bad_point(&events);
	scene_done(&events);
	scene_make(&sessions);
	if (load_sessions(&sessions))
		check_bad_point(&sessions);
	scene_done(&sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_of_all_cpus),
		cmocka_unit_test(a_realloc_that_may_be_malloc_has_its_own_program),
		cmocka_unit_test(sessions_say_whether_they_want_the_return),
		cmocka_unit_test(other_processes_are_probed_too),
		cmocka_unit_test(nothing_is_left_of_one_that_is_killed),
		cmocka_unit_test(a_bad_point_leaves_nothing_attached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("test_uprobes: skipped, another processor");
	return 0;
}

#endif
