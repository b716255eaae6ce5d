"""Takes model files apart and puts them together again, with a checksum that fits."""

import io
import json
from itertools import count

import numpy as np

from quorate.store import format


class Doctored:
    """A model file to be changed: `manifest`, `tensors`, and of its third-party objects the tree `root` and arrays."""

    def __init__(self, data):
        manifest, self.tensors = format.unpack(data)
        self.manifest = json.loads(manifest)
        self.third = self.manifest["third"]
        self.root = self.third and _apart(json.loads(bytes(self.tensors[self.third["schema"]])))
        self._ids = {node["__id__"]: node for node in self.nodes()} if self.root else {}

    def bytes(self):
        """The file."""
        if self.root is not None:
            self.tensors[self.third["schema"]] = np.frombuffer(json.dumps(self.root).encode(), np.uint8)
        return format.pack(json.dumps(self.manifest).encode(), self.tensors)

    def array(self, name, part=""):
        """The array in a file of the third-party objects."""
        return np.load(io.BytesIO(bytes(self.tensors[self.third["files"][name][part]])))

    def put(self, name, array, part=""):
        """Another array in its place (or the bytes of one)."""
        raw = io.BytesIO()
        if isinstance(array, bytes):
            raw.write(array)
        else:
            np.save(raw, array)
        self.tensors[self.third["files"][name][part]] = np.frombuffer(raw.getvalue(), np.uint8)

    def nodes(self, **wanted):
        """The nodes of the tree with these values, as class_="Tree"."""
        found = []

        def visit(value):
            is_node = isinstance(value, dict) and "__loader__" in value
            if is_node and all(value.get(f"__{key.strip('_')}__") == one for key, one in wanted.items()):
                found.append(value)
            for inside in (
                value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            ):
                visit(inside)

        visit(self.root)
        return found

    def state(self, class_):
        """{attribute: node} of the first object of a class."""
        node = self.nodes(class_=class_)[0]
        return node["content"]["content"]

    def change(self, node, change):
        """Change the array of a node by a function, in place or to what it gives."""
        node = self._ids[node["__id__"]]
        array = self.array(node["file"]).copy()
        new = change(array)
        self.put(node["file"], array if new is None else new)


def literal(text):
    """A node of a string, number, true, false or null."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": text,
        "is_json": True,
        "__id__": next(_NEW),
    }


_NEW = count(10**7)


def _apart(root):
    """The tree without numbers and strings that several places share, so that one can be changed."""
    known = {}

    def visit(value):
        if isinstance(value, list):
            return [visit(v) for v in value]
        if not isinstance(value, dict):
            return value
        if value.get("__loader__") == "JsonNode":
            known[value["__id__"]] = value
        if len(value) == 1 and value.get("__id__") in known:
            return {**known[value["__id__"]], "__id__": next(_NEW)}
        return {k: visit(v) for k, v in value.items()}

    return visit(root)


def path_to(value, *path):
    """The value at a path in JSON, all but its last step, and that step."""
    for step in path[:-1]:
        value = value[step]
    return value, path[-1]
