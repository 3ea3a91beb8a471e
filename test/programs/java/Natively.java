// SPDX-License-Identifier: GPL-2.0-or-later
// Native memory of a JVM: 40 direct buffers of 1 MB and 20 deflaters, kept. Waits for a line before,
// tells its answer, and waits for another one.
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.zip.Deflater;

class Natively {
	static final ArrayList<Object> kept = new ArrayList<>();

	static void buffers() {
		for (int i = 0; i < 40; i++)
			kept.add(ByteBuffer.allocateDirect(1000000));
	}

	static void deflaters() {
		for (int i = 0; i < 20; i++)
			kept.add(new Deflater());
	}

	public static void main(String[] args) throws Exception {
		new Deflater().end(); // its library is there
		System.out.println("ready");
		System.in.read();
		buffers();
		deflaters();
		System.out.println("{\"buffers\": 40000000, \"deflaters\": 20}");
		System.in.read();
	}
}
