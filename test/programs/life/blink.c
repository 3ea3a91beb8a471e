/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blink: begins and ends. */
int main(void)
{
	return 0;
}
