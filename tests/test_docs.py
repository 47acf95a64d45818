"""The documents say what the program does: generated sections are current, examples run, links and names exist."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from docs import generate, words
from engram_py.base.settings import SETTINGS
from engram_py.interfaces.cli.main import COMMANDS, cli
from engram_py.interfaces.mcp.profiles import INSTRUCTIONS, PROFILES, declared
from engram_py.memory.projects.settings_file import KEYS, parse_project_settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = ROOT / "DOCS.md"
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
EXAMPLE = ROOT / ".engram.example.json"
OTHERS = ("README.md", "CHANGELOG.md", "deploy/README.md", "docs/architecture.md")
PAGES = pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.relative_to(ROOT).as_posix())
        for page in (*(ROOT / name for name in OTHERS), GUIDE, *REFERENCE)
    ],
)
GUIDE_LIMIT_BYTES, ALL_LIMIT_BYTES = 30_000, 165_000
_GENERATED = re.compile(r"\]\]\] -->.*?<!-- \[\[\[end", re.DOTALL)  # from the code, a sentence each

# Parameters whose name and type say all there is to say; in a tool list every further word costs tokens.
_PARAMETERS = """
archived action after before content evidence id memory_id_a memory_id_b observation_id reason response_format scope
summary title topic_key type
"""
SELF_EVIDENT = frozenset(_PARAMETERS.split())

# The functions of docs/generate.py that a page calls.
_PARTS = sorted(
    name
    for name, made in vars(generate).items()
    if inspect.isfunction(made)
    and made.__module__ == generate.__name__
    and not name.startswith("_")
    and not inspect.signature(made).parameters
)


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with the `engram` of these tests first on the PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | more


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def after(marker: str) -> str:
    """README from a marker on."""
    _, found, rest = README.partition(f"<!-- {marker} -->")
    assert found, f"README.md has no {marker}"
    return rest


def commands() -> Iterator[tuple[click.Context, click.Command]]:
    """Every command with the context that names it, groups included."""
    pending: list[tuple[click.Context, click.Command]] = [(click.Context(cli, info_name="engram"), cli)]
    while pending:
        ctx, command = pending.pop()
        yield ctx, command
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                inner = command.get_command(ctx, name)
                assert inner is not None, f"{ctx.command_path} {name} does not load"
                pending.append((click.Context(inner, info_name=name, parent=ctx), inner))


def tool_parameters() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for tool in declared().values():
        for name, schema in tool.parameters["properties"].items():
            yield tool.name, name, schema


# --- what is generated, and what it is generated from -----------------------------------------------------


def test_generated_sections_are_current() -> None:
    pages = [str(page) for page in REFERENCE]
    result = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", "--diff", *pages],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, f"run `make docs` (`cog -r docs/reference/*.md`)\n{result.stdout}{result.stderr}"


@pytest.mark.parametrize("part", _PARTS)
def test_every_part_that_can_be_generated_stands_on_a_page(part: str) -> None:
    shown = [page.name for page in REFERENCE if f"cog.out(generate.{part}())" in page.read_text(encoding="utf-8")]
    assert len(shown) == 1, f"generate.{part}() stands on {shown or 'no page'} of docs/reference; it belongs on one"


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.name)
def test_the_guide_links_to_every_page_of_the_reference(page: Path) -> None:
    linked = GUIDE.read_text(encoding="utf-8").count(f"](docs/reference/{page.name}")
    assert linked, f"DOCS.md does not name docs/reference/{page.name}; its last table lists the pages"


def test_the_guide_and_the_documents_together_stay_short() -> None:
    size = len(GUIDE.read_bytes())
    assert size <= GUIDE_LIMIT_BYTES, f"DOCS.md has {size:,} bytes; details belong on a page of docs/reference"
    pages = (ROOT / "README.md", GUIDE, ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"))
    size = sum(len(_GENERATED.sub("", page.read_text(encoding="utf-8")).encode()) for page in pages)
    assert size <= ALL_LIMIT_BYTES, f"the documents have {size:,} bytes by hand; say each thing once and link to it"


def test_every_command_and_each_of_its_options_and_arguments_has_help() -> None:
    silent = [
        f"{ctx.command_path} {one.name}"
        for ctx, command in commands()
        for one in command.get_params(ctx)
        if not getattr(one, "help", None)
    ]
    assert silent == []
    assert [ctx.command_path for ctx, command in commands() if not command.help] == []


def test_every_published_tool_parameter_is_described_or_exempt_and_none_is_exempt_that_is_not_there() -> None:
    unclear = [f"{tool}.{name}" for tool, name, schema in tool_parameters() if "description" not in schema]
    assert [one for one in unclear if one.partition(".")[2] not in SELF_EVIDENT] == []
    assert SELF_EVIDENT - {name for _, name, _ in tool_parameters()} == set()


# --- .engram.example.json ---------------------------------------------------------------------------------


def test_the_example_settings_load_without_a_warning_and_name_every_key() -> None:
    settings = parse_project_settings(EXAMPLE.read_text(encoding="utf-8"), EXAMPLE)

    assert settings.warnings == ()
    assert set(settings.given) == set(KEYS)


# --- README ------------------------------------------------------------------------------------------------


def test_the_python_example_runs_and_prints_what_readme_shows(tmp_path: Path) -> None:
    rest = after("python-example")
    code, printed = blocks(rest, "python")[0], blocks(rest, "text")[0]
    assert run(sys.executable, "-W", "error", "-c", code, cwd=tmp_path) == printed


@pytest.mark.skipif(shutil.which("sh") is None, reason="the lines are for a POSIX shell")
def test_the_first_save_and_search_print_what_readme_shows(folder: Path) -> None:
    rest = after("shell-example")
    script, printed = blocks(rest, "sh")[0], blocks(rest, "text")[0]
    assert run("sh", "-ec", script, cwd=folder) == printed


def test_the_demo_prints_what_readme_shows(tmp_path: Path) -> None:
    def without_figures(text: str) -> str:
        return re.sub(r"\d+ (ms|tokens)", r"N \1", text)

    told = without_figures(run(sys.executable, "-m", "engram_py", "demo", cwd=tmp_path))
    shown = [blocks(part, "text")[0] for part in README.split("<!-- demo -->")[1:]]

    assert len(shown) == 3
    assert [one for one in shown if without_figures(one) not in told] == []


def test_the_json_that_readme_shows_is_json_that_starts_this_server() -> None:
    servers = [json.loads(text)["mcpServers"]["engram"] for text in blocks(README, "json")]
    assert len(servers) == 2
    assert all((one["command"], one["args"]) == ("engram", ["mcp"]) for one in servers)


def test_the_numbers_of_tools_and_tokens_in_readme_are_true() -> None:
    offered, there = map(int, re.findall(r"offers (\d+) of (\d+) tools", README)[0])
    [most] = re.findall(r"less\s+than ([\d,]+) tokens", README)
    core = [declared()[name].wire for name in PROFILES["core"]]

    assert (offered, there) == (len(PROFILES["core"]), len(declared()))
    assert len((json.dumps(core) + INSTRUCTIONS).encode()) / 4 < int(most.replace(",", ""))


def test_the_commands_of_the_makefile_that_readme_names_exist() -> None:
    named = set(re.findall(r"\bmake ([a-z]+)\b(?! and)", "\n".join([*blocks(README, "sh"), *_code_spans(README)])))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert named >= {"demo", "test"}
    assert named <= targets


# --- names and links ---------------------------------------------------------------------------------------


@PAGES
def test_every_relative_link_points_at_a_file_and_a_heading_that_exist(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", _prose(page)) if "://" not in link]
    broken = [link for link in links if not _exists(link, page)]
    assert broken == []


@PAGES
def test_every_command_that_is_named_exists(page: Path) -> None:
    code = "\n".join(_code(page))
    named = set(re.findall(r"^engram (?:--data-dir DIR )?([a-z][a-z-]*)", code, re.MULTILINE))
    named |= set(re.findall(r"(?:uvx --from|pipx run --spec) \. engram ([a-z]+)", code))
    assert named - set(COMMANDS) == set()


@PAGES
def test_every_option_that_is_named_with_a_command_exists(page: Path) -> None:
    known = {
        ctx.command_path: {name for one in command.get_params(ctx) for name in one.opts} for ctx, command in commands()
    }
    wrong = []
    for line in "\n".join(_code(page)).splitlines():
        if not re.match(r"engram\b", line):
            continue
        path = "engram"
        for word in line.split()[1:]:
            if f"{path} {word}" not in known:
                break
            path += f" {word}"
        options = re.findall(r"(?<=\s)--[a-z][a-z-]*", line.partition(" # ")[0])
        wrong += [f"{path} {option}" for option in options if option not in known[path]]
    assert wrong == []


@PAGES
def test_every_tool_and_every_variable_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"\bmem_[a-z_]+", text)) - set(declared()) == set()
    assert set(re.findall(r"\bENGRAM_[A-Z_]+", text)) - {setting.variable for setting in SETTINGS} == set()


def test_every_file_that_the_architecture_names_exists() -> None:
    spans = re.findall(r"`(\w[\w/*.]+\.(?:py|json|md))`", ARCHITECTURE)
    assert len(spans) > 40
    assert [name for name in spans if not any(ROOT.glob(name)) and not any(ROOT.glob(f"engram_py/**/{name}"))] == []


def test_every_dependency_has_a_line_in_the_architecture() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    table = ARCHITECTURE.partition("\n## Dependencies\n")[2]
    lines = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    named = {word for cell in lines for word in re.findall(r"[a-z][\w-]+", cell)}
    assert [one for one in wanted if re.split(r"[^\w-]", one)[0] not in named] == []


def test_every_error_the_guide_advises_on_exists() -> None:
    section = GUIDE.read_text(encoding="utf-8").partition("\n### The memory cannot be opened\n")[2].partition("\n#")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    named = {code for cell in rows for code in re.findall(r"`(\w+)`", cell)}
    assert named
    assert named - set(words.ERRORS) == set()


def _prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def _code_spans(text: str) -> list[str]:
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", prose)


def _code(page: Path) -> list[str]:
    """The shell blocks and the code in sentences."""
    text = page.read_text(encoding="utf-8")
    return [*blocks(text, "sh"), *_code_spans(text)]


def _exists(link: str, page: Path) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.is_file():
        return False
    return not anchor or anchor in _anchors(target)


def _anchors(page: Path) -> set[str]:
    """The anchors GitHub gives the headings of a Markdown file."""
    headings = re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
