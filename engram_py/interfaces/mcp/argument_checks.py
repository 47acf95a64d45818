"""Refuse a call with arguments that the tool does not have, or that a model wrote into the text of another argument."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from engram_py.base.errors import InvalidInputError
from engram_py.base.lazy import regex
from engram_py.interfaces.input_checks import as_text

_SHOWN_CHARS = 60
# The names that templates of models give the element of an argument: <parameter name="type">, <parameter=type>,
# <arg_key>type</arg_key><arg_value>; other models name it by the argument: <type>.
_ELEMENT = r"(?:[\w-]+:)?(?:parameter|param|argument|arg|arg_value)"
_CODE = regex(r"(?s)```.*?(?:```|\Z)|`[^`\n]*`")


class UnknownArgumentError(InvalidInputError):
    """A call that writes has an argument that would change its meaning, and that the tool does not have."""

    def __init__(self, tool: str, name: str, near: str, known: Sequence[str]) -> None:
        shown = as_text(name[:_SHOWN_CHARS])
        step = f'call it with "{near}" instead' if near else "call it without"
        super().__init__(
            f'{tool} has no argument "{shown}", and nothing was written',
            hint=f"{step}; it takes {', '.join(known)}",
            facts={"argument": shown},
        )


class SwallowedArgumentsError(InvalidInputError):
    """The text of an argument contains the end of it, and then other arguments of the call."""

    def __init__(self, tool: str, name: str, swallowed: Mapping[str, str]) -> None:
        call = ", ".join(f"{one}={as_text(value)[:_SHOWN_CHARS]!r}" for one, value in swallowed.items())
        super().__init__(
            f"{name} contains other arguments of the call ({', '.join(swallowed)}), and nothing was written",
            hint=f"call {tool} again: end {name} before them, and pass {call} as arguments of their own",
            facts={"argument": name},
        )


def swallowed(name: str, text: str, known: Collection[str]) -> dict[str, str]:
    """Return the arguments that the text of the argument ``name`` has taken in, by their form.

    That is an end of the argument without a beginning before it, and then the beginning of another one of ``known``.
    What stands in code is quoted, so it is text.
    """
    if "</" not in text and '",' not in text and '" ,' not in text:
        return {}
    shown = _CODE.sub(lambda code: " " * len(code[0]), text)
    others = "|".join(sorted(one for one in known if one != name))
    return dict(_as_elements(name, shown, text, others) or _as_json(shown, text, others))


def _as_elements(name: str, shown: str, text: str, others: str) -> list[tuple[str, str]]:
    begins = regex(
        rf"""<(?:{_ELEMENT}(?:\s+name\s*=\s*|=)["']?({others})["']?\s*|({others}))>"""
        rf"|<arg_key>\s*({others})\s*</arg_key>\s*(?:<arg_value>)?"
    )
    ends = regex(rf"</({_ELEMENT}|(?:[\w-]+:)?{name})\s*>\s*(?=<)")
    for end in ends.finditer(shown):
        first = begins.match(shown, end.end())
        if first is not None and f"<{end[1]}" not in shown[: end.start()]:
            return list(_values(begins.finditer(shown, end.end()), text))
    return []


def _values(begun: Iterator[Any], text: str) -> Iterator[tuple[str, str]]:
    found = list(begun)
    for one, after in zip(found, [*found[1:], None], strict=True):
        value = text[one.end() : after.start() if after else len(text)]
        yield next(filter(None, one.groups())), value.partition("</")[0].strip()


def _as_json(shown: str, text: str, others: str) -> list[tuple[str, str]]:
    begins = regex(rf'"\s*,\s*"({others})"\s*:\s*')
    first = begins.search(shown)
    if first is None or "{" in shown[: first.start()] or shown[: first.start()].count('"') % 2:
        return []
    return [(name, value.strip('" }\n')) for name, value in _values(begins.finditer(shown), text)]
