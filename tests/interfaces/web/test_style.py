"""The stylesheet: every colour of a text can be read on every ground, in the light and in the dark (WCAG AA)."""

from __future__ import annotations

import re

import pytest

from engram_py.interfaces.web.rendering import assets

_LEAST = 4.5


def themes() -> dict[str, dict[str, str]]:
    found = re.findall(r":root \{(.*?)\}", assets()["style.css"].body.decode(), re.DOTALL)
    light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", one)) for one in found)
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(one * 2 for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_can_be_read_on_every_ground(theme: str) -> None:
    colours = themes()[theme]
    texts, grounds = ("text", "soft", "link", "good", "warn", "bad"), ("ground", "raised")
    pairs = [(text, ground) for text in texts for ground in grounds] + [("text", "new"), ("text", "gone")]
    found = {pair: contrast(*(colours[one] for one in pair)) for pair in pairs}
    assert {pair: ratio for pair, ratio in found.items() if ratio < _LEAST} == {}
