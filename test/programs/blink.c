/* SPDX-License-Identifier: GPL-2.0-only */
/* blink: begins and ends. */
int main(void)
{
	return 0;
}
