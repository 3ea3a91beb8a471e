// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

// Burns in turn(), which has part() inlined into it once it is compiled, and when there is something to
// read in lateTurn() and latePart(), which weren't compiled until then. There all but a hundredth is
// latePart()'s. Until it is killed. Says "ready" when it runs.
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

	static int latePart(int x) {
		int r = x;
		for (int i = 0; i < 600; i++)
			r += x * i ^ (r >>> 5);
		return r;
	}

	static int lateTurn(int x) {
		return latePart(x) + latePart(x + 1);
	}

	static void turns(int n) throws Exception {
		for (int i = 0; i < 1000; i++)
			sink += turn(n + i);
		Thread.sleep(1);
	}

	static void lateTurns(int n) throws Exception {
		for (int i = 0; i < 1000; i++)
			sink += lateTurn(n + i);
		Thread.sleep(1);
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		for (int n = 0;; n++) {
			if (System.in.available() == 0)
				turns(n);
			else
				lateTurns(n);
		}
	}
}
