/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a Java VM keeps what its frames' names are made of: as its own tables say
 * (gHotSpotVMStructs; unwind/hotspot.h reads them). Offsets in bytes in the struct named;
 * HOTSPOT_NO: this VM hasn't got it.
 */
#pragma once

#include <stdint.h>

#include "hotspot.h"

/* Where an nmethod's metadata begin and end. */
enum jvm_metadata {
	JVM_METADATA_IN_BLOB, /* to 22: offset (int) from the blob on; ends where the scopes begin
			       */
	JVM_METADATA_IN_DATA, /* 23, 24: offset (u2) from the blob's data (blob + _data_offset) on;
				 ends at the latest with the blob */
	JVM_METADATA_MUTABLE, /* 25: in the mutable data (an address), behind the relocations, which
				 take _relocation_size (int) bytes; ends with them (a VM with JVMCI
				 has something of its own there, too) */
};

struct jvm_layout {
	struct hotspot walk;
	uint32_t version;      /* feature release: 8, 11, 17, 25 */
	uint32_t minor, patch; /* 17.0.15: 0, 15; 8u402: 0, 402 */

	/* ContinuationEntry::_return_pc itself, whose value is walk.carrier; 0: this VM has none.
	 */
	uint64_t carrier_at;

	/* CodeBlob: all but `name` are ints from the blob on where walk.flags has
	 * HOTSPOT_CODE_IS_OFFSET, else addresses. */
	uint16_t blob_name, blob_code_end;

	/* nmethod. _comp_level is in its first byte. */
	uint16_t nmethod_method, nmethod_comp_level;
	/*
	 * What scopes are made of. nmethod_immutable is HOTSPOT_NO (to 22): all lies in the blob,
	 *and offsets are from the blob on. Else (from 23 on) it is an address, offsets are from
	 *there on, and nmethod_immutable_size an int.
	 *
	 * PcDescs:	from the offset (int) at nmethod_scopes_pcs to that at
	 *nmethod_scopes_pcs_end, which is that of the part behind them. scopes:	begin at the
	 *offset (int) at nmethod_scopes_data, or the address there. They end with the PcDescs'
	 *begin (to 22), or with the immutable data.
	 */
	uint16_t nmethod_immutable, nmethod_immutable_size;
	uint16_t nmethod_scopes_pcs, nmethod_scopes_pcs_end;
	uint16_t nmethod_scopes_data;
	uint8_t nmethod_scopes_data_is_address;
	uint8_t nmethod_metadata_is; /* enum jvm_metadata: Method* and Klass* that scopes name by
					number, from 1: number n is at begin + 8 * (n - 1) */
	uint16_t nmethod_metadata;   /* by that; HOTSPOT_NO for JVM_METADATA_MUTABLE */
	uint16_t blob_data;	     /* _data_offset; only for JVM_METADATA_IN_DATA */
	uint16_t nmethod_mutable, nmethod_mutable_size,
		nmethod_relocation_size; /* … for …_MUTABLE */

	uint16_t pcdesc_bytes, pcdesc_pc, pcdesc_scope, pcdesc_flags; /* flags: or HOTSPOT_NO */

	/* Method, ConstMethod, ConstantPool, Klass, Symbol. */
	uint16_t const_flags, const_method_bytes; /* _flags, _constMethod_size (in words) */
	uint8_t const_flags_bytes;		  /* 2 or 4 */
	uint32_t const_has_lines;	  /* the flag that a table of lines is behind the code */
	uint16_t pool_holder, pool_bytes; /* its entries begin at pool_bytes */
	/* Index in the pool of the source file's name, u2: the pool's, or (to 14) the class's. One
	 * of them is HOTSPOT_NO. */
	uint16_t pool_source_file, klass_source_file;
	uint16_t klass_name;
	uint16_t symbol_length, symbol_body; /* u2; its bytes */
	uint16_t method_access;		     /* two bytes of it; for native: 0x100 */
};
