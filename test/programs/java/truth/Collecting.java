// SPDX-License-Identifier: GPL-2.0-or-later
package truth;

/** Keeps the collector busy, in two threads, for ever: `truth.Collecting`. Prints a line when all is warm. */
final class Collecting {
	private static final int KEPT = 1 << 12;
	static volatile long made;

	private Collecting() {
	}

	private static final class Node {
		final Node next;
		final byte[] bytes;

		Node(Node next, int size) {
			this.next = next;
			bytes = new byte[size];
		}
	}

	/** Lists that live for a while, of which any may be dropped. */
	private static void collect() {
		Node[] heads = new Node[KEPT];
		long count = 0;
		for (;; count++) {
			int at = (int)((count * 0x9e3779b97f4a7c15L) >>> 52);
			Node head = heads[at];
			heads[at] = (count & 15) == 0 ? null : new Node(head, (int)(count & 255));
			if ((count & 0xfff) == 0)
				made = count;
		}
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 2; i++) {
			Thread thread = new Thread(Collecting::collect, "collect-" + i);
			thread.setDaemon(true);
			thread.start();
		}
		while (made < 1_000_000)
			Thread.sleep(50);
		System.out.println("{}");
		Thread.sleep(86_400_000);
	}
}
