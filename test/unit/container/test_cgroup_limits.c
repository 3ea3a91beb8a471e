// SPDX-License-Identifier: GPL-2.0-or-later
/* container/cgroup_limits: of groups that this machine's kernel has, and of made-up ones in place
 * of them (as root: in a mount namespace of the test's own). */
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "container/cgroup.h"
#include "container/cgroup_limits.h"

#define ROOT "/sys/fs/cgroup"

/* ---- quotas as texts ---- */

static void assert_quota(const char *text, bool makes_sense, double cpus)
{
	double found = 77;

	if (cgroup_quota_parse(text, &found) != makes_sense || found != cpus)
		fail_msg("\"%s\": %g", text, found);
}

static void a_quota_is_time_through_period(void **state)
{
	(void)state;
	assert_quota("200000 100000", true, 2);
	assert_quota("50000 100000", true, 0.5);
	assert_quota("1000 1000000", true, 0.001);
	assert_quota("100000 100000", true, 1);
	assert_quota("25600000 100000", true, 256);
}

static void without_a_limit_there_is_no_quota(void **state)
{
	(void)state;
	assert_quota("max 100000", true, 0);
	assert_quota("-1 100000", true, 0);
}

static void what_is_no_quota_is_none(void **state)
{
	static const char *const texts[] = {
		"",	     " ",	 "\n",		"x",	      "x 100000",   "100000",
		"100000 ",   "100000 0", "100000 x",	"100000 -5",  "100000 max", "100000  5",
		" 100000 5", "1x 5",	 "0x10 5",	"-100000 5",  "+5 5",	    "maximum 5",
		"max",	     "-",	 "100000\t100", "1e5 100000", "100000,5",   "200000/100000",
		"100000 +5",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_quota(texts[i], false, 0);
}

/* ---- what another process tells of its groups ---- */

struct told {
	int r;
	double cpus;
	unsigned long long weight, shares;
	bool has_path;
	char path[256];
};

static struct told limits_of(pid_t pid)
{
	struct cgroup_limits limits;

	memset(&limits, 0x55, sizeof(limits));
	struct told told = {.r = cgroup_limits_read(pid, &limits)};
	told.cpus = limits.cpus;
	told.weight = limits.weight;
	told.shares = limits.shares;
	told.has_path = limits.path;
	if (limits.path)
		snprintf(told.path, sizeof(told.path), "%s", limits.path);
	free(limits.path);
	return told;
}

static void assert_nothing(const struct told *told, int r)
{
	assert_int_equal(told->r, r);
	assert_true(!told->has_path && told->cpus == 0 && !told->weight && !told->shares);
}

static void assert_told(const struct told *told, double cpus, unsigned long long weight,
			unsigned long long shares)
{
	if (told->r < 0 || told->cpus != cpus || told->weight != weight || told->shares != shares)
		fail_msg("%d: %g CPUs, weight %llu, shares %llu, %s", told->r, told->cpus,
			 told->weight, told->shares, told->path);
	assert_true(told->has_path && told->path[0] == '/');
}

static void of_who_is_gone_nothing_is_told(void **state)
{
	static const pid_t never[] = {0, -1, INT_MIN, INT_MAX, 4194305};
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	struct told told = limits_of(pid);
	assert_nothing(&told, -ESRCH);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		told = limits_of(never[i]);
		assert_nothing(&told, -ESRCH);
	}
}

static void of_a_zombie_something_or_nothing_is_told(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	struct told told = limits_of(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(told.r == 0 || told.r == -ENOENT || told.r == -ESRCH);
	assert_int_equal(told.has_path, told.r == 0);
}

/* ---- groups of this machine ---- */

/* A group with one in it, and a process that sleeps, of the test's own. */
struct scene {
	bool is_v1;
	char outer[128], inner[160];
	pid_t pid;
};

static bool put(const char *group, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static int scene_end(void **state)
{
	struct scene *scene = *state;

	if (scene->pid > 0) {
		kill(scene->pid, SIGKILL);
		waitpid(scene->pid, NULL, 0);
	}
	/* The kernel may take a moment until the group is empty. */
	for (int i = 0; scene->inner[0] && rmdir(scene->inner) < 0 && errno == EBUSY && i < 1000;
	     i++)
		usleep(1000);
	if (scene->outer[0] && rmdir(scene->outer) < 0 && errno != ENOENT)
		print_message("%s stays: %s\n", scene->outer, strerror(errno));
	free(scene);
	return 0;
}

/* Makes the groups. False: they can't be made here. */
static bool make_groups(struct scene *scene, const char *mount)
{
	snprintf(scene->outer, sizeof(scene->outer), "%s/stackprobe-unit-%d", mount, getpid());
	snprintf(scene->inner, sizeof(scene->inner), "%s/inner", scene->outer);
	if (mkdir(scene->outer, 0755) < 0)
		scene->outer[0] = scene->inner[0] = '\0';
	else if (!scene->is_v1 && !put(scene->outer, "cgroup.subtree_control", "+cpu"))
		scene->inner[0] = '\0';
	else if (mkdir(scene->inner, 0755) < 0)
		scene->inner[0] = '\0';
	return scene->inner[0];
}

static int scene_begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	scene->is_v1 = access(ROOT "/cpu/cpu.shares", F_OK) == 0;
	make_groups(scene, scene->is_v1 ? ROOT "/cpu" : ROOT);
	scene->pid = fork();
	if (scene->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return scene->pid < 0;
}

/* Puts the process into a group; skips the test where that can't be done. */
static void enter(const struct scene *scene, const char *group)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", scene->pid);
	if (scene->inner[0] && cgroups_are_whole() && put(group, "cgroup.procs", pid))
		return;
	print_message("no control group with the controller cpu can be made here\n");
	skip();
}

static void set_quota(const struct scene *scene, const char *group, const char *quota,
		      const char *period)
{
	char text[64];

	if (scene->is_v1) {
		assert_true(put(group, "cpu.cfs_period_us", period));
		assert_true(put(group, "cpu.cfs_quota_us", quota));
	} else {
		snprintf(text, sizeof(text), "%s %s", quota[0] == '-' ? "max" : quota, period);
		assert_true(put(group, "cpu.max", text));
	}
}

static void assert_limits(const struct scene *scene, double cpus, unsigned long long weight,
			  unsigned long long shares, const char *end)
{
	struct told told = limits_of(scene->pid);
	char path[128];

	assert_told(&told, cpus, scene->is_v1 ? 0 : weight, scene->is_v1 ? shares : 0);
	snprintf(path, sizeof(path), "/stackprobe-unit-%d%s", getpid(), end);
	assert_string_equal(told.path, path);
}

static void a_group_that_nobody_limits_has_the_usual_weight(void **state)
{
	const struct scene *scene = *state;

	enter(scene, scene->inner);
	assert_limits(scene, 0, 100, 1024, "/inner");
}

static void the_smallest_quota_on_the_way_to_the_root_holds(void **state)
{
	const struct scene *scene = *state;

	enter(scene, scene->inner);
	set_quota(scene, scene->outer, "50000", "100000");
	assert_limits(scene, 0.5, 100, 1024, "/inner");
	set_quota(scene, scene->inner, "5000", "20000");
	assert_limits(scene, 0.25, 100, 1024, "/inner");
	set_quota(scene, scene->inner, "-1", "20000");
	assert_limits(scene, 0.5, 100, 1024, "/inner");
	set_quota(scene, scene->outer, "300000", "100000");
	assert_limits(scene, 3, 100, 1024, "/inner");
	set_quota(scene, scene->outer, "-1", "100000");
	assert_limits(scene, 0, 100, 1024, "/inner");
}

static void a_weight_is_that_of_the_group_itself(void **state)
{
	const struct scene *scene = *state;
	const char *name = scene->is_v1 ? "cpu.shares" : "cpu.weight";

	enter(scene, scene->inner);
	assert_true(put(scene->outer, name, "77"));
	assert_limits(scene, 0, 100, 1024, "/inner");
	assert_true(put(scene->inner, name, "2048"));
	assert_limits(scene, 0, 2048, 2048, "/inner");
}

static void who_moves_has_the_limits_of_the_other_group(void **state)
{
	const struct scene *scene = *state;

	enter(scene, scene->inner);
	set_quota(scene, scene->outer, "150000", "100000");
	set_quota(scene, scene->inner, "50000", "100000");
	assert_limits(scene, 0.5, 100, 1024, "/inner");
	if (!scene->is_v1)
		return; /* v2 has no processes in groups with others in them */
	enter(scene, scene->outer);
	assert_limits(scene, 1.5, 100, 1024, "");
}

static void of_oneself_the_own_group_is_told(void **state)
{
	const struct scene *scene = *state;
	struct told own = limits_of(getpid()), other = limits_of(scene->pid);
	struct cgroups cgroups;

	assert_int_equal(own.r, other.r); /* a child is where its parent is */
	assert_string_equal(own.path, other.path);
	assert_int_equal(cgroups_read(getpid(), &cgroups), 0);
	if (own.r < 0)
		assert_nothing(&own, -ENOENT);
	else
		assert_told(&own, own.cpus, own.weight, own.shares);
	if (own.r == 0 && scene->is_v1)
		assert_true(own.shares >= 2 && own.weight == 0);
	else if (own.r == 0)
		assert_string_equal(own.path, cgroups.path);
}

static void who_has_a_cgroup_namespace_of_its_own_sees_none(void **state)
{
	int ends[2];
	struct told told = {0};

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWCGROUP) < 0)
			_exit(1);
		told = limits_of(getpid());
		_exit(write(ends[1], &told, sizeof(told)) != sizeof(told));
	}
	close(ends[1]);
	ssize_t got = read(ends[0], &told, sizeof(told));
	close(ends[0]);
	waitpid(pid, NULL, 0);
	if (got != sizeof(told)) {
		print_message("no cgroup namespace can be made here\n");
		skip();
	}
	assert_nothing(&told, -ENOENT);
}

/* ---- made-up groups ---- */

struct made_file {
	const char *path; /* below ROOT; "@": the v2 group's path, "@/..": that around it */
	const char *text;
};

/* Where v2 is mounted; NULL: nowhere. */
static const char *unified_mount(void)
{
	static const char *const mounts[] = {ROOT, ROOT "/unified"};

	for (size_t i = 0; i < 2; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/cgroup.controllers", mounts[i]);
		if (access(path, F_OK) == 0)
			return mounts[i];
	}
	return NULL;
}

static bool make_file(const struct made_file *file, const char *group)
{
	char path[PATH_MAX];
	const char *at = strchr(file->path, '@');
	int before = at ? (int)(at - file->path) : (int)strlen(file->path);

	snprintf(path, sizeof(path), ROOT "/%.*s%s%s", before, file->path, at ? group : "",
		 at ? at + 1 : "");
	for (char *end = path + strlen(ROOT) + 1; (end = strchr(end, '/')); end++) {
		*end = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return false;
		*end = '/';
	}
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd >= 0 && write(fd, file->text, strlen(file->text)) == (ssize_t)strlen(file->text);
}

/* In a process of its own: lays the files in place of the machine's groups, and looks. */
static int look_at_made(const char *inner, const char *group, const struct made_file *files,
			size_t count, int to)
{
	if (!put(inner, "cgroup.procs", "0") || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("made", ROOT, "tmpfs", 0, NULL) < 0)
		return 1;
	for (size_t i = 0; i < count; i++) {
		if (!make_file(&files[i], group))
			return 1;
	}
	struct told told = limits_of(getpid());
	return write(to, &told, sizeof(told)) != sizeof(told);
}

/* What a process in the v2 group `/stackprobe-unit-…/inner` is told, where the files are what it
 * sees of all groups. */
static struct told limits_in(const struct made_file *files, size_t count)
{
	const char *mounted = unified_mount();
	char outer[128] = "", inner[160], group[96];
	struct told told = {0};
	int ends[2];

	snprintf(group, sizeof(group), "/stackprobe-unit-%d/inner", getpid());
	snprintf(inner, sizeof(inner), "%s%s", mounted ? mounted : "/nowhere", group);
	snprintf(outer, sizeof(outer), "%.*s", (int)(strlen(inner) - strlen("/inner")), inner);
	bool is_made = mkdir(outer, 0755) == 0 && mkdir(inner, 0755) == 0;
	assert_int_equal(pipe(ends), 0);
	pid_t pid = is_made ? fork() : -1;
	if (pid == 0)
		_exit(look_at_made(inner, group, files, count, ends[1]));
	close(ends[1]);
	ssize_t got = read(ends[0], &told, sizeof(told));
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	for (int i = 0; rmdir(inner) < 0 && errno == EBUSY && i < 1000; i++)
		usleep(1000);
	rmdir(outer);
	if (got != sizeof(told)) {
		print_message("no group, or no mount of the test's own, can be made here\n");
		skip();
	}
	return told;
}

#define LIMITS_IN(...)                                                                             \
	limits_in((const struct made_file[]){__VA_ARGS__},                                         \
		  sizeof((const struct made_file[]){__VA_ARGS__}) / sizeof(struct made_file))

#define GROUP(where)                                                                               \
	{                                                                                          \
		where "/cgroup.controllers", "cpu\n"                                               \
	}

static void assert_inner(const struct told *told)
{
	char path[96];

	snprintf(path, sizeof(path), "/stackprobe-unit-%d/inner", getpid());
	assert_string_equal(told->path, path);
}

static void of_v2_weight_and_smallest_quota_are_told(void **state)
{
	struct told told =
		LIMITS_IN(GROUP("@"), {"@/cpu.weight", "250\n"}, {"@/cpu.max", "max 100000\n"},
			  {"@/../cpu.max", "200000 100000\n"});

	(void)state;
	assert_told(&told, 2, 250, 0);
	assert_inner(&told);
	told = LIMITS_IN(GROUP("@"), {"@/cpu.weight", "1\n"}, {"@/cpu.max", "50000 100000\n"},
			 {"@/../cpu.max", "200000 100000\n"});
	assert_told(&told, 0.5, 1, 0);
	told = LIMITS_IN(GROUP("@"), {"@/cpu.weight", "10000\n"}, {"@/cpu.max", "400000 100000\n"},
			 {"@/../cpu.max", "10000 20000\n"}, {"@/../../cpu.max", "1000 50000\n"});
	assert_told(&told, 0.02, 10000, 0);
}

static void v2_beside_v1_is_found_where_it_is_mounted(void **state)
{
	struct told told =
		LIMITS_IN(GROUP("unified@"), {"unified@/cpu.weight", "50\n"},
			  {"unified@/cpu.max", "100000 100000\n"}, {"cpu.max", "1000 100000\n"});

	(void)state;
	assert_told(&told, 1, 50, 0);
	assert_inner(&told);
}

/* systemd gives the controller only to groups for which somebody set something. */
static void a_group_without_the_controller_has_the_quota_around_it(void **state)
{
	struct told told = LIMITS_IN(GROUP("@"), GROUP("@/.."), {"@/../cpu.weight", "70\n"},
				     {"@/../cpu.max", "150000 100000\n"});

	(void)state;
	assert_told(&told, 1.5, 0, 0);
	assert_inner(&told);
	told = LIMITS_IN(GROUP("@"));
	assert_told(&told, 0, 0, 0);
	assert_inner(&told);
}

static void what_is_not_mounted_is_not_seen(void **state)
{
	struct told told = LIMITS_IN({"something", ""});

	(void)state;
	assert_nothing(&told, -ENOENT);
	told = LIMITS_IN({"cgroup.controllers", "cpu\n"}, {"cpu.max", "1000 100000\n"});
	assert_nothing(&told, -ENOENT); /* the root is there, the group isn't */
}

static void quotas_that_make_no_sense_are_passed_over(void **state)
{
	static char large[6000];
	static const char *const texts[] = {"",	     "\n",	     "x\n",   "100000\n",
					    "1 0\n", "\n1 100000\n", "-5 1\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct told told =
			LIMITS_IN(GROUP("@"), {"@/cpu.weight", "x\n"}, {"@/cpu.max", texts[i]},
				  {"@/../cpu.max", "250000 100000\n"});

		assert_told(&told, 2.5, 0, 0);
	}
	memset(large, '1', sizeof(large) - 1);
	struct told told = LIMITS_IN(GROUP("@"), {"@/cpu.weight", large}, {"@/cpu.max", large},
				     {"@/../cpu.max", "250000 100000\n"});
	assert_told(&told, 2.5, 0, 0);
}

/* The path of v1 is the machine's own: where its groups aren't there, only v2 is. */
static void v1_comes_first_where_both_are(void **state)
{
	struct cgroups cgroups;
	struct told told = LIMITS_IN({"cpu/cpu.shares", "512\n"}, {"cpu/cpu.cfs_quota_us", "-1\n"},
				     {"cpu/cpu.cfs_period_us", "100000\n"}, GROUP("@"),
				     {"@/cpu.weight", "33\n"});

	(void)state;
	assert_int_equal(cgroups_read(getpid(), &cgroups), 0);
	if (!told.shares) {
		assert_told(&told, 0, 33, 0); /* no v1, or we aren't in its root */
		return;
	}
	assert_told(&told, 0, 0, 512);
	assert_string_equal(told.path, "/");
	told = LIMITS_IN({"cpu,cpuacct/cpu.shares", "2\n"},
			 {"cpu,cpuacct/cpu.cfs_quota_us", "30000\n"},
			 {"cpu,cpuacct/cpu.cfs_period_us", "20000\n"}, GROUP("@"));
	assert_told(&told, 1.5, 0, 2);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, scene_begin, scene_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_is_time_through_period),
		cmocka_unit_test(without_a_limit_there_is_no_quota),
		cmocka_unit_test(what_is_no_quota_is_none),
		cmocka_unit_test(of_who_is_gone_nothing_is_told),
		cmocka_unit_test(of_a_zombie_something_or_nothing_is_told),
		SCENE(a_group_that_nobody_limits_has_the_usual_weight),
		SCENE(the_smallest_quota_on_the_way_to_the_root_holds),
		SCENE(a_weight_is_that_of_the_group_itself),
		SCENE(who_moves_has_the_limits_of_the_other_group),
		SCENE(of_oneself_the_own_group_is_told),
		cmocka_unit_test(who_has_a_cgroup_namespace_of_its_own_sees_none),
		cmocka_unit_test(of_v2_weight_and_smallest_quota_are_told),
		cmocka_unit_test(v2_beside_v1_is_found_where_it_is_mounted),
		cmocka_unit_test(a_group_without_the_controller_has_the_quota_around_it),
		cmocka_unit_test(what_is_not_mounted_is_not_seen),
		cmocka_unit_test(quotas_that_make_no_sense_are_passed_over),
		cmocka_unit_test(v1_comes_first_where_both_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
