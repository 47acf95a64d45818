"""Patterns are read in time that grows with the text alone; command lines are read as a shell reads them."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base.errors import InvalidArgumentError
from engram_py.guidance.guards.expressions import Expression, glob
from engram_py.guidance.guards.matching import commands_of, has_text, runs

GLOBS = [
    ("migrations/**", "migrations/a.sql", True),
    ("migrations/**", "src/migrations/a.sql", False),
    ("migrations", "src/migrations/a.sql", True),
    ("**/*.py", "a.py", True),
    ("**/*.py", "x/y/a.py", True),
    ("*.py", "x/a.py", True),
    ("*.py", "x/a.pyc", False),
    ("/x.py", "x.py", True),
    ("/x.py", "y/x.py", False),
    ("src/*.{ts,tsx}", "src/a.tsx", True),
    ("src/*.ts", "src/a/b.ts", False),
    ("[!a]*.c", "b.c", True),
    ("[!a]*.c", "a.c", False),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("docs/", "docs/x.md", True),
    ("a+b.txt", "a+b.txt", True),
    ("a.b", "axb", False),
]


@pytest.mark.parametrize(("pattern", "name", "said"), GLOBS)
def test_a_glob_is_read_as_gitignore_reads_it(pattern: str, name: str, said: bool) -> None:
    assert glob(pattern).whole(name) is said


PATTERNS = [
    r"\bprint\(", "^import requests$", r"fo{2,3}\b", r"[^\w]x[0-9]+", "a(?:b|c)*d", "a{2,}", "(ab){2}", "a.{0,3}c",
    "a?b|c+$", r"[]x]y", r"\.env\b", "(a|b)?c{1}", "x*", r"\(\s*\)", r"\Wx", r"\s+a", "[^a]b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@given(line=st.text("abcdfoxy1 .(])_", max_size=12))
def test_an_expression_finds_what_re_finds(pattern: str, line: str) -> None:
    assert Expression(pattern).within(line) is bool(re.search(pattern, line))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b.*c.*d", ".*.*.*.*=.*", "(x?){50}y"])
def test_no_pattern_takes_longer_than_the_text(pattern: str) -> None:
    begun = time.process_time()
    assert not Expression(pattern).within("a" * 100_000 + "b")
    assert time.process_time() - begun < 2


UNKNOWN = ["(?=a)", "(?P<x>a)", r"(a)\1", "a**", "(", "a)", "[", r"a\bc", "x{1,99}", "(((a{60}){60}){60})"]


@pytest.mark.parametrize("pattern", UNKNOWN)
def test_what_it_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        Expression(pattern)


NPM = [
    "npm install", "npm", "cd x && npm install", "FOO=1 sudo -u me npm i", "bash -c 'npm ci'", 'echo "$(npm root)"',
    "if true; then npm i; fi", "npm i > npm.log 2>&1", "timeout 10 npm test", "./node_modules/.bin/npm x",
    "xargs -n 1 npm i", "(cd a; npm i)", "ls | npm x", "a || npm x", "npm.cmd i", "echo `npm root`", "env A=b npm i",
    "git status\nnpm i", "cat > x <<EOF\ntext\nEOF\nnpm i",
]  # fmt: skip
OTHERS = [
    "echo npm", "echo 'npm install'", "ls | grep npm", "cat <<EOF\nnpm install\nEOF", "# npm install", "pnpm install",
    "echo a#b npm", "echo $(date) npm install", "echo `date` npm i", "cat npm > npm", "git commit -m 'use npm i'",
    "ls > npm", "echo \\; npm", 'git log --grep "; npm i"', "which npm", "", "'", "$(", "&& ||",
]  # fmt: skip


@pytest.mark.parametrize("line", NPM)
def test_a_program_is_found_wherever_a_line_runs_it(line: str) -> None:
    assert any(runs("npm *", one) for one in commands_of(line))


@pytest.mark.parametrize("line", OTHERS)
def test_a_program_that_is_only_named_is_not_run(line: str) -> None:
    assert not any(runs("npm *", one) for one in commands_of(line))


@pytest.mark.parametrize(
    ("pattern", "line", "said"),
    [
        ("git push --force", "git -C x push origin main --force", True),
        ("git push --force", "git push origin", False),
        ("rm -rf", "rm -fr x", True),
        ("rm -rf", "rm -r x", False),
        ("npm install", "npm run install", False),
        ("npm install", "npm --prefix web install left-pad", True),
        ("pip install", "python3 -m pip install x", True),
        ("jest *", "npx --yes jest a", True),
        ("pytest *", "uv run pytest -q", True),
        ("docker-* up", "docker-compose up -d", True),
        ("make deploy", "make test", False),
    ],
)
def test_a_command_is_named_by_its_words(pattern: str, line: str, said: bool) -> None:
    assert any(runs(pattern, one) for one in commands_of(line)) is said


@given(st.text("npm \"'`$(){};&|<>\\\n#=-xEOF", max_size=60))
def test_any_line_is_read_to_its_end(line: str) -> None:
    list(commands_of(line))


def test_a_text_is_found_as_whole_words() -> None:
    assert has_text("  import requests", "import requests")
    assert has_text("import requests_mock; import requests", "import requests")
    assert not has_text("import requests_mock", "import requests")
    assert not has_text("reimport requests", "import requests")
    assert has_text("x = print(y)", "print(")
