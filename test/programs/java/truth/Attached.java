// SPDX-License-Identifier: GPL-2.0-only
package truth;

// Burns in turn(), which has part() inlined into it once it is compiled, until it is killed. Says
// "ready" when it runs.
final class Attached {
	static volatile long sink;

	static int part(int x) {
		int r = x;
		for (int i = 0; i < 50; i++)
			r += x * i ^ (r >>> 3);
		return r;
	}

	static int turn(int x) {
		return part(x) + part(x + 1);
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		for (int n = 0;; n++) {
			for (int i = 0; i < 1000; i++)
				sink += turn(n + i);
			Thread.sleep(1);
		}
	}
}
