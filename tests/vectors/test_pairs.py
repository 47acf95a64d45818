"""Questions that a memory asks itself, to learn how far a model understands its texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.vectors.pairs import MOST, pair, script, trust
from engram_py.vectors.values import UNMEASURED_TRUST


def test_the_longest_sentence_is_asked_for_and_the_rest_is_the_answer() -> None:
    text = "Hi there! The gateway refreshes tokens every fifteen minutes. It keeps the old one for a while."
    assert pair(text) == (
        "The gateway refreshes tokens every fifteen minutes.",
        "Hi there! It keeps the old one for a while.",
    )


@pytest.mark.parametrize("text", ["", "One sentence and nothing else.", "Short. Bits. Only.", "\n\n\n", "a. " * 3])
def test_a_text_that_cannot_be_asked_about_is_left_out(text: str) -> None:
    assert pair(text) is None


def test_lines_and_full_stops_of_other_scripts_end_a_sentence_too() -> None:
    asked = pair("def load(path):\n    return json.loads(path.read_text())\n    # closes the file by itself\n")
    assert asked is not None
    assert asked[0] == "return json.loads(path.read_text())"
    chinese = pair(
        "网关每十五分钟刷新一次令牌，旧的令牌仍然保留一段时间。它会在登录之后立即写入日志文件，并且通知所有用户。"
    )
    assert chinese is not None
    assert chinese[0].endswith("。")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tokens last fifteen minutes, café and naïve", "latin"),
        ("Токен живёт пятнадцать минут (token)", "cyrillic"),
        ("令牌有效期为十五分钟", "han"),
        ("トークンは十五分間有効です", "han"),
        ("토큰은 십오 분 동안 유효합니다", "hangul"),
        ("Το διακριτικό διαρκεί", "greek"),
        ("الرمز صالح لمدة", "arabic"),
        ("टोकन पंद्रह मिनट", "indic"),
        ("โทเค็นมีอายุ", "south-east asian"),
        ("12345 -- ...", ""),
        ("", ""),
    ],
)
def test_a_text_is_of_the_script_that_most_of_its_letters_are_of(text: str, name: str) -> None:
    assert script(text) == name


def test_trust_is_the_mean_reciprocal_rank_drawn_to_the_middle_while_little_is_known() -> None:
    assert trust([]) == UNMEASURED_TRUST
    assert UNMEASURED_TRUST < trust([1] * 8) < trust([1] * MOST) < 1
    assert trust([10] * MOST) < trust([2] * MOST) < trust([1] * MOST)
    assert trust([1, 2, 4] * 20) == pytest.approx((35 + 4) / 68)


@given(st.text(max_size=400))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    found = pair(text)
    assert found is None or all(found)
    assert isinstance(script(text), str)
