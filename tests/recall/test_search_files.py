"""Questions that name a file."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.recall.substitutes import file_words
from tests.recall.searching import fill, ids, kept, silence

FILE = "deploy/docker-compose.yml"


@pytest.fixture
def about(app: Engram) -> int:
    """A memory about a file, which its text does not name, beside others."""
    fill(app)
    return kept(app, "It must run with noeviction, or holds vanish.", title="Redis", files=(FILE,))


@pytest.mark.parametrize(
    "query",
    [
        FILE,
        "docker-compose.yml",
        "./deploy/docker-compose.yml:3-7",
        "deploy\\docker-compose.yml",
        "what did we learn about `docker-compose.yml`?",
    ],
)
def test_the_name_of_a_file_finds_what_is_about_it(app: Engram, about: int, query: str) -> None:
    found = app.searches.search(query)
    assert [hit.id for hit in found.results] == [about]
    assert found.unknown == ()


def test_what_is_about_a_file_stands_before_what_has_the_words_of_its_name(app: Engram, about: int) -> None:
    naming = kept(app, "Ports are listed in docker-compose.yml.", title="Ports")
    worded = kept(app, "The docker compose plugin is needed.", title="Docker compose")
    assert ids(app, "docker-compose.yml") == [about, naming, worded]


def test_the_other_words_of_a_question_choose_among_what_is_about_a_file(app: Engram, about: int) -> None:
    other = kept(app, "The wallet passes have a queue of their own.", title="Wallet", files=(FILE,))
    assert ids(app, "wallet queue docker-compose.yml")[0] == other
    assert ids(app, "noeviction docker-compose.yml")[0] == about


@pytest.mark.parametrize(
    "query",
    ["docker-compose.yml -noeviction", '"docker-compose.yml"', "docker-compose.yml type:decision"],
)
def test_what_is_about_a_file_is_held_to_what_the_query_asks(app: Engram, about: int, query: str) -> None:
    assert ids(app, query) == []


def test_what_is_about_a_file_of_another_project_is_not_shown(app: Engram) -> None:
    fill(app)
    theirs = kept(app, "It must run with noeviction.", title="Redis", project="gadgets", files=(FILE,))
    assert ids(app, "docker-compose.yml") == []
    assert ids(app, "docker-compose.yml", all_projects=True) == [theirs]


def test_a_name_that_no_memory_is_about_is_words(app: Engram, about: int) -> None:
    assert set(silence(app, "e.g. node.js").unknown) >= {"js"}
    worded = kept(app, "The node for builds runs js.", title="Builds")
    assert ids(app, "node.js") == [worded]


@pytest.fixture
def below(app: Engram) -> int:
    """A memory that has a word in the folders of a path alone, beside others."""
    fill(app)
    return kept(app, "Totals are rounded once. **Where**: backend/src/main/kotlin/shop/Fares.kt", title="Rounding")


@pytest.mark.parametrize(
    "query", ["src/main/kotlin upgrade", "what is in main/kotlin/ here", "file:backend/src/main/kotlin kotlin"]
)
def test_folders_count_where_a_path_is_typed(app: Engram, below: int, query: str) -> None:
    assert ids(app, query) == [below]


def test_one_word_alone_finds_what_has_it_in_folders(app: Engram, below: int) -> None:
    assert ids(app, "kotlin") == [below]


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
