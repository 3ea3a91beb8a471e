"""Java's frames against what the program wrote down (test/programs/java/truth/).

A sample is right when its Java frames are a stack that its leaf has told, and below it only what may
be there. `short`: they are the beginning of one, so what is inlined at the leaf is missing, and nothing is
made up. All else is wrong.
"""
import re
from collections import Counter
from typing import NamedTuple

FRAME = re.compile(r"(.+?)(?: \(([^()]*?)(?::(\d+))?\))?_\[([ji0])\]")
# What tells one made class from another of its kind, and one run from another.
ADDRESS = re.compile(r"[/.+]0x[0-9a-f]+|[/+]\d+|(?<=\$\$Lambda)\$\d+")
SERIAL = re.compile(r"(GeneratedMethodAccessor|GeneratedConstructorAccessor)\d+")
FORM = re.compile(r"(java\.lang\.invoke\.LambdaForm\$[A-Z]+)\d*")
NAMELESS = re.compile(r"\[(?:jit|java|jvm|unknown|hotspot)[^\]]*\].*")

ROOTS = {"java.lang.Thread.run", "truth.Leaves.main", "java.util.concurrent.ForkJoinWorkerThread.run"}
# Where a virtual thread begins on its carrier.
BOUNDARY = ("jdk.internal.vm.Continuation.enterSpecial", "jdk.internal.vm.Continuation.enter")
RECORDING = "truth.Worker.record"


class Frame(NamedTuple):
    name: str  # class.method
    line: int  # 0: none is told
    kind: str  # j, i, 0


def plain(name):
    """Without what differs between runs."""
    owner, _, method = name.rpartition(".")
    owner = SERIAL.sub(r"\1", FORM.sub(r"\1", ADDRESS.sub("", owner)))
    if ".LambdaForm" in owner or ".Lambda.Form" in owner:
        method = re.sub(r"_?\d+$", "", method)
    return f"{owner}.{method}"


def java_frames(stack):
    """Root first, without stubs, which have no class."""
    found = (FRAME.fullmatch(text) for text in stack.frames)
    return [Frame(plain(m[1]), int(m[3] or 0), m[4]) for m in found if m and "." in m[1]]


def nameless(stack):
    """Frames of Java that have no name."""
    return [text for text in stack.frames if NAMELESS.fullmatch(text)]


def rooted(stack, frames):
    """Whether it begins where the thread does."""
    return bool(frames) and frames[0].name in ROOTS.union(BOUNDARY) and "[truncated]" not in stack.frames


class Told:
    """One stack: names and lines, root first."""

    def __init__(self, texts, hidden):
        frames = [text.rsplit(" ", 1) for text in texts]
        self.frames = [(plain(name), int(line)) for name, line in frames]
        self.hidden = hidden

    def common(self, frames):
        """How many of `frames` are its own, from the root on; and the lines that aren't, of those that
        call one of them."""
        pairs = list(zip(self.frames, frames))
        at = next((i for i, (told, frame) in enumerate(pairs) if told[0] != frame.name), len(pairs))
        return at, [f"{frame.name}: {frame.line}, not {told[1]}" for told, frame in pairs[: max(at - 1, 0)]
                    if frame.line and told[1] > 0 and frame.line != told[1]]  # fmt: skip


def is_hidden(name):
    """Frames that JDK 8 doesn't tell of."""
    return "$$Lambda." in name or name.startswith("java.lang.invoke.")


class Leaf:
    def __init__(self, name, told, hidden):
        self.name, self.hidden, self.partial = name, hidden, told["partial"]
        self.below = re.compile(told["below"]) if told["below"] else None
        self.must = re.compile(told["must"]) if told["must"] else None
        self.stacks = [Told(texts, hidden) for texts in told["stacks"]]

    def may_end(self, rest):
        """Whether these may stand below a told stack."""
        for frame in rest:
            if frame.name == RECORDING:
                return True
            if not (self.below and self.below.search(frame.name)):
                return False
        return True

    def judge(self, frames):
        """("right" | "short" | "wrong" | "line", why)"""
        if not self.hidden:
            frames = [frame for frame in frames if not is_hidden(frame.name)]
        best = ("wrong", "no stack was told", -1)
        for told in self.stacks:
            at, lines = told.common(frames)
            rest, whole = frames[at:], at == len(told.frames)
            turned = any(frame.name == self.name + ".turn" for frame in frames[:at])
            if (whole or (self.partial and turned)) and self.may_end(rest):
                if self.must and not self.must.search(frames[-1].name):
                    return "short", f"ends in {frames[-1].name}"
                if not lines:
                    return "right", ""
                best = max(best, ("line", lines[0], 1000), key=lambda one: one[2])
            elif not rest:
                best = max(best, ("short", f"ends in {frames[-1].name}", 999), key=lambda one: one[2])
            else:
                wanted = told.frames[at][0] if at < len(told.frames) else "nothing"
                why = f"at {at}: {rest[0].name} ({rest[0].kind}), not {wanted}"
                best = max(best, ("wrong", why, at), key=lambda one: one[2])
        return best[:2]


class Judged:
    """Of one kind of leaf; weights."""

    def __init__(self):
        self.total = self.rooted = self.nameless = 0
        self.verdicts = Counter()
        self.kinds = Counter()  # of the leaf-most Java frame
        self.why = Counter()
        self.example = {}

    def add(self, stack, verdict, why, frames, root):
        self.total += stack.value
        self.rooted += stack.value * root
        self.nameless += stack.value * bool(nameless(stack))
        self.verdicts[verdict] += stack.value
        self.kinds[frames[-1].kind if frames else "-"] += stack.value
        for reason in filter(None, [f"{verdict}: {why}" if why else "", "" if root else "not rooted"]):
            self.why[reason] += stack.value
            self.example.setdefault(reason, stack.frames)

    def share(self, *verdicts):
        return sum(self.verdicts[verdict] for verdict in verdicts) / max(self.total, 1)

    @property
    def root_share(self):
        return self.rooted / max(self.total, 1)

    def __iadd__(self, other):
        for name in ("total", "rooted", "nameless", "verdicts", "kinds", "why"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.example.update(other.example)
        return self

    def text(self, examples=2):
        lines = [f"{self.total} samples: rooted {self.root_share:.2%}, right {self.share('right'):.2%}, "
                 f"short {self.share('short'):.2%}, line {self.share('line'):.2%}, "
                 f"wrong {self.share('wrong'):.2%}, nameless {self.nameless}, {dict(self.kinds)}"]  # fmt: skip
        for reason, count in self.why.most_common(6):
            lines.append(f"  {count} {reason}")
        for reason, _ in self.why.most_common(examples):
            lines.append(f"  {reason}: {';'.join(self.example[reason])[-1500:]}")
        return "\n".join(lines)


OUTSIDE = "between the leaves"


class Truth:
    def __init__(self, told):
        self.leaves = {name: Leaf(name, leaf, told["hidden"]) for name, leaf in told["leaves"].items()}
        self.turns = {f"{name}.turn": name for name in self.leaves}
        self.threads = [*told["threads"], "java", "ForkJoinPool-1-"]  # main's name, and a carrier's

    def of_java(self, stack):
        """Whether it is of a thread that is given turns (thread_frame is 1)."""
        return len(stack.frames) > 1 and stack.frames[1] in self.threads

    def leaf_of(self, frames):
        """By its turn, or, where that is lost, by a method of its own."""
        found = next((self.turns[frame.name] for frame in frames if frame.name in self.turns), None)
        owners = (frame.name.rpartition(".")[0] for frame in frames)
        return found or next((owner for owner in owners if owner in self.leaves), None)

    def judged(self, stacks):
        """{leaf or OUTSIDE: Judged}, of the threads that have turns."""
        found = {name: Judged() for name in [*self.leaves, OUTSIDE]}
        for stack in stacks:
            if not self.of_java(stack):
                continue
            frames = java_frames(stack)
            name = self.leaf_of(frames) or OUTSIDE
            root = rooted(stack, frames)
            virtual = [at for at, frame in enumerate(frames) if frame.name in BOUNDARY]
            frames = frames[virtual[-1] :] if virtual else frames
            verdict, why = ("right", "")
            if name != OUTSIDE:
                verdict, why = self.leaves[name].judge(frames)
            found[name].add(stack, verdict, why, frames, root)
        return found

    def counts(self, stacks, threads):
        """Samples by leaf, of these threads."""
        counts = Counter()
        for stack in stacks:
            name = self.leaf_of(java_frames(stack))
            if name and stack.frames[1] in threads:
                counts[name] += stack.value
        return counts


def merged(parts):
    whole = Judged()
    for part in parts:
        whole += part
    return whole
