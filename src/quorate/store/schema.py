"""What skops writes about third-party objects, read with suspicion before skops reads it.

skops describes objects by a tree of nodes, each with a loader, a class and what the loader needs. Here only the
loaders below are known, each with exactly its own keys; every class must be harmless or trusted; every array is
checked; and states that scikit-learn's compiled code reads without looking are checked by states.py first.

The tree is kept in a shorter form than skops writes: a node that was described before is {"__id__": n}.
"""

import json
import sys
from dataclasses import dataclass
from itertools import count

import numpy as np

from quorate.store import states, strict
from quorate.store.format import ModelFormatError, Untrusted
from quorate.store.trust import wanted

PROTOCOL = 2
MAX_DEPTH = 150  # nodes within nodes
MANY, FOLD = 20_000, 25  # how much larger the tree may be when what is shared is written out
COMMON = {"__class__", "__module__", "__loader__", "__id__"}
SCALARS = {"numpy." + np.dtype(c).type.__name__ for c in "?bBhHiIlLqQefdFDSU"}
# Functions of one number that take the same time for any.
SPECIAL = {
    *("cbrt", "entr", "erf", "erfc", "erfinv", "exp10", "exp2", "expit", "expm1", "gammaln"),
    *("log1p", "log_expit", "log_ndtr", "logit", "ndtr", "ndtri"),
}
PLAIN = {
    *("BytesNode", "DictNode", "JsonNode", "ListNode", "NdArrayNode", "SetNode", "SliceNode", "TupleNode"),
    "TypeNode",
}
PRIMITIVES = {"builtins." + name for name in ("str", "int", "float", "bool", "list", "tuple", "dict", "set")}
KEYS = {"builtins.str", "builtins.int", "builtins.float", *SCALARS}

# loader: (its own keys, harmless classes)
LOADERS = {
    "JsonNode": ({"content", "is_json"}, {"builtins.str"}),
    "DictNode": ({"content", "key_types"}, {"builtins.dict", "collections.OrderedDict"}),
    "DefaultDictNode": ({"content"}, {"collections.defaultdict"}),
    "ListNode": ({"content"}, {"builtins.list"}),
    "TupleNode": ({"content"}, {"builtins.tuple"}),
    "SetNode": ({"content"}, {"builtins.set"}),
    "SliceNode": ({"content"}, {"builtins.slice"}),
    "BytesNode": ({"file"}, {"builtins.bytes"}),
    "BytearrayNode": ({"file"}, {"builtins.bytearray"}),
    "TypeNode": (set(), PRIMITIVES | SCALARS),
    "FunctionNode": (set(), set()),
    "PartialNode": ({"content"}, set()),
    "ObjectNode": ({"content"}, set()),
    "NdArrayNode": ({"type", "file"}, {"numpy.ndarray"} | SCALARS),
    "MaskedArrayNode": ({"content"}, {"numpy.ma.MaskedArray"}),
    "DTypeNode": ({"content"}, {"numpy.dtype"}),
    "RandomStateNode": ({"content"}, {"numpy.random.mtrand.RandomState"}),
    "RandomGeneratorNode": ({"content"}, {"numpy.random._generator.Generator"}),
    "SparseMatrixNode": ({"type", "file"}, set()),
    "TreeNode": ({"content", "__reduce__"}, set()),
    "LossNode": ({"content", "__reduce__"}, set()),
}
CONTAINERS = {"DictNode": dict, "ListNode": list, "TupleNode": tuple, "SetNode": set}


@dataclass(frozen=True)
class Stand:
    """Stands for an object in a state that is evaluated before anything is made."""

    name: str
    state: object


class Schema:
    """A tree of nodes and the files beside it; `check` raises ModelFormatError where something is not right."""

    def __init__(self, root, files, trust):
        self.root = root
        self.files = files
        self.unused = set(files)
        self.trust = trust
        self.nodes = {}  # by id, when they are complete
        self.sizes = {}  # by id, how many nodes there would be without sharing
        self._values = {}  # by id, what was evaluated
        self.names = set()  # of all classes and functions
        self.untrusted = set()
        self._states = []  # (name, node) that states.py knows
        self._later = []  # (check, node), for when all nodes are known

    def check(self):
        """Walk the whole tree, then look at what it describes."""
        protocol = self.root.get("protocol") if type(self.root) is dict else None
        if protocol != PROTOCOL or type(self.root.get("_skops_version")) is not str:
            raise ModelFormatError(
                f"its third-party objects have skops' protocol {protocol!r}, not {PROTOCOL}"
            )
        top = {key: value for key, value in self.root.items() if key not in ("protocol", "_skops_version")}
        self._node(top, 0)
        if top.get("__loader__") != "ListNode":
            raise ModelFormatError("its third-party objects should be a list")
        # skops looks at a node as often as it is shared.
        if self.sizes[top["__id__"]] > MANY + FOLD * len(self.nodes):
            raise ModelFormatError("its third-party objects share too many parts of each other")
        if self.untrusted:
            raise Untrusted(_please(self.untrusted))
        if self.unused:
            raise ModelFormatError("it has arrays that no third-party object uses")
        for check, node in self._later:
            check(self, node)
        for name, node in self._states:
            states.BEFORE[name](self, node)
        return len(top["content"])

    def later(self, check, *nodes):
        """Check nodes when all nodes are known."""
        self._later += [(check, node) for node in nodes]

    # the walk

    def _node(self, node, depth):
        if type(node) is not dict or type(node.get("__id__")) is not int or node["__id__"] < 1:
            raise ModelFormatError("a node is no node")
        if depth > MAX_DEPTH:
            raise ModelFormatError("its third-party objects are nested too deeply")
        if len(node) == 1:
            return self._known(node)
        if node["__id__"] in self.nodes:
            raise ModelFormatError("a node is described twice")
        loader, name = self._kind(node)
        inside = [self._node(child, depth + 1) for child in _CHILDREN.get(loader, _no_children)(self, node)]
        self.nodes[node["__id__"]] = node
        self.sizes[node["__id__"]] = 1 + sum(self.sizes[child["__id__"]] for child in inside)
        if name in states.BEFORE:
            self._states.append((name, node))
        return node

    def _known(self, node):
        """A node that was complete before; so no object holds itself."""
        if node["__id__"] not in self.nodes:
            raise ModelFormatError("a node refers to one that was not there before it")
        return self.nodes[node["__id__"]]

    def _kind(self, node):
        loader, module, cls = (node.get(key) for key in ("__loader__", "__module__", "__class__"))
        if type(loader) is not str or loader not in LOADERS:
            raise ModelFormatError(
                f"{module}.{cls} is written as a {loader}, which is not read: it could run code"
            )
        own, harmless = LOADERS[loader]
        if loader == "NdArrayNode" and node.get("type") == "json":
            own = {"type", "content", "shape"}
        if node.keys() - COMMON != own and not (loader == "ObjectNode" and node.keys() == COMMON):
            raise ModelFormatError(f"a {loader} has the keys {sorted(node)}")
        if type(module) is not str or type(cls) is not str:
            raise ModelFormatError("a node has no class")
        name = f"{module}.{cls}"
        if loader == "FunctionNode" and _ufunc(module, cls):
            self.names.add(name)
        elif name not in harmless:
            self._third_party(loader, name)
        return loader, name

    def _third_party(self, loader, name):
        self.names.add(name)
        thing = self.trust.find(name)
        if thing is None:
            self.untrusted.add(name)
        elif not _suits(loader, name, thing):
            raise ModelFormatError(f"{name} cannot be made by a {loader}")

    # values

    def deref(self, node):
        """The node that a node stands for."""
        return self.nodes[node["__id__"]]

    def plain(self, node):
        """The value of a node, with a Stand for what is more than plain data."""
        node = self.deref(node)
        if node["__id__"] not in self._values:
            self._values[node["__id__"]] = self._evaluated(node)
        return self._values[node["__id__"]]

    def _evaluated(self, node):
        loader = node["__loader__"]
        if loader == "JsonNode":
            return json.loads(node["content"])
        if loader == "DictNode":
            return {key: self.plain(value) for key, value in node["content"].items()}
        if loader in ("ListNode", "TupleNode"):
            return CONTAINERS[loader](self.plain(value) for value in node["content"])
        if loader == "NdArrayNode" and node["type"] == "numpy":
            return self.files[node["file"]].array
        inside = self.plain(node["content"]) if loader == "ObjectNode" and "content" in node else None
        return Stand(f"{node['__module__']}.{node['__class__']}", inside)

    def file(self, node, kind):
        """The file of a node, which no other node uses."""
        name = node["file"]
        if type(name) is not str or name not in self.unused or self.files[name].kind != kind:
            raise ModelFormatError(f"there is no {kind} {name!r} left to use")
        self.unused.remove(name)
        return self.files[name]


def _suits(loader, name, thing):
    """Whether a loader may make such a thing."""
    if loader in CONTAINERS:
        return isinstance(thing, type) and issubclass(thing, CONTAINERS[loader])
    if loader == "FunctionNode":
        return callable(thing) and not isinstance(thing, type)
    if loader == "PartialNode":
        return name == "functools.partial"
    if loader == "TreeNode":
        return name == "sklearn.tree._tree.Tree"
    if loader == "LossNode":
        return name.startswith(("sklearn._loss._loss.", "sklearn.linear_model._sgd_fast."))
    if loader == "SparseMatrixNode":
        return name.startswith("scipy.sparse.")
    if loader == "TypeNode":
        return isinstance(thing, type)
    if loader != "ObjectNode" or not isinstance(thing, type) or name.startswith("scipy.sparse."):
        return False
    return states.can_be_made(name, thing)


def _ufunc(module, name):
    """Whether this is one of NumPy's or SciPy's functions of one number, which do nothing but compute."""
    import scipy.special  # noqa: F401 — so that the rooms it is made of are there, and need not be imported

    known = module == "numpy" or (module.startswith("scipy.special") and name in SPECIAL)
    # Not getattr: some modules import what they are asked for.
    found = vars(sys.modules[module]).get(name) if known and module in sys.modules else None
    return isinstance(found, np.ufunc) and (found.nin, found.nout, found.signature) == (1, 1, None)


def _please(names):
    listed = "".join(f"\n    {name}" for name in sorted(names))
    trust = ", ".join(repr(name) for name in wanted(names)).replace("'", '"')
    return (
        f"it holds third-party types that you have not said you trust:{listed}\n"
        f"if you trust whoever made the file, say so: trust=[{trust}]"
    )


# children of a node, by loader, in the order in which skops reads them


def _no_children(schema, node):
    return ()


def _listed(schema, node):
    if type(node["content"]) is not list:
        raise ModelFormatError("a node should hold a list")
    return node["content"]


def _dict(schema, node):
    content, types = node["content"], node["key_types"]
    if type(content) is not dict or type(types) is not dict or types.get("__loader__") != "ListNode":
        raise ModelFormatError("a dictionary should have keys, and types of keys")
    if len(_listed(schema, types)) != len(content):
        raise ModelFormatError("a dictionary has more or fewer types than keys")
    schema.later(_key_types, types)
    return [types, *content.values()]


def _key_types(schema, types):
    """skops calls the type of a key with the key, so it must be one that makes keys."""
    for one in map(schema.deref, types["content"]):
        name = f"{one['__module__']}.{one['__class__']}"
        if one["__loader__"] != "TypeNode" or name not in KEYS:
            raise ModelFormatError(f"{name} cannot be the type of a key")


def _named(*names):
    def children(schema, node):
        return strict.keys(node["content"], names, f"a {node['__loader__']}")

    return children


def _set(schema, node):
    """A set, which the walk over finished objects does not see into."""
    schema.later(_plain, *_listed(schema, node))
    return node["content"]


def _default(schema, node):
    inside = strict.keys(node["content"], ("main", "default_factory"), "a DefaultDictNode")
    schema.later(_plain, inside[1])
    return inside


def _partial(schema, node):
    """A function and some of what it is given, which the walk over finished objects does not see."""
    names = ("func", "args", "kwds", "namespace")
    function, *given = strict.keys(node["content"], names, "a PartialNode")
    schema.later(_function, function)
    schema.later(_plain, *given)
    return function, *given


def _function(schema, node):
    if schema.deref(node)["__loader__"] != "FunctionNode":
        raise ModelFormatError("a partial of something else than a function")


def _plain(schema, node):
    """That a node is data and nothing else: numbers, strings, arrays, their types, and what holds these."""
    node = schema.deref(node)
    loader, content = node["__loader__"], node.get("content", ())
    if loader not in PLAIN or f"{node['__module__']}.{node['__class__']}" not in LOADERS[loader][1]:
        raise ModelFormatError(f"a {node['__class__']} stands where only data may stand")
    if loader in CONTAINERS:
        for inside in content.values() if loader == "DictNode" else content:
            _plain(schema, inside)
    elif node.get("type") == "json":
        raise ModelFormatError("an array of objects stands where only data may stand")


def _json(schema, node):
    if type(node["content"]) is not str or node["is_json"] is not True:
        raise ModelFormatError("a JsonNode should hold text")
    try:
        value = json.loads(node["content"])
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{node['content'][:80]!r} is no JSON") from error
    if isinstance(value, list | dict):
        raise ModelFormatError("a JsonNode should hold one value")
    return ()


def _slice(schema, node):
    ends = strict.keys(node["content"], ("start", "stop", "step"), "a slice")
    if not all(end is None or type(end) in (int, str) for end in ends):
        raise ModelFormatError("a slice has ends that are none")
    return ()


def _array(schema, node):
    if node["type"] == "json":
        schema.later(_object_array, node)
        return [*_listed(schema, node), node["shape"]]
    if node["type"] != "numpy":
        raise ModelFormatError(f"an array of type {node['type']!r}")
    array = schema.file(node, "npy").array
    if node["__class__"] != "ndarray" and (array.size != 1 or array.ndim):
        raise ModelFormatError("a single number is an array")
    return ()


def _object_array(schema, node):
    """An array of objects is made from lists in lists, so these must have the shape, and what is in them no length."""
    shape, rows = schema.plain(node["shape"]), [schema.deref(one) for one in node["content"]]
    good = type(shape) is tuple and len(shape) in (1, 2) and shape[0] == len(rows)
    if good and len(shape) == 2:
        good = all(row["__loader__"] == "ListNode" and len(row["content"]) == shape[1] for row in rows)
        cells = [schema.deref(one) for row in rows for one in row["content"]] if good else []
        good = good and all(_is_one(schema, cell) for cell in cells)
    if not good:
        raise ModelFormatError("an array of objects has another shape than it says")


def _is_one(schema, node):
    """Whether NumPy takes the object of a node for one object, not for a sequence of others."""
    if node["__loader__"] == "ObjectNode":
        return not hasattr(schema.trust.find(f"{node['__module__']}.{node['__class__']}"), "__getitem__")
    return node["__loader__"] == "JsonNode"


def _bytes(schema, node):
    schema.file(node, "bin")
    return ()


def _sparse(schema, node):
    if node["type"] != "scipy":
        raise ModelFormatError("a sparse matrix is not SciPy's")
    states.sparse(schema.file(node, "npz").parts, node["__class__"])
    return ()


def _object(schema, node):
    return [node["content"]] if "content" in node else []


def _reduced(schema, node):
    return [node["content"], *strict.keys(node["__reduce__"], ("args",), "a node")]


_CHILDREN = {
    "JsonNode": _json,
    "DictNode": _dict,
    "DefaultDictNode": _default,
    "ListNode": _listed,
    "TupleNode": _listed,
    "SetNode": _set,
    "SliceNode": _slice,
    "BytesNode": _bytes,
    "BytearrayNode": _bytes,
    "PartialNode": _partial,
    "ObjectNode": _object,
    "NdArrayNode": _array,
    "MaskedArrayNode": _named("data", "mask"),
    "DTypeNode": _object,
    "RandomStateNode": _object,
    "RandomGeneratorNode": _named("bit_generator", "seed_seq"),
    "SparseMatrixNode": _sparse,
    "TreeNode": _reduced,
    "LossNode": _reduced,
}


def shortened(roots):
    """skops' trees of lists as one list, with ids from 1 on and every node described once.

    Returns (tree, [(root, name of the file there, name here), …]).
    """
    number = count(1)
    files: list[tuple] = []
    content: list = []
    for root in roots:
        ids: dict = {}
        names: dict = {}
        content += _visit(root["content"], ids, names, number, len(files), False)
        files += [(root, old, new) for old, new in names.items()]
    return {**roots[0], "content": content, "__id__": next(number)}, files


def _home(module, name):
    """Where a function of numbers is at home: skops writes whatever module it happened to find it in."""
    found = getattr(sys.modules.get(module), name, None)
    homes = ("numpy", "scipy.special") if isinstance(found, np.ufunc) else ()
    return next((home for home in homes if vars(sys.modules.get(home, np)).get(name) is found), module)


def _visit(value, ids, files, number, n_files, anew):
    """The value with the nodes in it renumbered; `anew`: as if none of them had been there before."""
    if type(value) is list:
        return [_visit(v, ids, files, number, n_files, anew) for v in value]
    if type(value) is not dict:
        return value
    old = object() if anew else value.get("__id__")
    if old in ids:
        return {"__id__": ids[old]}
    # skops looks into a Generator without following ids, so what is inside is written out.
    inside = anew or value.get("__loader__") == "RandomGeneratorNode"
    first = [k for k in ("key_types", "content") if k in value]  # in the order in which skops reads them
    keys = [*first, *(k for k in value if k not in first and k != "__id__")]
    new = {k: _visit(value[k], ids, files, number, n_files, inside) for k in keys}
    if new.get("__loader__") == "FunctionNode":
        new["__module__"] = _home(new["__module__"], new["__class__"])
    if "__id__" in value:
        if "file" in new:
            end = new["file"].rpartition(".")[2]
            new["file"] = files.setdefault(new["file"], f"{n_files + len(files)}.{end}")
        # skops does not remember an id of 0.
        new["__id__"] = ids[old] = next(number)
    return new
