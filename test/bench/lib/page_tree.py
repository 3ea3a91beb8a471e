"""A made-up profile for test/bench/page.py, in the form of each viewer."""
import json
import random

DEPTH = 60


class Tree:
    """A made-up profile: nodes in preorder."""

    def __init__(self, frames):
        rng = random.Random(frames)
        self.names = [f"function_{i:05}_of_some_module_with_words"[:40] for i in range(min(frames // 4, 20_000))]
        self.nodes = [(0, 0, 0)]  # depth, name, own weight
        depth = 0
        while len(self.nodes) <= frames:
            depth = rng.randint(1, max(depth, 1))
            for d in range(depth, DEPTH + 1):
                self.nodes.append((d, rng.randrange(len(self.nodes) % len(self.names) + 1), 0))
                if len(self.nodes) > frames:
                    break
            d, name, _ = self.nodes[-1]
            self.nodes[-1] = (d, name, rng.randint(1, 20))
            depth = d

    def columns(self):
        """As `.frames`."""

        def number(value):
            out = bytearray()
            while value >= 128:
                out.append(value & 127 | 128)
                value >>= 7
            out.append(value)
            return bytes(out)

        def column(values):
            return b"".join(map(number, values))

        names = len(self.names)
        parts = {
            "names": "\n".join(self.names).encode(), "kinds": bytes([6]) * names, "file": bytes(names),
            "line": bytes(names), "module": bytes(names), "files": b"", "modules": b"",
            "frame": column(name + 1 for _, name, _ in self.nodes), "depth": column(d for d, _, _ in self.nodes),
            "self": column(own for _, _, own in self.nodes), "events": bytes(len(self.nodes)),
        }  # fmt: skip
        header = json.dumps({
            "title": "On-CPU Time Flame Graph", "unit": "samples", "from": 1, "until": 11, "period_ns": 10**7, "lost": 0,
            "frames": names, "nodes": len(self.nodes), "columns": [[name, len(part)] for name, part in parts.items()],
        }).encode()  # fmt: skip
        return b"SPF2" + len(header).to_bytes(4, "little") + header + b"".join(parts.values())

    def nested(self):
        """As d3-flame-graph reads it."""
        top = {"name": "all", "value": 0, "children": []}
        path = [top]
        for depth, name, own in self.nodes[1:]:
            node = {"name": self.names[name], "value": own, "children": []}
            del path[depth:]
            path[-1]["children"].append(node)
            path.append(node)
        todo = [(top, False)]
        while todo:
            node, is_done = todo.pop()
            if is_done:
                node["value"] += sum(child["value"] for child in node["children"])
                continue
            todo.append((node, True))
            todo += [(child, False) for child in node["children"]]
        return json.dumps(top).encode()

    def levels(self):
        """As Grafana's servers send it: columns in preorder."""
        total = [own for _, _, own in self.nodes]
        path = []
        for number, (depth, _, own) in enumerate(self.nodes):
            del path[depth:]
            for above in path:
                total[above] += own
            path.append(number)
        return json.dumps({
            "names": ["total", *self.names], "label": [0, *(name + 1 for _, name, _ in self.nodes[1:])],
            "level": [depth for depth, _, _ in self.nodes], "value": total, "self": [own for _, _, own in self.nodes],
        }).encode()  # fmt: skip

    def blocks(self, count):
        """The tree in so many parts, as an answer with `every=` tells them: [(weight, a line of JSON)]. Each has its
        share of the stacks; only all of them together have each node."""

        def fresh(name, own=0):
            return {"name": name, "kind": "native", "self": own, "children": []}

        top, parts, weight = fresh("all"), [], 0
        path, names = [top], []
        room = len(self.nodes) / count
        for number, (depth, name, own) in enumerate(self.nodes[1:], 1):
            del path[depth:], names[depth - 1 :]
            if number > room * (len(parts) + 1):
                parts.append((weight, top))
                top, weight = fresh("all"), 0
                path = [top]
                for above in names:
                    path.append(fresh(self.names[above]))
                    path[-2]["children"].append(path[-1])
            node = fresh(self.names[name], own)
            path[-1]["children"].append(node)
            path.append(node)
            names.append(name)
            weight += own
        parts.append((weight, top))
        return [(weight, json.dumps(top).encode()) for weight, top in parts]

    def speedscope(self):
        path, samples, weights = [], [], []
        for depth, name, own in self.nodes[1:]:
            del path[depth - 1 :]
            path.append(name)
            if own:
                samples.append(list(path))
                weights.append(own)
        return json.dumps({
            "$schema": "https://www.speedscope.app/file-format-schema.json", "name": "bench",
            "shared": {"frames": [{"name": name} for name in self.names]},
            "profiles": [{"type": "sampled", "name": "bench", "unit": "none", "startValue": 0, "endValue": sum(weights),
                          "samples": samples, "weights": weights}],
        }).encode()  # fmt: skip
