/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a Java VM keeps what its frames' names are made of: as its own tables say
 * (gHotSpotVMStructs; java/vm/hotspot.h reads them). Offsets in bytes in the struct named;
 * HOTSPOT_NO: this VM hasn't got it.
 */
#pragma once

#include <stdint.h>

#include "bpf/shared/hotspot_tables.h"

struct jvm_layout {
	struct hotspot walk;
	uint32_t version;      /* feature release: 8, 11, 17, 25 */
	uint32_t minor, patch; /* 17.0.15: 0, 15; 8u402: 0, 402 */

	/* Not 0: the VM has virtual threads, but had none yet: what they end with has to be asked
	 * for again. */
	uint8_t unfinished;

	/* CodeBlob: blob_code_end is an int from the blob on where flags has
	 * HOTSPOT_CODE_IS_OFFSET (_data_offset: where the code ends), else an address. blob_name
	 * and blob_oop_maps are addresses. */
	uint16_t blob_name, blob_code_end;
	/* The places in the code where the VM may stop: {int count} and, `maps_pairs` bytes from it
	 * on, so many structs of map_bytes, with an int at map_pc: ImmutableOopMapSet and
	 * ImmutableOopMapPair. Where maps_pointers isn't HOTSPOT_NO (8: OopMapSet), at it is the
	 * address of so many addresses of structs instead, which lie behind one another.
	 * blob_oop_maps HOTSPOT_NO: not known. */
	uint16_t blob_oop_maps;
	uint16_t maps_count, maps_pairs, map_bytes, map_pc, maps_pointers;

	/* nmethod. Its parts are ints: offsets from the blob (to 22), or in its immutable data
	 * (from 23 on, where nmethod_immutable is an address). */
	uint16_t nmethod_method;
	uint16_t nmethod_immutable, nmethod_immutable_size;  /* HOTSPOT_NO: to 22 */
	uint16_t nmethod_scopes_pcs, nmethod_scopes_pcs_end; /* … where the PcDescs begin and end:
								the part behind them */
	uint16_t nmethod_scopes_data; /* int, or an address where nmethod_scopes_data_is_address;
					 it ends where the PcDescs begin, or with the immutable
					 data */
	/* Method* and Klass* that scopes name, by number from 1: from an int nmethod_metadata on
	 * (offset from the blob; in the mutable data where there is one: its _relocation_size) to
	 * nmethod_metadata_end (HOTSPOT_NO: to the end of the mutable data, or to scopes_data). */
	uint16_t nmethod_metadata, nmethod_metadata_end;
	/* Not HOTSPOT_NO (23, 24): nmethod_metadata is a u2, from the blob's data on, to which the
	 * int at blob_data is the offset from the blob; they end with the blob at the latest. */
	uint16_t blob_data;
	uint16_t nmethod_mutable, nmethod_mutable_size; /* address, int; HOTSPOT_NO: to 24 */
	uint8_t nmethod_scopes_data_is_address;
	uint8_t const_flags_bytes; /* 2 or 4 */
	uint16_t pcdesc_bytes, pcdesc_pc, pcdesc_scope;

	/* Method, ConstMethod, ConstantPool, Klass, Symbol. */
	uint16_t const_flags, const_method_bytes; /* _flags, _constMethod_size (in words) */
	uint32_t const_has_lines;	  /* the flag that a table of lines is behind the code */
	uint16_t pool_holder, pool_bytes; /* its entries begin at pool_bytes */
	uint16_t pool_length;		  /* int: so many entries */
	uint16_t pool_source_file;	  /* u2, index of a Symbol; HOTSPOT_NO: …  */
	uint16_t klass_source_file;	  /* … InstanceKlass has it (8 to 12) */
	uint16_t klass_name;
	uint16_t symbol_length, symbol_body;
	uint16_t method_access; /* for native: 0x100 */
};
