"""What a screen reader gets of the page: the browser's accessibility tree."""


class Reader:
    """The tree as it is now."""

    def __init__(self, tab):
        nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
        self.nodes = {node["nodeId"]: node for node in nodes}
        self.root = nodes[0]

    @staticmethod
    def role(node):
        return None if node.get("ignored") else node.get("role", {}).get("value")

    @staticmethod
    def name(node):
        return node.get("name", {}).get("value", "")

    @staticmethod
    def value(node, key):
        """Of its properties one: level, expanded."""
        return next((one["value"].get("value") for one in node.get("properties", []) if one["name"] == key), None)

    def below(self, node, stop=()):
        """Nodes below it in their order; not those below another one of these roles, nor that itself."""
        for number in node.get("childIds", []):
            child = self.nodes.get(number)
            if child and self.role(child) not in stop:
                yield child
                yield from self.below(child, stop)

    def all(self, role, within=None):
        return [node for node in self.below(within or self.root) if self.role(node) == role]

    def part(self, role, name):
        """The one that is called so: ("region", "Processes")."""
        (found,) = [node for node in self.all(role) if self.name(node) == name]
        return found

    def text(self, node, stop=()):
        """All that is read of it."""
        return plain("".join(self.name(one) for one in self.below(node, stop) if self.role(one) == "StaticText"))

    def rows(self, within):
        """Texts of the cells of each row of a table's body."""
        found = [[self.text(cell) for cell in self.all("cell", row)] for row in self.all("row", within)]
        return [cells for cells in found if cells]


def plain(text):
    return " ".join(text.split())


def cells(page, selector):
    """The same of the document's rows."""
    found = page.tab.run(f"[...document.querySelectorAll({selector!r})].map((row) => [...row.cells].map((cell) => cell.textContent))")
    return [[plain(text) for text in row] for row in found]
