// SPDX-License-Identifier: GPL-2.0-or-later
/* Has the VM compile much: prints a line after `arguments[0]` turns, works until its input ends. */

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.zip.CRC32;

public class Works {
	static volatile long sink;

	static int mix(int a) {
		return a * 31 ^ (a >>> 7);
	}

	static int mixes(int a) {
		int sum = 0;

		for (int i = 0; i < 50; i++)
			sum += mix(a + i);
		return sum;
	}

	static long callsNothing(long x) {
		for (int i = 0; i < 1000; i++)
			x = x * 6364136223846793005L + 1442695040888963407L;
		return x;
	}

	static int deep(int n) {
		return n == 0 ? (int) callsNothing(n) : deep(n - 1) + 1;
	}

	static void turn(int i, Map<String, Integer> map, Method method) throws Exception {
		Function<Integer, Integer> lambda = x -> mixes(x) + 1;
		List<Integer> list = new ArrayList<>();
		byte[] bytes = new byte[4096], copy = new byte[4096];
		CRC32 crc = new CRC32();

		map.put("k" + i % 1000, i);
		crc.update(bytes);
		System.arraycopy(bytes, 0, copy, 0, bytes.length);
		for (int z = 0; z < 30; z++)
			list.add(z ^ i);
		Collections.sort(list);
		sink += lambda.apply(i) + callsNothing(i) + deep(20);
		sink += (Integer) method.invoke(null, i) + crc.getValue();
		sink += String.format("%d %s", i, "x").length();
		sink += list.stream().mapToInt(x -> x + 1).sum();
		synchronized (map) {
			sink++;
		}
	}

	public static void main(String[] arguments) throws Exception {
		Method method = Works.class.getDeclaredMethod("mixes", int.class);
		Map<String, Integer> map = new HashMap<>();
		int warm = Integer.parseInt(arguments[0]);

		Thread end = new Thread(() -> {
			try {
				System.in.read();
			} catch (java.io.IOException e) {
				sink++;
			}
			Runtime.getRuntime().halt(0);
		});
		end.setDaemon(true);
		end.start();
		for (int i = 0;; i++) {
			turn(i, map, method);
			if (i == warm)
				System.out.println("warm");
		}
	}
}
