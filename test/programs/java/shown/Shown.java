package shown;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A program whose frames are looked at: two methods of one name, called by a lambda that the library
 * calls, and by reflection; a thread that waits. With the argument "garbage" a thread that makes it,
 * with "held" memory outside the heap that is kept.
 */
final class Shown {
    static volatile long sum;
    private static Object[] kept = new Object[1 << 16];
    private static ByteBuffer[] buffers = new ByteBuffer[64];

    private Shown() {
    }

    public static long work(int turns) {
        long value = turns;

        for (int i = 0; i < turns; i++) {
            value = value * 31 + (value >>> 7);
        }
        return value;
    }

    public static long work(long turns, String name) {
        long value = name.length();

        for (long i = 0; i < turns; i++) {
            value = value * 37 + (value >>> 9);
        }
        return value;
    }

    static void byLambda() {
        Comparator<Integer> slow = (a, b) -> {
            sum += work(20000);
            return Integer.compare(a, b);
        };
        TreeMap<Integer, Integer> map = new TreeMap<>(slow);

        for (int i = 0; i < 8; i++) {
            map.put(i, i);
        }
    }

    static void byReflection(Method method) throws ReflectiveOperationException {
        for (int i = 0; i < 8; i++) {
            sum += (Long) method.invoke(null, 40000L, "name");
        }
    }

    static void sleep() {
        while (true) {
            LockSupport.parkNanos(20_000_000);
        }
    }

    static void litter() {
        for (int i = 0;; i++) {
            kept[i & 0xffff] = new Object[64];
        }
    }

    static void keep() {
        for (int i = 0; i < buffers.length; i++) {
            buffers[i] = ByteBuffer.allocateDirect(1 << 16);
        }
    }

    private static void begin(String name, Runnable run) {
        Thread thread = new Thread(run, name);

        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        Method method = Shown.class.getMethod("work", long.class, String.class);
        String what = args.length > 0 ? args[0] : "";
        boolean holds = what.equals("held");

        begin("sleeper", Shown::sleep);
        if (what.equals("garbage")) {
            begin("litter", Shown::litter);
        }
        for (int turn = 0;; turn++) {
            byLambda();
            byReflection(method);
            if (holds && turn % 1000 == 999) {
                keep();
            }
        }
    }
}
