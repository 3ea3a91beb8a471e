/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that the process has and doesn't need. */
#pragma once

/* Gives it back: what is free of the heap, and the pages of the program's file that hold constants:
 * of the BPF objects, the agents and the scripts in it, which are read now and then. They are read
 * from the file again when they are needed. */
void memory_give_back(void);

/* The same of all code and constants, of the libraries too, which have set themselves up: for a
 * command that needs hardly anything of them. */
void memory_forget_code(void);
