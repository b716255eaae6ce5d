"""The file itself: damage is found, and writing is whole or not at all."""

import json
import os
import pickle
import stat

import numpy as np
import pytest
from store.doctor import Doctored

import quorate as q
from quorate.store import format, model as store, strict
from quorate.store.trust import Trust


@pytest.fixture(scope="module")
def data():
    return store.written(q.Mixture(np.log([0.5, 0.5]), [q.Normal(0.0, 1.0), q.Normal(1.0, [1.0, 2.0])]))


def load(data, path):
    path.write_bytes(data)
    return q.load(path)


def refused(data, match=None):
    with pytest.raises(q.ModelFormatError, match=match):
        store.read(data, Trust(()))


def test_the_documented_layout(data):
    m, t = int.from_bytes(data[12:20], "little"), int.from_bytes(data[20:28], "little")
    assert data[:8] == b"quorate\0"
    assert len(data) == 28 + m + t + 32
    assert json.loads(data[28 : 28 + m])["model"].keys() == {"RealMixture"}


def test_every_byte_counts(data):
    for at in range(0, len(data), 7):
        refused(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_every_length_counts(data):
    for n in [*range(0, 64), *range(64, len(data), 37), len(data) - 1]:
        refused(data[:n])
    refused(data + b"\0", "added to")


def test_other_files(data, tmp_path):
    refused(pickle.dumps([1.0] * 100), "no quorate model")
    refused(b"PK\3\4" + data, "no quorate model")
    refused(b"", "too few")
    with pytest.raises(FileNotFoundError):
        q.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        q.load(tmp_path)
    if hasattr(os, "mkfifo"):
        with pytest.raises(q.ModelFormatError, match="no ordinary file"):
            q.load("/dev/zero")


def test_errors_name_the_file(data, tmp_path):
    with pytest.raises(q.ModelFormatError, match=r"model\.quorate: its checksum"):
        load(data[:-1] + b"\0", tmp_path / "model.quorate")
    assert issubclass(q.ModelFormatError, ValueError)


def sealed(body):
    import hashlib

    return body + hashlib.sha256(body).digest()


def test_another_version(data):
    refused(sealed(data[:8] + (2).to_bytes(4, "little") + data[12:-32]), "update quorate")


def test_lengths_that_lie(data):
    for at in (12, 20):
        for n in (0, 1, 2**63, 2**64 - 1):
            refused(sealed(data[:at] + n.to_bytes(8, "little") + data[at + 8 : -32]), "length")


def test_too_large(data, tmp_path, monkeypatch):
    monkeypatch.setattr(format, "MAX_FILE", 100)
    with pytest.raises(q.ModelFormatError, match="more than the 100 that are read"):
        load(data, tmp_path / "model")
    monkeypatch.setattr(format, "MAX_MANIFEST", 10)
    refused(data, "more than the 10 allowed")
    with pytest.raises(ValueError, match="more than the 10 a file may hold"):
        store.written([1] * 100)


def with_blob(data, change):
    m = int.from_bytes(data[12:20], "little")
    manifest, blob = data[28 : 28 + m], data[28 + m : -32]
    n = int.from_bytes(blob[:8], "little")
    header, body = change(json.loads(blob[8 : 8 + n]), blob[8 + n :])
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    blob = len(text).to_bytes(8, "little") + text + body
    return sealed(data[:12] + m.to_bytes(8, "little") + len(blob).to_bytes(8, "little") + manifest + blob)


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"dtype": "BF16"},
            {"dtype": "F32"},
            {"dtype": "x"},
            {"dtype": None},
            {"shape": [2**62, 2**62]},
            {"shape": [-1]},
        ),
        *({"shape": "x"}, {"data_offsets": [0, 2**63]}, {"data_offsets": [0, 8]}, {"data_offsets": [16, 0]}),
    ],
    ids=str,
)
def test_tensors_that_lie(data, change):
    refused(with_blob(data, lambda header, body: ({**header, "1": {**header["1"], **change}}, body)))


def test_other_tensors(data):
    refused(with_blob(data, lambda header, body: (header, body + b"\0" * 8)))
    refused(with_blob(data, lambda header, body: (b"{" * 1000, body)))
    refused(
        with_blob(data, lambda header, body: ({k.replace("1", "x"): v for k, v in header.items()}, body)),
        "numbered",
    )
    many = {str(i): {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]} for i in range(10)}
    refused(with_blob(data, lambda header, body: (many, b"")))


def test_a_boolean_that_is_neither(data):
    doctored = Doctored(store.written([np.array([True, False])]))
    bad = doctored.bytes().replace(b"\x01\x00" + doctored.bytes()[-32:], b"\x02\x00" + doctored.bytes()[-32:])
    refused(sealed(bad[:-32]), "booleans")


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"a":1,"a":2}',
            '{"a":NaN}',
            '{"a":Infinity}',
            '{"a":1e999}',
            "[1,]",
            '{"a":1}x',
            "",
            "\ufeff{}",
            "'a'",
            "01",
            '{"a":"\t"}',
        ),
        *("[" * 100_000, '{"a":' * 100_000, "9" * 5000),
    ],
    ids=lambda text: text[:12],
)
def test_strict_json(text):
    with pytest.raises(q.ModelFormatError):
        strict.parse(text.encode(), "it")


def test_strict_json_is_utf8():
    with pytest.raises(q.ModelFormatError):
        strict.parse(b'"\xff"', "it")
    assert strict.parse('{"a": "é"}'.encode(), "it") == {"a": "é"}


# writing


def test_a_write_that_fails_leaves_what_was_there(data, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"before")
    for name in ("fsync", "replace"):

        def fail(*args):
            raise OSError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="no space left"):
                q.save(q.Normal(0.0, 1.0), path)
        assert path.read_bytes() == b"before"
        assert os.listdir(tmp_path) == ["model"]


def test_a_model_that_cannot_be_written_leaves_what_was_there(tmp_path):
    path = tmp_path / "model"
    q.save(q.Normal(0.0, 1.0), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="no model"):
        q.save({"a": 1}, path)
    with pytest.raises(TypeError, match="function cannot be saved"):
        q.save(q.BaggingClassifier(random_state=0, estimator=lambda: 0), path)
    assert path.read_bytes() == before


def test_where_it_is_written(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere to write model into; make it first"):
        q.save(q.Normal(0.0, 1.0), tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError):
        q.save(q.Normal(0.0, 1.0), tmp_path)
    monkeypatch.chdir(tmp_path)
    q.save(q.Normal(0.0, 1.0), "model")
    assert q.load("model").mean.tolist() == [0.0]


@pytest.mark.skipif(os.name == "nt", reason="permissions and links of POSIX")
def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    q.save(q.Normal(0.0, 1.0), path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    link.symlink_to(path)
    q.save(q.Normal(2.0, 1.0), link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert q.load(path).mean.tolist() == [2.0]
