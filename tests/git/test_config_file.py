"""Our reader says what git says about a configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.git.config_file import load_config, parse_config, remote_url

from .conftest import Git

CONFIG = r"""
# a comment
[core]
	bare
	editor = "vi ; not a comment" ; a comment
[Remote "origin"] URL = https://example.org/\"a\"\\b # behind
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "Up \"stream\""]
	url = "  spaced  "@
	url = one \
two
[branch.Main]
	merge = "a"b"c d"
[empty]
	value =
""".replace("@", "   ")


def test_values_are_read_as_git_reads_them(tmp_path: Path, git: Git) -> None:
    path = tmp_path / "config"
    path.write_text(CONFIG)
    listed = git(tmp_path, "config", "--file", str(path), "--list", "-z").split("\0")[:-1]

    ours = []
    for entry in parse_config(CONFIG):
        name = ".".join(part for part in (entry.section, entry.subsection, entry.key) if part is not None)
        ours.append(name if entry == next(parse_config("[core]\nbare")) else f"{name}\n{entry.value}")
    assert ours == listed


@pytest.mark.parametrize(
    ("config", "url"),
    [
        pytest.param('[remote "b"]\nurl = b\n[remote "a"]\nurl = a', "a", id="first-alphabetical"),
        pytest.param('[remote "a"]\nurl = a\n[remote "origin"]\nurl = o\nurl = p', "o", id="origin-first-url"),
        pytest.param('[remote "origin"]\nfetch = x\n[remote "z"]\nurl = z', "z", id="origin-without-url"),
        pytest.param('[remote "origin"]\nurl = gh:a/b\n[url "git@github.com:"]\ninsteadOf = gh:', "git@github.com:a/b"),
        pytest.param("[core]\nbare = false", None, id="none"),
        pytest.param('[remote "origin"\nurl = a\n]]] \x00 "', None, id="garbage"),
    ],
)
def test_origin_is_preferred_and_rewritten(config: str, url: str | None) -> None:
    assert remote_url(list(parse_config(config))) == url


def test_included_files_are_read_and_loops_end(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[include]\n path = more\n path = missing\n")
    (tmp_path / "more").write_text('[remote "origin"]\n url = x\n[include]\n path = config\n')
    assert remote_url(load_config(tmp_path / "config")) == "x"


@given(st.one_of(st.text(), st.text(alphabet='[]"\\=#; \n\tremotul', max_size=80)))
def test_any_text_is_a_configuration(text: str) -> None:
    remote_url(list(parse_config(text)))
