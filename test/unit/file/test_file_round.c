// SPDX-License-Identifier: GPL-2.0-or-later
/* Rounds of reading: files with long names, of several users. */
#include "unit/lib/folder.h"

#include <elf.h>

#include "loop/loop.h"
#include "file/symbol_file.h"
#include "elf/fd_budget.h"

#define FUNCTIONS  4000U
#define NAME_BYTES 3500U /* so a file has 14 MB of names */
#define ADDRESS	   0x400000U
#define CODE	   4096U /* where it is in the file */
#define EACH	   16U	 /* bytes of a function */

struct scene {
	struct folder folder;
	struct loop *loop;
	struct worker *worker;
	struct symbol_files *files;
};

/* One segment, the functions, their names. */
static void put_file(const struct scene *scene, const char *name, uid_t owner)
{
	size_t symbols_at = CODE + FUNCTIONS * EACH,
	       names_at = symbols_at + (FUNCTIONS + 1) * sizeof(Elf64_Sym),
	       sections_at = names_at + 8 + (size_t)FUNCTIONS * NAME_BYTES,
	       bytes = sections_at + 3 * sizeof(Elf64_Shdr);
	_cleanup_free_ char *image = calloc(1, bytes);

	assert_non_null(image);
	Elf64_Ehdr header = {.e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(Elf64_Ehdr),
			     .e_phnum = 1,
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_shoff = sections_at,
			     .e_shnum = 3,
			     .e_shentsize = sizeof(Elf64_Shdr)};
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(image, &header, sizeof(header));
	const Elf64_Phdr segment = {PT_LOAD,	      PF_R | PF_X,	CODE, ADDRESS, ADDRESS,
				    FUNCTIONS * EACH, FUNCTIONS * EACH, 4096};
	memcpy(image + sizeof(header), &segment, sizeof(segment));
	Elf64_Sym *symbols = (Elf64_Sym *)(image + symbols_at);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char *text = image + names_at + 8 + (size_t)i * NAME_BYTES;

		memset(text, 'x', NAME_BYTES - 1);
		text[snprintf(text, NAME_BYTES, "f%u", i)] = 'x';
		symbols[i + 1] = (Elf64_Sym){8 + i * NAME_BYTES,
					     ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					     0,
					     1,
					     ADDRESS + i * EACH,
					     EACH};
	}
	Elf64_Shdr *sections = (Elf64_Shdr *)(image + sections_at);
	sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				   .sh_offset = symbols_at,
				   .sh_link = 2,
				   .sh_size = (FUNCTIONS + 1) * sizeof(Elf64_Sym),
				   .sh_entsize = sizeof(Elf64_Sym)};
	sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				   .sh_offset = names_at,
				   .sh_size = 8 + (size_t)FUNCTIONS * NAME_BYTES};
	folder_put(&scene->folder, name, image, bytes);
	assert_int_equal(fchownat(scene->folder.fd, name, owner, owner, 0), 0);
}

static struct symbol_file *get(const struct scene *scene, const char *name)
{
	struct stat stat;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", scene->folder.path, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_true(fd_budget_take());
	const struct symbol_search search = {.payer = job_of(stat.st_uid, 0)};
	struct symbol_file *file = symbol_files_get(scene->files, &fd, &stat, path, &search);
	assert_non_null(file);
	return file;
}

static void want_all(const struct scene *scene, struct symbol_file *file)
{
	const struct symbol_place nowhere = {0};

	for (uint32_t i = 0; i < FUNCTIONS; i++)
		symbol_file_want(scene->files, file, CODE + i * EACH, &nowhere);
}

static bool is_known(const struct symbol_file *file)
{
	struct symbol_function function;

	return symbol_file_find(file, CODE, &function);
}

static void stop(void *arg)
{
	const struct scene *scene = arg;

	loop_stop(scene->loop);
}

static void one_users_names_leave_room_for_anothers(void **state)
{
	struct symbol_files_stats stats;
	struct symbol_file *files[3];
	struct scene scene;

	(void)state;
	if (geteuid() != 0)
		skip(); /* files can't be given to others */
	folder_make(&scene.folder);
	assert_int_equal(loop_new(&scene.loop), 0);
	assert_int_equal(worker_new(&scene.worker, scene.loop, "test", 60 * NS_PER_S), 0);
	assert_int_equal(symbol_files_new(&scene.files, scene.worker), 0);
	put_file(&scene, "a", 1001);
	put_file(&scene, "b", 1001);
	put_file(&scene, "c", 1002);
	symbol_files_begin(scene.files);
	for (int i = 0; i < 3; i++) {
		files[i] = get(&scene, (const char *[]){"a", "b", "c"}[i]);
		want_all(&scene, files[i]);
	}
	symbol_files_read(scene.files, NULL, stop, &scene);
	assert_int_equal(loop_run(scene.loop), 0);
	assert_int_equal(is_known(files[0]) + is_known(files[1]), 1);
	assert_true(is_known(files[2]));
	symbol_files_stats(scene.files, &stats);
	assert_int_equal(stats.lost[SYMBOL_LOST_NO_ROOM], FUNCTIONS);
	assert_int_equal(stats.lost[SYMBOL_LOST_UNREADABLE], 0);
	for (int i = 0; i < 3; i++)
		symbol_file_unref(files[i]);
	worker_stop(scene.worker);
	symbol_files_free(scene.files);
	worker_free(scene.worker);
	loop_free(scene.loop);
	folder_done(&scene.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_users_names_leave_room_for_anothers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
