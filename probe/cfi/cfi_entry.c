// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/cfi_entry.h"

void cfi_cies_init(struct cfi_cies *cies, const struct cfi_section *section,
		   const struct cfi_machine *machine)
{
	cies->section = section;
	cies->machine = machine;
	cies->budget = 16 * (uint64_t)section->count + 65536;
	for (size_t i = 0; i < CIES_KEPT; i++)
		cies->kept[i].offset = 0;
}

/* Returns an encoding whose form says how many bytes a pointer has. */
static uint8_t sized_encoding(const struct cfi_machine *machine, uint8_t encoding)
{
	bool is_word = (encoding & POINTER_FORM) == POINTER_WORD;

	return is_word && machine->word == 4 ? encoding | POINTER_U32 : encoding;
}

/* Reads the augmentation, a letter each. An unknown letter ends the reading: the size of the
 * augmentation data is known, so the rest can be skipped. */
static bool read_augmentation(struct dwarf_reader *reader, const char *letters, struct cfi_cie *cie)
{
	struct dwarf_reader more;
	uint8_t encoding;

	if (!letters[0])
		return true;
	if (letters[0] != 'z')
		return false; /* includes "eh", GCC 2's, which has a pointer */
	uint64_t bytes = dwarf_uleb(reader);
	more = (struct dwarf_reader){reader->at, reader->at, false};
	dwarf_skip(reader, bytes);
	more.end = reader->at;
	cie->sized = true;
	for (const char *letter = letters + 1; *letter && !reader->failed; letter++) {
		switch (*letter) {
		case 'R':
			cie->encoding = sized_encoding(cie->machine, dwarf_u8(&more));
			break;
		case 'P': /* the personality, for exceptions */
			encoding = dwarf_u8(&more);
			dwarf_form(&more, sized_encoding(cie->machine, encoding));
			break;
		case 'L':
			dwarf_u8(&more);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: return addresses are signed with the other key */
		case 'G': /* arm64: stack frames are tagged */
			break;
		default:
			return !more.failed;
		}
	}
	return !more.failed && !reader->failed;
}

static bool read_cie(const struct cfi_cies *cies, const struct cfi_entry *entry,
		     struct cfi_cie *cie)
{
	struct dwarf_reader reader = entry->body;
	uint8_t version = dwarf_u8(&reader);
	const char *letters = (const char *)reader.at;

	*cie = (struct cfi_cie){.machine = cies->machine,
				.encoding = sized_encoding(cies->machine, POINTER_WORD)};
	if (version != 1 && version != 3 && version != 4)
		return false;
	dwarf_skip(&reader, strnlen(letters, dwarf_left(&reader)) + 1);
	if (reader.failed)
		return false;
	if (version == 4 && (dwarf_u8(&reader) != cies->machine->word || dwarf_u8(&reader) != 0))
		return false; /* other addresses, or segments */
	cie->code_factor = dwarf_uleb(&reader);
	cie->data_factor = dwarf_sleb(&reader);
	cie->ra = version == 1 ? dwarf_u8(&reader) : dwarf_uleb(&reader);
	if (reader.failed || !read_augmentation(&reader, letters, cie) || reader.failed)
		return false;
	if (cie->ra == cies->machine->fp || cie->ra == cies->machine->bx ||
	    cie->ra == cies->machine->sp)
		return false;
	cfi_run_cie(cie, &reader, &cies->section->bases);
	return true;
}

const struct cfi_cie *cfi_cie_at(struct cfi_cies *cies, uint64_t offset)
{
	size_t slot = (offset >> 2) % CIES_KEPT;
	struct cfi_entry entry;

	if (cies->kept[slot].offset == offset + 1)
		return cies->kept[slot].known ? &cies->kept[slot].cie : NULL;
	if (!cfi_section_at(cies->section, (size_t)offset, &entry) || !entry.is_cie ||
	    dwarf_left(&entry.body) > cies->budget)
		return NULL;
	cies->budget -= dwarf_left(&entry.body);
	cies->kept[slot].offset = offset + 1;
	cies->kept[slot].known = read_cie(cies, &entry, &cies->kept[slot].cie);
	return cies->kept[slot].known ? &cies->kept[slot].cie : NULL;
}

bool cfi_function_read(const struct cfi_section *section, const struct cfi_cie *cie,
		       const struct cfi_entry *entry, struct cfi_function *function)
{
	struct dwarf_reader reader = entry->body;
	uint64_t bytes;

	function->start = dwarf_pointer(&reader, cie->encoding, &section->bases);
	if (cie->machine->word == 4)
		function->start &= UINT32_MAX;
	bytes = dwarf_form(&reader, cie->encoding & POINTER_FORM);
	if (cie->sized)
		dwarf_skip(&reader, dwarf_uleb(&reader));
	function->program = reader;
	return !reader.failed && bytes &&
	       !__builtin_add_overflow(function->start, bytes, &function->end);
}
