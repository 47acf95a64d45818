"""The setting that chooses an embedder, and what it must not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py.vectors.protocol import InvalidEmbedderError, parse_embedder


@pytest.mark.parametrize(
    ("text", "name", "host", "private"),
    [
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
