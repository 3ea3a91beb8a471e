// SPDX-License-Identifier: GPL-2.0-or-later
package stackprobe.jfr1;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedStackTrace;

/**
 * Stacks of one probe, with their sums. Each method is told once, in a line `m` (they count from 0); a stack
 * refers to it:
 *
 *     m TAB class TAB method TAB descriptor
 *     s TAB weight TAB events TAB whole|cut TAB thread TAB kind method:line kind method:line …
 *
 * Root first; weight in nanoseconds or bytes; kind `0` interpreted, `j` compiled, `i` inlined, `n` native;
 * line 0: not known. What is above the bound is refused, and counted.
 */
final class Stacks {
	private static final int BYTES_MAX = 12 << 20; // of text; the reader takes 16 MiB
	private static final int NAME_MAX = 1000;

	// An address, and a hash that is another one in each run.
	private static final Pattern MADE_UP = Pattern.compile("[/+.]0x[0-9a-f]+(\\.\\d+)?$|\\.\\d+$");

	private final Map<String, Integer> methods = new LinkedHashMap<>();
	private final Map<RecordedMethod, Integer> numbers = new IdentityHashMap<>();
	private final Map<String, long[]> sums = new HashMap<>();
	private long bytes, refused, refusedWeight;

	void add(String thread, RecordedStackTrace trace, long weight) {
		String stack = (trace == null || trace.isTruncated() ? "cut\t" : "whole\t") + shortened(thread) + "\t";
		long[] sum;

		if (bytes > BYTES_MAX) {
			refuse(weight);
			return;
		}
		if (trace != null)
			stack += frames(trace.getFrames());
		sum = sums.get(stack);
		if (sum == null) {
			sum = new long[2];
			sums.put(stack, sum);
			bytes += stack.length() + 48L;
		}
		sum[0] += weight;
		sum[1]++;
	}

	private void refuse(long weight) {
		refused++;
		refusedWeight += weight;
	}

	long refused() {
		return refused;
	}

	long refusedWeight() {
		return refusedWeight;
	}

	private String frames(List<RecordedFrame> frames) {
		StringBuilder text = new StringBuilder();

		for (int i = frames.size() - 1; i >= 0; i--) {
			RecordedFrame frame = frames.get(i);

			text.append(kind(frame.getType())).append(number(frame.getMethod())).append(':');
			text.append(Math.max(frame.getLineNumber(), 0)).append(i == 0 ? "" : " ");
		}
		return text.toString();
	}

	private static char kind(String type) {
		switch (type) {
		case "Interpreted":
			return '0';
		case "Inlined":
			return 'i';
		case "Native":
			return 'n';
		default:
			return 'j';
		}
	}

	/** Events of one piece of the recording share their methods, so that most are known. */
	private int number(RecordedMethod method) {
		return numbers.computeIfAbsent(method, this::add);
	}

	private int add(RecordedMethod method) {
		String owner = MADE_UP.matcher(Files.plain(method.getType().getName())).replaceFirst("");
		String text = shortened(owner) + "\t" +
			shortened(Files.plain(method.getName())) + "\t" + shortened(Files.plain(method.getDescriptor()));
		Integer known = methods.get(text);

		if (known != null)
			return known;
		bytes += text.length() + 3L;
		methods.put(text, methods.size());
		return methods.size() - 1;
	}

	private static String shortened(String text) {
		return text.length() <= NAME_MAX ? text : text.substring(0, NAME_MAX);
	}

	void write(StringBuilder text) {
		for (String method : methods.keySet())
			text.append("m\t").append(method).append('\n');
		for (Map.Entry<String, long[]> entry : sums.entrySet()) {
			long[] sum = entry.getValue();

			text.append("s\t").append(sum[0]).append('\t').append(sum[1]).append('\t');
			text.append(entry.getKey()).append('\n');
		}
	}
}
