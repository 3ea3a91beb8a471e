/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a Java VM keeps what its frames' names are made of: as its own tables say
 * (gHotSpotVMStructs; unwind/hotspot.h reads them). Offsets in bytes in the struct named;
 * HOTSPOT_NO: this VM hasn't got it.
 */
#pragma once

#include <stdint.h>

#include "hotspot.h"

struct jvm_layout {
	struct hotspot walk;
	uint32_t version;      /* feature release: 8, 11, 17, 25 */
	uint32_t minor, patch; /* 17.0.15 */

	/* CodeBlob: all but `name` are ints from the blob on where flags has
	 * HOTSPOT_CODE_IS_OFFSET, else addresses. */
	uint16_t blob_name, blob_code_end;

	/* nmethod. Its parts are ints: offsets from the blob (to 22), or in its immutable data
	 * (from 23 on, where nmethod_immutable is an address). */
	uint16_t nmethod_method, nmethod_comp_level;
	uint16_t nmethod_immutable, nmethod_immutable_size;  /* HOTSPOT_NO: to 22 */
	uint16_t nmethod_scopes_pcs, nmethod_scopes_pcs_end; /* … where the PcDescs begin and end:
								the part behind them */
	uint16_t nmethod_scopes_data; /* int, or an address where nmethod_scopes_data_is_address */
	uint16_t nmethod_metadata, nmethod_metadata_end; /* Method* and Klass* that scopes name, by
							    number from 1 */
	uint16_t nmethod_mutable, nmethod_mutable_size;	 /* 25: metadata lie in there */
	uint8_t nmethod_scopes_data_is_address;
	uint8_t const_flags_bytes; /* 2 or 4 */
	uint16_t pcdesc_bytes, pcdesc_pc, pcdesc_scope, pcdesc_flags;

	/* Method, ConstMethod, ConstantPool, Klass, Symbol. */
	uint16_t const_flags, const_method_bytes; /* _flags, _constMethod_size (in words) */
	uint32_t const_has_lines; /* the flag that a table of lines is behind the code */
	uint16_t pool_holder, pool_source_file, pool_bytes; /* its entries begin at pool_bytes */
	uint16_t klass_name;
	uint16_t symbol_length, symbol_body;
	uint16_t method_access; /* for native: 0x100 */
};
