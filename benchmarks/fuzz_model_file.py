"""Mutated model files: none may crash, hang or run code, and all that come back are models.

    python benchmarks/fuzz_model_file.py          # 20 000 files
    python benchmarks/fuzz_model_file.py 500 7    # so many files, from this seed

Each file is loaded, with or without trust in scikit-learn, in a process of its own kind: an audit hook reports whatever
code the file made run, the address space is limited, and two seconds are the most a file may take. What may come of it:

- refused: a ModelFormatError
- identical: a model that answers some rows bit for bit as the model that was mutated
- another: a *different model that is whole*. Whoever changes a file and computes its checksum anew can write any
  model, for a checksum is no signature: 0.5 may have become 0.25. So where the checksum was mended (and only there), a
  file may also be one that `save` could have written: the model answers the same rows with as many answers, or says in
  a ValueError why it does not, and, saved and loaded again, answers the same.

Anything else fails: another exception, a file that was changed and not mended and yet loads differently, a MemoryError
(some check came too late), a crash, a hang, code that ran.
"""

import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import pickle
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

SECONDS = 2.0
MEMORY = 3 << 30
ROWS = 5

# The models


def tables():
    """A small table, classes for its rows, and numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return (
        X,
        np.array(["no", "yes", "perhaps"])[np.digitize(X[:, 0], [-0.5, 0.5])],
        X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=60),
    )


def models():
    """{name: fitted model}: small, and of every kind of state a file may hold."""
    import pandas as pd
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import BayesianRidge, LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeRegressor

    import quorate as q

    X, classes, y = tables()
    few = {"n_estimators": 3, "random_state": 0}
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    made = {
        "trees": q.BaggingClassifier(oob_score=True, **few | {"n_estimators": 8}).fit(X, classes),
        "residuals": q.BaggingRegressor(q.Probabilistic(DecisionTreeRegressor(max_depth=2)), **few).fit(X, y),
        "sizes": q.Probabilistic(
            DecisionTreeRegressor(max_depth=2), cv=2, spread="scaled", random_state=0
        ).fit(X[:30], y[:30]),
        "columns": q.BaggingRegressor(BayesianRidge(), max_features=2, **few).fit(frame, y),
        "nested": q.BaggingClassifier(q.BaggingClassifier(LogisticRegression(), n_estimators=2), **few).fit(
            X, classes
        ),
        "margins": q.Probabilistic(SVC(), random_state=0).fit(X, classes),
        "histograms": q.BaggingClassifier(HistGradientBoostingClassifier(max_iter=2), **few).fit(X, classes),
        "boosting": q.BaggingClassifier(GradientBoostingClassifier(n_estimators=2), **few).fit(X, classes),
        "forest": q.BaggingClassifier(
            RandomForestClassifier(3, random_state=np.random.RandomState(0)), **few
        ).fit(X, classes),
        "neighbours": q.BaggingClassifier(KNeighborsClassifier(algorithm="kd_tree", leaf_size=5), **few).fit(
            X, classes
        ),
        "random forest": q.RandomForestClassifier(max_depth=3, **few).fit(X, classes),
        "tree of categories": q.TreeRegressor(max_depth=4, categorical_features="from_dtype").fit(
            frame.round().assign(d=np.array(["x", "y", None], object)[np.arange(len(X)) % 3]), y
        ),
        "forest of categories": q.RandomForestRegressor(
            max_depth=3, max_leaf_values=3, categorical_features=[2], **few
        ).fit(X.round(), y),
        "boosted trees": q.AdaBoostClassifier(q.TreeClassifier(max_depth=2), **few).fit(X, classes),
        "rounds of categories": q.BoostedClassifier(
            categorical_features=[2], min_samples_leaf=3, warm_start=True, **few
        ).fit(X.round(), classes),
        "rounds of distributions": q.DistributionalRegressor("student_t", min_samples_leaf=5, **few).fit(
            X, y
        ),
        "pipeline": make_pipeline(StandardScaler(), q.BaggingRegressor(BayesianRidge(), **few)).fit(X, y),
    }
    made["numbers"] = q.Mixture(np.log([0.25, 0.75]), [q.Normal([0.0, 1.0], 2.0), q.Normal(3.0, [1.0, 5.0])])
    return made


def said(model):
    """What a model answers to some rows, as bytes, and how many answers that are."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if not hasattr(model, "predict"):
            answers = model.quantile([0.1, 0.9])
        else:
            rows = tables()[0][:ROWS]
            answers = (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(rows)
            if hasattr(model, "get_params") and len(model.predict(rows)) != ROWS:
                raise AssertionError("a model that answers other rows")
    return np.ascontiguousarray(answers).tobytes(), len(answers)


# The mutations: (name, whether the checksum is mended, how)


class Mutator:
    """Makes the mutated files of some models; the same seed makes the same files."""

    def __init__(self, files):
        self.files = files  # {name: bytes}
        self.kinds = [
            (self.flip, False, 3),
            (self.cut, False, 1),
            (self.add, False, 1),
            (self.splice, False, 1),
            (self.other_file, False, 1),
            (self.head, True, 1),
            (self.manifest_bytes, True, 2),
            (self.manifest_values, True, 6),
            (self.manifest_depth, True, 1),
            (self.tensor_bytes, True, 3),
            (self.tensor_header, True, 2),
            (self.tensor_values, True, 4),
            (self.third_values, True, 6),
            (self.third_bytes, True, 1),
        ]
        self.shares = np.array([1 / max(len(data), 50_000) for data in files.values()])
        self.shares /= self.shares.sum()  # large files, which take long, come less often
        self.odds = np.array([odds for *_, odds in self.kinds], float)

    def make(self, seed):
        """(kind, base, whether mended, whether trusted, bytes) number `seed`."""
        self.rng = np.random.default_rng(seed)
        base = str(self.rng.choice(list(self.files), p=self.shares))
        mutate, mended, _ = self.kinds[self.rng.choice(len(self.kinds), p=self.odds / self.odds.sum())]
        trusted = bool(self.rng.random() < 0.85)
        return mutate.__name__, base, mended, trusted, mutate(self.files[base])

    # what spoils the checksum

    def flip(self, data):
        """Some bits turned."""
        out = bytearray(data)
        for at in self.rng.integers(len(data), size=self.rng.integers(1, 20)):
            out[at] ^= 1 << self.rng.integers(8)
        return bytes(out)

    def cut(self, data):
        """The end missing."""
        return data[: self.rng.integers(len(data))]

    def add(self, data):
        """Something at the end, or the beginning."""
        more = self.rng.bytes(self.rng.integers(1, 200))
        return data + more if self.rng.random() < 0.5 else more + data

    def splice(self, data):
        """A piece of it elsewhere in it."""
        size = len(data)
        (a, b), at = sorted(self.rng.integers(size, size=2).tolist()), int(self.rng.integers(size))
        return data[:at] + data[a:b] + data[at:]

    def other_file(self, data):
        """Not a model at all, under a model's name or behind a model's head."""
        other = [
            pickle.dumps(Evil()),
            pickle.dumps({"model": [1.0] * 100}),
            bomb(),
            skops_bomb(),
            b"",
            self.rng.bytes(500),
        ]
        other = other[self.rng.integers(len(other))]
        return data[: self.rng.choice([0, 8, 12, 28])] + other

    # what mends it

    def head(self, data):
        """Other lengths, magic or version."""
        out = bytearray(data[:-32])
        at = int(self.rng.choice([0, 8, 12, 20]))
        out[at : at + 4] = int(self.rng.choice([0, 1, 2, len(data), 2**31, 2**32 - 1])).to_bytes(4, "little")
        return sealed(bytes(out))

    def manifest_bytes(self, data):
        """Other characters in the manifest."""
        manifest, blob = opened(data)
        out = bytearray(manifest)
        for at in self.rng.integers(len(out), size=self.rng.integers(1, 4)):
            out[at] = self.rng.choice(list(b'0123456789.-+eE"{}[],:\\tfnul\x00\xff\xed'))
        return closed(bytes(out), blob)

    def manifest_values(self, data):
        """Another value, key or place in the manifest."""
        manifest, blob = opened(data)
        whole = json.loads(manifest)
        if self.rng.random() < 0.8:
            whole = {**whole, **self.rewritten({"model": whole["model"]})}
        else:
            whole = self.rewritten(whole)
        return closed(dumped(whole), blob)

    def manifest_depth(self, data):
        """Brackets without end, or a key twice."""
        manifest, blob = opened(data)
        text = manifest.decode()
        at = text.index('"model":') + 8
        deep = int(self.rng.choice([200, 1000, 100_000]))
        new = [
            text[:at] + "[" * deep + "]" * deep + "}",
            text[:at] + '{"tuple":' * deep + "[]" + "}" * deep + "}",
            text[:1] + '"model":null,' + text[1:],
            text[:at] + '{"tuple":[' * deep + "]}" * deep + "}",
            text.replace("{", "{ ", 5),
            text + "{}",
        ]
        return closed(new[self.rng.integers(len(new))].encode(), blob)

    def tensor_bytes(self, data):
        """Other bytes anywhere among the tensors."""
        manifest, blob = opened(data)
        out = bytearray(blob)
        for at in self.rng.integers(len(out), size=self.rng.integers(1, 10)):
            out[at] = self.rng.integers(256)
        return closed(manifest, bytes(out))

    def tensor_header(self, data):
        """Other types, shapes or places in the header of the tensors."""
        manifest, blob = opened(data)
        n = int.from_bytes(blob[:8], "little")
        header = json.loads(blob[8 : 8 + n])
        if self.rng.random() < 0.7:
            name = str(self.rng.choice([k for k in header if k != "__metadata__"]))
            field = str(self.rng.choice(["dtype", "shape", "data_offsets"]))
            value = {
                "dtype": ["F64", "F32", "I64", "BOOL", "U8", "BF16", "F8_E4M3", "nonsense", 3],
                "shape": [[], [0], [2**62], [2**62, 0], [-1], [1, 1], "x", [2**40, 2**40]],
                "data_offsets": [[0, 0], [0, 2**62], [8, 0], [-8, 8], [0], None],
            }[field]
            header[name][field] = value[self.rng.integers(len(value))]
        else:
            header = self.rewritten(header)
        text = dumped(header)
        size = (
            len(text) if self.rng.random() < 0.8 else int(self.rng.choice([0, 2**40, 2**63, len(text) + 8]))
        )
        return closed(manifest, size.to_bytes(8, "little") + text + blob[8 + n :])

    def tensor_values(self, data):
        """Other numbers in one of the tensors, those of third-party arrays too."""
        manifest, tensors = parts(data)
        which = int(self.rng.integers(len(tensors)))
        values, start = tensors[which].copy(), 0
        raw = values.reshape(-1).view(np.uint8) if values.size else np.zeros(0, np.uint8)
        if bytes(raw[:6]) == b"\x93NUMPY":
            start = 10 + int.from_bytes(bytes(raw[8:10]), "little")
        elif bytes(raw[:1]) == b"{":
            return self.third_values(data)
        body = raw[start:]
        for _ in range(self.rng.integers(1, 4)):
            width = int(self.rng.choice([1, 4, 8]))
            if len(body) >= width:
                at = int(self.rng.integers(len(body) // width)) * width
                new = NUMBERS[width][self.rng.integers(len(NUMBERS[width]))]
                body[at : at + width] = np.frombuffer(new, np.uint8)
        tensors[which] = values
        return joined(manifest, tensors)

    def third_values(self, data):
        """Another value, key or place in the tree of the third-party objects."""
        manifest, tensors = parts(data)
        part = json.loads(manifest)["third"]
        if part is None:
            return self.manifest_values(data)
        root = json.loads(bytes(tensors[part["schema"]]))
        leaves = [
            (holder, key)
            for holder, key in all_places(root)
            if key == "content" and isinstance(holder[key], str)
        ]
        if leaves and self.rng.random() < 0.5:  # a number or string in the state of an estimator
            holder, key = leaves[self.rng.integers(len(leaves))]
            pool = [*near(holder[key]), *LEAVES]
            holder[key] = pool[self.rng.integers(len(pool))]
        else:
            root = self.rewritten(root, SCHEMA_VALUES)
        text = dumped(root)
        tensors[part["schema"]] = np.frombuffer(text, np.uint8)
        return joined(manifest, tensors)

    def third_bytes(self, data):
        """Something else where skops' tree should be: an archive, a pickle, a bomb."""
        manifest, tensors = parts(data)
        part = json.loads(manifest)["third"]
        if part is None:
            return self.manifest_bytes(data)
        new = [skops_bomb(), bomb(), pickle.dumps(Evil()), b"[" * 100_000, laughs(), b"{}", b'{"protocol":2}']
        tensors[part["schema"]] = np.frombuffer(new[self.rng.integers(len(new))], np.uint8)
        return joined(manifest, tensors)

    def rewritten(self, root, values=()):
        """JSON with a place changed, or two: taken out, renamed, filled from elsewhere, or with something odd."""
        for _ in range(self.rng.choice([1, 1, 2])):
            places = list(all_places(root))
            if not places:
                break
            holder, key = places[self.rng.integers(len(places))]
            how = self.rng.integers(10)
            if how == 0:
                del holder[key]
            elif how == 1 and isinstance(holder, dict):
                holder[str(self.rng.choice(["extra", "os.system", "Committee", ""]))] = holder.pop(key)
            elif how == 2:
                other, its = places[self.rng.integers(len(places))]
                holder[key] = json.loads(json.dumps(other[its]))
            else:
                pool = near(holder[key]) if how > 5 else values if values and how > 3 else VALUES
                holder[key] = json.loads(json.dumps(pool[self.rng.integers(len(pool))]))
        return root


VALUES = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        2**31,
        2**63,
        2**64,
        2**200,
        -(2**63),
        10**400,
        0.5,
        -0.5,
        1e308,
        5e-324,
        "",
        "x",
        "\ud800",
    ),
    *(
        [],
        {},
        [[]],
        [1, 2],
        {"tuple": []},
        {"tuple": [0]},
        {"dict": {}},
        {"dict": {"a": 1}},
        {"float": "nan"},
        {"float": "inf"},
    ),
    *(
        {"float": "x"},
        {"array": 0},
        {"array": -1},
        {"array": 10**9},
        {"transposed": 1},
        {"third": 0},
        {"third": 99},
        {"third": -1},
    ),
    *(
        {"scalar": ["float64", 1.0]},
        {"scalar": ["int8", 300]},
        {"scalar": ["object", 1]},
        {"text": ["object", [1], ["a"]]},
    ),
    *(
        {"text": ["<U999999999", [1], ["a"]]},
        {"text": ["<U1", [3], ["a", "b", "c"]]},
        {"text": ["<U3", [10**9], []]},
    ),
    *(
        {"os.system": {"command": "true"}},
        {"Committee": {}},
        {"Bootstrap": {"size": 1.0, "stratified": False}},
        {"BayesianBootstrap": {}},
    ),
    *("a" * 10_000, [0] * 1000, {"a": 1, "b": 2}),
]
SCHEMA_VALUES = [
    *(
        "os",
        "posix",
        "system",
        "subprocess",
        "Popen",
        "builtins",
        "eval",
        "exec",
        "getattr",
        "object",
        "sklearn.tree._tree",
        "Tree",
    ),
    *(
        "DecisionTreeClassifier",
        "MethodNode",
        "PartialNode",
        "OperatorFuncNode",
        "ConstructorFromReduceNode",
        "CachedNode",
    ),
    *(
        "ObjectNode",
        "FunctionNode",
        "TypeNode",
        "ReduceNode",
        "TreeNode",
        "ListNode",
        "DictNode",
        "JsonNode",
        "NdArrayNode",
    ),
    *(
        {"__id__": 1},
        {"__id__": 5},
        {"__id__": 10**9},
        {"__id__": 0},
        "0.npy",
        "../../etc/passwd",
        "/etc/passwd",
        "1.npz",
        "NaN",
        "null",
    ),
    *("-1", "1000000000000", "1e999", '"x"', "[[[[", "99999999", "0.5", "2", "true"),
    {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "__id__": 10**6},
    {"__class__": "run", "__module__": "subprocess", "__loader__": "TypeNode", "__id__": 10**6},
    {
        "__class__": "system",
        "__module__": "posix",
        "__loader__": "ConstructorFromReduceNode",
        "content": {
            "content": [],
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "__id__": 10**6,
        },
        "__id__": 10**6 + 1,
    },
]
LEAVES = [
    "null",
    "true",
    "0",
    "1",
    "-1",
    "5",
    "0.5",
    "-0.5",
    "1e300",
    "NaN",
    "Infinity",
    "1000000",
    '"x"',
    "10000000000000000000000",
    '"os"',
]
NUMBERS = {
    1: [bytes([v]) for v in (0, 1, 2, 127, 128, 255)],
    4: [np.array(v, "<i4").tobytes() for v in (0, 1, -1, 7, 2**31 - 1, -(2**31))]
    + [np.array(v, "<f4").tobytes() for v in (np.nan, np.inf)],
    8: [np.array(v, "<i8").tobytes() for v in (0, 1, -1, -2, 3, 1000, 2**31, 2**62, -(2**63))]
    + [np.array(v, "<f8").tobytes() for v in (np.nan, np.inf, -np.inf, 0.25, -1.0, 1e300, 5e-324)],
}


class Evil:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch /tmp/quorate-fuzz-was-here",)


def near(value):
    """Values of the same type, a little off."""
    if isinstance(value, bool) or value is None:
        return [not value, value, 0]
    if isinstance(value, int | float):
        return [value + 1, value - 1, -value, value * 2, value * 1000, value / 2]
    if isinstance(value, str):
        return [
            value + "x",
            value[:-1],
            value.upper(),
            *("0", "1", "2", "-1", "0.5", "null", "true") * value.isdigit(),
        ]
    values = list(value)
    return (
        [value, values[:-1], values * 2, values[::-1]]
        if isinstance(value, list)
        else [dict(list(value.items())[:-1])]
    )


def all_places(root):
    """(holder, key) of every value inside JSON."""
    stack = [root]
    while stack:
        holder = stack.pop()
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            yield holder, key
            if isinstance(value, dict | list):
                stack.append(value)


def dumped(value):
    """JSON, lone surrogates and all."""
    return json.dumps(value, separators=(",", ":")).encode()


def bomb():
    """A zip archive that is a thousand times as large inside."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("schema.json", b"\0" * 5_000_000)
    return out.getvalue()


def skops_bomb():
    """A skops archive that asks for os.system."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "schema.json", json.dumps({**SCHEMA_VALUES[-1], "protocol": 2, "_skops_version": "0.16.0"})
        )
        file.writestr("../../../tmp/quorate-fuzz-was-here", b"here")
    return out.getvalue()


def laughs(levels=60):
    """Lists that hold the list before them twice: a tree of 2^levels leaves."""
    kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    node = {**kind, "content": [], "__id__": 1}
    for level in range(2, levels):
        node = {**kind, "content": [node, {"__id__": level - 1}], "__id__": level}
    return dumped({**node, "protocol": 2, "_skops_version": "0.16.0"})


def opened(data):
    """(manifest, blob) of a file's bytes."""
    m, t = int.from_bytes(data[12:20], "little"), int.from_bytes(data[20:28], "little")
    return data[28 : 28 + m], data[28 + m : 28 + m + t]


def closed(manifest, blob):
    """A file of these bytes with its lengths and checksum."""
    sizes = len(manifest).to_bytes(8, "little") + len(blob).to_bytes(8, "little")
    return sealed(b"quorate\0" + (1).to_bytes(4, "little") + sizes + manifest + blob)


def sealed(body):
    """Bytes and their checksum."""
    return body + hashlib.sha256(body).digest()


def parts(data):
    """(manifest, tensors) of a file's bytes."""
    from quorate.store import format

    return format.unpack(data)


def joined(manifest, tensors):
    """A file of this manifest and these tensors."""
    from quorate.store import format

    return format.pack(manifest, tensors)


# The trial of one file, in a process under watch

FORBIDDEN = (
    *(
        "os.system",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.remove",
        "os.rename",
        "os.mkdir",
    ),
    *(
        "subprocess.Popen",
        "pty.spawn",
        "socket.",
        "urllib.",
        "http.",
        "shutil.",
        "pickle.find_class",
        "marshal.",
        "ctypes.",
    ),
    *("exec", "import", "sys.addaudithook", "code.__new__", "function.__new__"),
)


class Guard:
    """Notes what code a file made run, while it is armed."""

    def __init__(self, folder):
        self.folder, self.armed, self.seen = folder, False, []
        sys.addaudithook(self.hear)

    def hear(self, event, args):
        """One event of the interpreter."""
        if not self.armed:
            return
        if event == "open" and not str(args[0]).startswith(
            (self.folder, "/proc/self/maps")
        ):  # threadpoolctl's look
            self.seen.append(f"open {args[0]}")
        elif event == "compile" and args[1] not in (
            "<unknown>",
            None,
        ):  # ast.literal_eval, for NumPy's headers
            self.seen.append(f"compile {args[1]}")
        elif event.startswith(FORBIDDEN):
            self.seen.append(f"{event} {args!r}"[:60] + " by " + " < ".join(_callers()))


def _callers():
    """The nearest functions on the stack, without the machinery of imports."""
    stack = traceback.StackSummary.extract(traceback.walk_stack(sys._getframe(2)), lookup_lines=False)
    return [f"{Path(f.filename).stem}:{f.lineno} {f.name}" for f in stack if "importlib" not in f.filename][
        :5
    ]


def trial(path, mended, trusted, expected):
    """What becomes of one file: (outcome, remark, model). A "different" model is still to be looked at."""
    import quorate as q

    try:
        model = q.load(path, trust=["sklearn"] if trusted else ())
    except q.ModelFormatError as error:
        return "out of memory" if "MemoryError" in str(error) else "refused", str(error)[:100], None
    try:
        answers, number = said(model)
    except ValueError as error:
        return "another" if mended else "answers not", f"ValueError: {error}"[:100], None
    if answers == expected[0]:
        return "identical", "", None
    if not mended or number != expected[1]:
        return "changed unseen", "", None
    return "different", "", model


def whole(model):
    """Whether a different model is one that `save` could have written."""
    from quorate.store import model as store
    from quorate.store.trust import Trust

    return said(store.read(store.written(model), Trust("sklearn"))) == said(model)


def worker(pipe, folder, expected):
    """Try files for ever: the path and circumstances come in, what became of them goes out."""
    warnings.simplefilter("ignore")
    guard = Guard(folder)
    with contextlib.suppress(ImportError):
        import distributed  # noqa: F401 - as joblib does when a model asks for more than one job
        import sklearn.utils._pprint  # noqa: F401 - as an error that shows an estimator does
    for base in expected:  # what is imported when first used is imported now
        for trusted in (True, False):
            trial(f"{folder}/{base}", True, trusted, (b"", 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pipe.send("ready")
    while True:
        path, base, mended, trusted = pipe.recv()
        guard.seen, guard.armed, model = [], True, None
        start = time.perf_counter()
        try:
            outcome, remark, model = trial(path, mended, trusted, expected[base])
        except BaseException as error:
            outcome, remark = "foreign exception", f"{type(error).__name__}: {error}"[:300]
        guard.armed = False
        seconds = time.perf_counter() - start
        if guard.seen:
            outcome, remark = "code ran", "; ".join(guard.seen[:5])
        pipe.send((outcome, remark, seconds))
        if outcome == "different":
            try:
                pipe.send(("another" if whole(model) else "not whole", "", seconds))
            except BaseException as error:
                pipe.send(("not whole", f"{type(error).__name__}: {error}"[:300], seconds))


class Trials:
    """Worker processes, one at a time: a crash or hang costs the worker, and is an outcome."""

    def __init__(self, folder, expected):
        self.folder, self.expected = folder, expected
        self._start()

    def _start(self):
        os.environ["OMP_NUM_THREADS"] = "1"  # threads that wait for a core that others hold are no hang
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=worker, args=(theirs, self.folder, self.expected), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def outcome(self, path, base, mended, trusted):
        """(outcome, remark, seconds) of one file."""
        self._pipe.send((path, base, mended, trusted))
        try:
            if self._pipe.poll(SECONDS):
                outcome = self._pipe.recv()
                return self._pipe.recv() if outcome[0] == "different" else outcome
            outcome = "hang", f"over {SECONDS} s", SECONDS
        except EOFError:
            self._process.join()
            outcome = "crash", f"exit code {self._process.exitcode}", 0.0
        self.close()
        self._start()
        return outcome

    def close(self):
        """End the worker."""
        self._process.kill()
        self._process.join()


FINE = ("refused", "identical", "another")


def run(n, seed, report=print):
    """Try n files: (rows for the table, the failures)."""
    from quorate.store import model as store

    folder = tempfile.mkdtemp(prefix="quorate-fuzz-")
    made = models()
    files = {name: store.written(model) for name, model in made.items()}
    for name, data in files.items():
        Path(folder, name).write_bytes(data)
    mutator, trials = Mutator(files), Trials(folder, {name: said(model) for name, model in made.items()})
    counts, slowest, failures = Counter(), Counter(), []
    path = f"{folder}/mutated"
    for number in range(seed, seed + n):
        kind, base, mended, trusted, data = mutator.make(number)
        if data == files[base]:
            continue
        Path(path).write_bytes(data)
        outcome, remark, seconds = trials.outcome(path, base, mended, trusted)
        counts[kind, outcome] += 1
        slowest[kind] = max(slowest[kind], seconds)
        if outcome not in FINE:
            failures.append(
                {
                    "seed": number,
                    "kind": kind,
                    "base": base,
                    "trusted": trusted,
                    "outcome": outcome,
                    "remark": remark,
                }
            )
            report(failures[-1])
    trials.close()
    if Path("/tmp/quorate-fuzz-was-here").exists():
        failures.append({"outcome": "code ran", "remark": "/tmp/quorate-fuzz-was-here is there"})
    return table(counts, slowest), failures


def table(counts, slowest):
    """A row for each kind of mutation."""
    rows = []
    for kind in sorted(slowest):
        row = {"mutation": kind, **{outcome: counts[kind, outcome] for outcome in FINE}}
        row["failed"] = sum(c for (k, outcome), c in counts.items() if k == kind and outcome not in FINE)
        rows.append({**row, "slowest s": slowest[kind]})
    total = {"mutation": "all", **{key: sum(row[key] for row in rows) for key in (*FINE, "failed")}}
    return [*rows, {**total, "slowest s": max(slowest.values())}]


def main():
    import side_by_side

    n, seed = (int(v) for v in [*sys.argv[1:], *("20000", "0")[len(sys.argv) - 1 :]][:2])
    start = time.perf_counter()
    rows, failures = run(n, seed)
    side_by_side.table(rows)
    print(f"{n} files in {time.perf_counter() - start:.0f} s")
    side_by_side.write("fuzz_model_file", rows)
    if failures:
        sys.exit(f"{len(failures)} files did what no file may do; the first is {failures[0]}")


if __name__ == "__main__":
    main()
