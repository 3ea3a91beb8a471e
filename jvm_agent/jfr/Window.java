// SPDX-License-Identifier: GPL-2.0-or-later
package stackprobe.jfr1;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** What recordings have of a window, as stacks of each probe: its own, and the one before to its end. */
final class Window {
	private static final long READ_NS = 10_000_000_000L;

	private final Instant from;
	private Instant to, since;
	private final Events events;
	private final Map<String, Stacks> stacks = new HashMap<>();
	private long lostSamples, lostBytes;
	private boolean cut;

	Window(Instant from, Events events) {
		this.from = from;
		this.events = events;
		for (String probe : Session.PROBES)
			stacks.put(probe, new Stacks());
	}

	Instant from() {
		return from;
	}

	/**
	 * Where it ends, and from when on waits count. cut: its recording is as big as it may be, so its
	 * beginning is missing. Returns the next one.
	 */
	Window end(Instant to, Instant since, boolean cut) {
		this.to = to;
		this.since = since;
		this.cut |= cut;
		return new Window(to, events);
	}

	/** Takes what it has of a recording, of its events from begun until border; what is behind goes to the next. */
	void read(Path file, Instant begun, Instant border, Window next) throws IOException {
		long until = System.nanoTime() + READ_NS;

		try (RecordingFile recorded = new RecordingFile(file)) {
			while (recorded.hasMoreEvents()) {
				if (System.nanoTime() - until > 0) {
					cut = next.cut = true;
					return;
				}
				RecordedEvent event = recorded.readEvent();
				Instant end = event.getEndTime();
				if (!end.isBefore(begun) && end.isBefore(border)) // else another recording has it, too
					(end.isBefore(to) ? this : next).take(event, since);
			}
		}
	}

	private void take(RecordedEvent event, Instant since) {
		String name = event.getEventType().getName();
		String probe = events.probe(name);

		if (probe != null)
			stacks.get(probe).add(thread(event), event.getStackTrace(), events.weight(name, event, since));
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
