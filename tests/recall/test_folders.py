"""Which words of a text stand in nothing but the folders of a path."""

from __future__ import annotations

import pytest

from engram_py.recall.score import folders as recall_folders
from engram_py.recall.score.passages import Found
from engram_py.recall.score.proximity import lens, read
from engram_py.recall.score.relevance import Term
from tests.recall.test_proximity import term


def folders(text: str, *terms: Term) -> set[int]:
    glass = lens(terms)
    assert glass is not None
    return set(read(text, glass, terms, apart=frozenset(range(len(terms)))).folders)


@pytest.mark.parametrize(
    "text",
    [
        "**Where**: backend/src/main/kotlin/shop/Cart.kt:4-8",
        "It stands in kotlin/cart.kt.",
        "moved to src/main/kotlin/, without tests",
        "all of `src/kotlin/**/*.kt`",
        r"see src\kotlin\Cart.kt",
    ],
)
def test_a_word_between_the_slashes_of_a_path_is_a_folder(text: str) -> None:
    assert folders(text, term("kotlin")) == {0}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("src/main/kotlin/Cart.kt is the last in Kotlin", id="also-a-word"),
        pytest.param("src/kotlin/Cart.kt reads KotlinVersion", id="also-a-part"),
        pytest.param("src/main/kotlin.kt", id="the-file-itself"),
        pytest.param("Java/Kotlin, or Kotlin/Java", id="alternatives"),
        pytest.param("on feature/kotlin", id="a-branch"),
        pytest.param("GET /kotlin/{id}/items", id="a-route"),
        pytest.param("POST /api/kotlin/ answers", id="a-route-with-a-slash"),
        pytest.param("https://docs.example.org/kotlin/intro.html", id="an-address"),
    ],
)
def test_a_word_that_stands_elsewhere_too_is_none(text: str) -> None:
    assert folders(text, term("kotlin")) == set()


def test_a_folder_counts_where_the_name_of_the_file_is_asked_for_too() -> None:
    asked = (term("auth"), term("store"))
    assert folders("src/auth/token_store.py", *asked) == set()
    assert folders("src/auth/token.py, and the store", *asked) == {0}


def test_of_a_log_full_of_paths_a_few_places_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def looked(text: str, at: int, found: Found) -> bool:
        looks.append(at)
        return True

    monkeypatch.setattr(recall_folders, "_in_a_folder", looked)
    assert folders("at src/main/kotlin/Cart.kt\n" * 200, term("kotlin"), term("main")) == {0, 1}
    assert len(looks) < 20
