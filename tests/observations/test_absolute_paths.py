"""A path that exists on one machine only is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.observations.validation import absolute_paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param("see /home/ana/app/main.py:12.", ["/home/ana/app/main.py"], id="linux"),
        pytest.param("(`/Users/ana/app`), again /Users/ana/app", ["/Users/ana/app"], id="mac-once"),
        pytest.param(r"C:\Users\Ana\app\main.py", [r"C:\Users\Ana\app\main.py"], id="windows"),
        pytest.param(r'"C:\\Users\\Ana\\app"', [r"C:\\Users\\Ana\\app"], id="windows-escaped"),
        pytest.param("file:///home/ana/x", ["/home/ana/x"], id="file-url"),
        pytest.param("/root/.ssh/config", ["/root/.ssh/config"], id="root"),
        pytest.param("src/home/page.tsx and /usr/lib/x and ~/.bashrc", [], id="not-a-home"),
        pytest.param("https://example.com/home/news /home/$USER/x /Users/{name}", [], id="urls-and-variables"),
    ],
)
def test_paths_below_a_home_directory_are_listed(text: str, paths: list[str]) -> None:
    assert absolute_paths(text) == paths


@given(st.text(st.sampled_from("/home/Usersax:\\. \"'`$"), max_size=60))
def test_looking_for_paths_never_fails(text: str) -> None:
    assert all(path in text for path in absolute_paths(text))
