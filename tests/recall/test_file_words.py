"""The words of a question that may be a file's."""

from __future__ import annotations

import pytest

from engram_py.recall.query.file_words import file_words, naming_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("why does tasks/mailer.py:12 retry?", ["tasks/mailer.py"]),
        ("(see `./src/App.tsx`, please).", ["src/App.tsx"]),
        ("src\\auth.py and src/", ["src/auth.py"]),
        ("a.py a.py b.py c.py d.py e.py", ["a.py", "b.py", "c.py", "d.py"]),
        ("node.js, e.g.", ["node.js", "e.g"]),
        ("Is it 3.5 or 10 %? https://a.example/b.py src/*.py src/ / // ... -", []),
        ("", []),
        ("a/" * 4_000, []),
    ],
)
def test_a_path_or_a_name_with_an_extension_may_be_a_file(text: str, words: list[str]) -> None:
    assert list(file_words(text)) == words


def test_a_file_is_named_by_what_stands_before_its_extension() -> None:
    assert naming_words("deploy/Docker-compose.yml") == ["docker", "compose"]
