"""The command that installs the packages of an extra: it works where this copy runs, and upgrades keep what it adds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engram_py.base.install_hints import install_hint, install_source, packages_of

RECEIPT = """[tool]
requirements = [
    {{ name = "engram-py", {source} }},
    {{ name = "tabulate", specifier = ">=0.9" }},
]
"""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param('directory = "/src/engram"', "/src/engram", id="folder"),
        pytest.param('editable = "/src/engram"', "--editable /src/engram", id="editable"),
        pytest.param('git = "https://example.invalid/e.git"', "git+https://example.invalid/e.git", id="git"),
        pytest.param('extras = ["server"], directory = "/e"', "'/e[server]'", id="with-extras"),
        pytest.param('specifier = "*"', "engram-py", id="index"),
    ],
)
def test_a_tool_of_uv_is_installed_again_from_where_it_came_with_what_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT.format(source=source))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    [wanted] = packages_of("watch")
    assert install_hint("watch") == f"uv tool install --with 'tabulate>=0.9' --with '{wanted}' {said}"


def test_what_pipx_installed_gets_packages_by_pipx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "engram-py"
    home.mkdir()
    (home / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(home))
    assert install_hint("watch") == f"pipx inject engram-py '{packages_of('watch')[0]}'"


def test_an_environment_of_its_own_gets_them_by_its_pip() -> None:
    assert install_hint("watch").startswith(f"{sys.executable} -m pip install ")


def test_no_extra_is_empty_but_the_one_that_every_install_has() -> None:
    assert packages_of("tui") == []


@pytest.mark.parametrize(
    ("said", "source"),
    [
        pytest.param('{"url": "file:///src/my%20engram", "dir_info": {}}', "/src/my engram", id="folder"),
        pytest.param(
            '{"url": "https://example.invalid/e.git", "vcs_info": {"vcs": "git"}}',
            "git+https://example.invalid/e.git",
            id="git",
        ),
        pytest.param('{"url": "https://example.invalid/e.whl"}', "https://example.invalid/e.whl", id="file"),
        pytest.param(None, "engram-py", id="index"),
        pytest.param("no json", "engram-py", id="unreadable"),
    ],
)
def test_what_starts_a_copy_that_will_not_stay_names_where_it_came_from(
    monkeypatch: pytest.MonkeyPatch, said: str | None, source: str
) -> None:
    monkeypatch.setattr("importlib.metadata.Distribution.read_text", lambda *_: said, raising=False)
    monkeypatch.setattr("importlib.metadata.PathDistribution.read_text", lambda *_: said)
    assert install_source() == source
