// SPDX-License-Identifier: GPL-2.0-only
package stackprobe.jfr1;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** What a window's recording has, as stacks of each probe. */
final class Window {
	private static final long READ_NS = 10_000_000_000L;

	private final Instant from, to;
	private final Events events;
	private final Map<String, Stacks> stacks = new HashMap<>();
	private long lostSamples, lostBytes;
	private boolean cut;

	/** cut: the recording is as big as it may be, so its beginning is missing. */
	Window(Instant from, Instant to, boolean cut, Events events) {
		this.from = from;
		this.to = to;
		this.cut = cut;
		this.events = events;
		for (String probe : Session.PROBES)
			stacks.put(probe, new Stacks());
	}

	void read(Path file) throws IOException {
		long until = System.nanoTime() + READ_NS;

		try (RecordingFile recorded = new RecordingFile(file)) {
			while (recorded.hasMoreEvents()) {
				if (System.nanoTime() - until > 0) {
					cut = true;
					return;
				}
				take(recorded.readEvent());
			}
		}
	}

	private void take(RecordedEvent event) {
		Instant end = event.getEndTime();
		String name = event.getEventType().getName();
		String probe = events.probe(name);

		if (end.isBefore(from) || !end.isBefore(to))
			return; // two recordings have it, at their border
		if (probe != null)
			stacks.get(probe).add(thread(event), event.getStackTrace(), events.weight(name, event));
		else if (name.equals(Events.CPU_LOST))
			lostSamples += event.getLong("lostSamples");
		else if (name.equals(Events.DATA_LOSS))
			lostBytes += event.getLong("amount");
	}

	private static String thread(RecordedEvent event) {
		RecordedThread thread =
			event.hasField("sampledThread") ? event.getThread("sampledThread") : event.getThread();
		String name = thread == null ? null : thread.getJavaName();

		if (thread != null && name == null)
			name = thread.getOSName();
		return name == null ? "" : Files.plain(name);
	}

	CharSequence text(String probe, long sequence) {
		Stacks own = stacks.get(probe);
		StringBuilder text = new StringBuilder();

		text.append("stackprobe-jfr\t1\t").append(probe).append('\t').append(sequence).append('\t');
		text.append(micros(from)).append('\t').append(micros(to)).append('\t');
		text.append(probe.equals("oncpu") ? lostSamples : 0).append('\t').append(lostBytes).append('\t');
		text.append(own.refused()).append('\t').append(own.refusedWeight()).append('\t');
		text.append(cut ? 1 : 0).append('\n');
		own.write(text);
		return text;
	}

	private static long micros(Instant at) {
		return at.getEpochSecond() * 1_000_000 + at.getNano() / 1000;
	}
}
