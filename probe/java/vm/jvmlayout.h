/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of a Java VM's data: where the walker and the readers of frames' names find it, as the
 * VM's own tables say (gHotSpotVMStructs; read by java/vm/hotspot.h). Plain data. Offsets are bytes
 * in the struct that is named; HOTSPOT_NO: this VM doesn't have the field.
 */
#pragma once

#include <stdint.h>

#include "bpf/shared/hotspot_tables.h"

struct jvm_layout {
	struct hotspot walk;
	uint32_t version;      /* feature release: 8, 11, 17, 25 */
	uint32_t minor, patch; /* 17.0.15: 0, 15; 8u402: 0, 402 */

	/* Not 0: the VM has virtual threads, but none was made yet, so that the end of their stacks
	 * has to be read again later. */
	uint8_t unfinished;

	/* CodeBlob. blob_code_end is an int, an offset from the blob (_data_offset: where the code
	 * ends), if flags has HOTSPOT_CODE_IS_OFFSET; else an address. blob_name and blob_oop_maps
	 * are addresses. */
	uint16_t blob_name, blob_code_end;
	/* The pcs in the code where the VM may stop. ImmutableOopMapSet: an int at maps_count; from
	 * maps_pairs on so many structs ImmutableOopMapPair of map_bytes, with an int at map_pc.
	 * JDK 8 (OopMapSet, maps_pointers isn't HOTSPOT_NO): at maps_pointers is the address of an
	 * array of so many addresses of structs, which lie one behind the other. blob_oop_maps
	 * HOTSPOT_NO: not known. */
	uint16_t blob_oop_maps;
	uint16_t maps_count, maps_pairs, map_bytes, map_pc, maps_pointers;

	/* nmethod. The offsets of its parts are ints: from the blob (up to JDK 22), or in its
	 * immutable data (from 23 on, where nmethod_immutable is an address). */
	uint16_t nmethod_method;
	uint16_t nmethod_immutable, nmethod_immutable_size; /* HOTSPOT_NO: up to 22 */
	/* The PcDescs: where they begin, and where the part behind them begins. */
	uint16_t nmethod_scopes_pcs, nmethod_scopes_pcs_end;
	/* The scopes: an int, or an address if nmethod_scopes_data_is_address. They end where the
	 * PcDescs begin, or with the immutable data. */
	uint16_t nmethod_scopes_data;
	/* The Method* and Klass* that scopes name by their number, from 1. They begin at the int
	 * nmethod_metadata (an offset from the blob; or, if there is mutable data, its
	 * _relocation_size, an offset there) and end at nmethod_metadata_end (HOTSPOT_NO: at the
	 * end of the mutable data, or at scopes_data). */
	uint16_t nmethod_metadata, nmethod_metadata_end;
	/* Not HOTSPOT_NO (23, 24): nmethod_metadata is a u2, an offset from the blob's data; the
	 * int at blob_data is the offset of that data from the blob. The array ends with the blob
	 * at the latest. */
	uint16_t blob_data;
	uint16_t nmethod_mutable, nmethod_mutable_size; /* address, int; HOTSPOT_NO: up to 24 */
	uint8_t nmethod_scopes_data_is_address;
	uint8_t const_flags_bytes; /* 2 or 4 */
	uint16_t pcdesc_bytes, pcdesc_pc, pcdesc_scope;

	/* Method, ConstMethod, ConstantPool, Klass, Symbol. */
	uint16_t const_flags, const_method_bytes; /* _flags, _constMethod_size (in words) */
	uint32_t const_has_lines;		  /* flag: a table of lines is behind the code */
	uint16_t pool_holder, pool_bytes;	  /* the entries begin at pool_bytes */
	uint16_t pool_length;			  /* int, number of entries */
	uint16_t pool_source_file;		  /* u2, index of a Symbol; HOTSPOT_NO: see next */
	uint16_t klass_source_file;		  /* the same in InstanceKlass (8 to 12) */
	uint16_t klass_name;
	uint16_t symbol_length, symbol_body;
	uint16_t method_access; /* native methods have bit 0x100 */
};
