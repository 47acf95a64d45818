"""Find the lines of an output that say which error it is, without what differs from one time to the next.

No tool is known by name. What a line stands beside tells whether it is an error of the code (a place in a file, frames
below it), and the names in it tell whether it would be the same error if it came again.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.base.text.words import ENGLISH

HEAD_CHARS, TAIL_CHARS = 30_000, 150_000
_MOST_LINES = 1_200  # of each end
_LINE_CHARS = 1_000
MOST_KEYS = 6
_KEY_CHARS = 300
_NAME, _WORD_WORTH, _ENOUGH = 3, 1, 3  # what a name and a rare word count, and what a line of a tool needs
_LONG = 4  # rare words that an error of the code needs without a name: "unexpected indent" is no signature
_FRAMES_BEHIND = 8
_COMMON = 0.002  # of ordinary texts have the word

_ANSI = regex(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\].*?(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f]")
_MARK = regex(
    r"(?i)(?:^|[^a-z])(?:error|err!|fatal|panic(?:ked)?|exception|failed|cannot|can't|could not|couldn't|undefined"
    r"|missing|denied|not (?:found|been|something|assignable|defined)|no such|no rule|no module|no required|no matching"
    r"|does not exist|refus\w*|rejected|conflict|already (?:in use|exists)|unknown|unable|invalid|unexpected"
    r"|unresolved|unsupported)(?![a-z])|^\S+\.\w+:\d+:\d+: (?!warning|note|info|help)\S"
    r"|\w(?:Error|Exception)\b|(?-i:\bE[A-Z]{4,}|\bERR_\w+|\[E\d+\])"
)
# --- what differs from one time to the next
_MARKED = regex(r"^E\s{2,}")
_URL = regex(r"\b\w+://[^\s'\"`<>)]+")
_PATH = regex(r"(?:\b[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+(?=[\w.@+-])")
_PLACE = regex(r"[:(]\d+(?:[:,]\d+)?\)?(?=:|\s|$|\))|,? ?\bline \d+(?:, column \d+)?")
# Of versions, of a place in what was compiled, of a type.
_SIGNS = regex(r"(?<=[@:])[\^~*=<>]+|\([.\w]+\+0x\w+\)|(?<![\w*&])[*&](?=\w)")
_HASH = regex(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-fA-F]+\b")
_TIME = regex(r"\b\d{4}-\d\d-\d\d[T ]?(?:\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b")
_NUMBER = regex(r"(?<![A-Za-z\d_])(?<!Errno )\d+(?:[.,:]\d+)*(?:m?s|[kKMG]i?B)?(?![A-Za-z_])")
_QUOTE = str.maketrans('‘’“”"`´', "'''''''")
# --- what stands before an error: a build's step, a container, the file, the tool's own word for an error
_BEFORE = regex(
    r"^(?:\d+:\d+\s+|#\d+ (?:\d+\.\d+ )?|[\w.-]+ +\| |E\s{2,}|(?:FAILED|ERROR) \S+ - |[>|│*✖✘×●]\s+|!\s+(?=\[)"
    r"|\[[\d:.,TZ -]{4,30}\] )+"
)
_FILE = regex(r"^\W{0,3}[\w.@+-]+\.\w{1,6}(?::+| -)\s+")
_SAYS = regex(
    r"^(?:(?:uncaught |npm |pip |pnpm |yarn )?(?:error|err!|fatal|panic|warn(?:ing)?|info)"
    r"(?: ?\[?[A-Z]{1,3}\d{3,5}\]?)?"
    r"(?::|\s+(?=\S))\s*|(?:[\w.]+\.)?(?-i:[A-Z]\w*(?:Error|Exception))(?: \[\w+\])?:\s+)+",
    2,  # re.IGNORECASE
)
_SEVERAL = regex(r"(?:^|[\s(,;.])# [a-z]+")  # "# passed; # failed" adds up, and names no error
_RULE = regex(r"\s+\[[\w-]+\]$")  # the name of a check, after what it says
# Up to the name: what needs it differs.
_CLAUSE = regex(r"^(\S+ \S+.*?'[^']+'.*?)(?:\s*[,;(]| (?:imported |required |found )?(?:from|in|for) ).*$")
_BESIDE = regex(r"(?i)^\W*(?:\S+\s+)?(?:note|hint|help|info|warn(?:ing)?)\b[^:]{0,20}:")
_OF_ONE_RUN = regex(r"[/\\]\S*\d{4}\S*$")  # the path of a log
# --- an error of the code
_AT_PLACE = regex(r"^\W{0,4}(?:[\w.@+~-]*[/\\])*[\w.@+-]+\.\w{1,6}(?::\d+|\(\d+)|^\s+\d+:\d+\s|panicked at \S+:\d+:\d+")
_ARROW = regex(r"^\s*(?:-->|╭─\[|┌─|,-\[)\s*\S+:\d+")
_CAUSE = regex(r"^\s*> \S")
_AT_FRAME = regex(r"^\s+at\s")
_FILE_FRAME = regex(r'^\s+File "([^"]+)", line \d+(?:, in (\S+))?')
_NODE_FRAME = regex(r"^\s+at (?:async )?(?:(?:new )?([\w.$<>]+) )?\(?(?:file://)?([^():]*[/\\][^():]+):\d+")
_PYTEST_FRAME = regex(r"^((?:[\w.-]+/)*[\w.-]+\.py):\d+: (?:in (\S+)|\w+)")
_GO_FRAME = regex(r"^\t(\S+\.go):\d+")
_GO_FUNCTION = regex(r"^[\w./*()-]*?([\w]+)\(.*\)$")
_EXCEPTION = regex(r"^(?:Uncaught )?[\w.]*(?:[A-Z]\w*)?(?:Error|Exception|Exit|Interrupt|NotFound)\b")
_ASSERTION = regex(
    r"(?i)(?:\b|_)assert|\bexpect(?:ed)?\b.{0,80}\b(?:got|received|actual|but|to (?:be|equal|have|match|contain))\b"
    r"|\bgot\b.{0,80}\bwant\b|\bexpect\("
)
_THEIRS = regex(
    r"site-packages|dist-packages|lib/python\d|<frozen|<string>|node_modules|node:|\.cargo/|go/pkg/mod|rustc/"
)
_TEST = regex(r"(?i)(?:^|[/\\])(?:tests?[_.]|conftest)|[_.](?:test|spec)s?\.\w+$")
# --- names
_QUOTED = regex(r"'([^']{2,100})'")
_TOOL = regex(r"^(?![\w.]*(?:Error|Exception):)[\w./+-]+: ")
_COLONS = regex(r"(?:^|(?<=: ))([\w.@/+-]{2,})(?=:\s|$)")
_NOUN = regex(
    r"(?i)\b(?:named|module|package|command|image|table|column|field|method|function|target) (?!named)([\w.@+-]{3,})"
)
_OPTION = regex(r"(?<![\w-])--?[A-Za-z][\w-]{2,}")
_PACKAGE = regex(r"(?<![\w/.])[\w-]+\.[a-z]{2,4}/[\w./-]+\w")
_TOKEN = regex(r"[A-Za-z_@$][\w$]*(?:[-./@:]+\w+)*(?:\(\))?")
_IDENTIFIER = regex(r"[a-z\d][A-Z]|\w_\w|[A-Za-z]\d|\d[A-Za-z]|[A-Z]{4}|\w[-.@:/]+\w|\(\)$")
_CODE = regex(r"^(?:[A-Z]{1,4}\d{2,5}|\w*(?:Error|Exception|Warning)|ERR\w*!?|E[A-Z]{3,}|Errno)$")
_WORD = regex(r"[A-Za-z]{4,}")
_OF_LANGUAGES = """
int str float bool bytes list dict tuple set none nonetype object function string number boolean undefined null array
any void never unknown symbol char byte rune error i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 usize isize self option result
vec module class type method int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float32 float64 true false this
"""
_SYSTEM = frozenset(errno.errorcode.values())  # what the system says is the same whoever asks
_TYPES = frozenset(_OF_LANGUAGES.split())


@dataclass(frozen=True, slots=True)
class Signature:
    """``keys`` are the normalized lines by which an error is known again, the telling one first; ``said`` are the
    lines as they were printed. Of a general error the key ends in ``@ function file``, the place in the code."""

    keys: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    own: int = 0  # how many of the keys a memory is to be made with: what follows an error of a tool may be a summary

    @property
    def is_nothing(self) -> bool:
        return not self.keys


def signature_of(output: str, command: str = "") -> Signature:
    """Return what an output says of its error; nothing of one that says nothing telling, or fails an assertion."""
    lines = _read(output)
    program = set(_WORD.findall(command.partition(" ")[0].lower()))
    marked = [(_rank(lines, at), at) for at, line in enumerate(lines) if _is_marked(line)]
    highest = max((rank for rank, _ in marked), default=0)
    code = highest > 1
    found: dict[str, str] = {}
    for rank, at in marked:
        if rank != highest or _is_assertion(lines, at, code=code):
            continue
        place = at + ("panicked at" in lines[at] and at + 1 < len(lines))  # on the next line Rust says what happened
        if key := _key(lines, place, program, code=code):
            found.setdefault(key[:_KEY_CHARS], _printed(lines[place]))
    said = tuple(found.values())[:MOST_KEYS]
    ends = [end for line in said if (end := _end(line, program))]
    keys = dict.fromkeys([*list(found)[:MOST_KEYS], *ends])
    return Signature(tuple(keys), said, own=len(said[:3]) if code else len(said[:1]))


def _printed(line: str) -> str:
    """Return a line as a reader has it: of a test runner's without its mark, whose blanks would be lost."""
    return " ".join(_MARKED.sub("", _ANSI.sub("", line)).split())[:_KEY_CHARS]


def _end(line: str, program: set[str]) -> str:
    """Return the last clause of an error, where that alone names it: what it happened in may differ."""
    end = line.rpartition(": ")[2]
    return normalized(end) if end != line and end.count(" ") > 1 and telling(end, program)[0] else ""


def normalized(line: str) -> str:
    """Return an error's line without what differs: see ``plain``, what a tool puts before it, and what needs the name
    that it misses."""
    line = _RULE.sub("", plain(line))
    said = _CLAUSE.sub(r"\1", _SAYS.sub("", line))
    return (said if " " in said else line).strip(_ENDS).casefold()


def plain(line: str) -> str:
    """Return a line without paths, numbers, hashes, addresses and times."""
    line = _BEFORE.sub("", _ANSI.sub("", line).strip()).translate(_QUOTE)
    line = _SIGNS.sub("", _TIME.sub("", _URL.sub("<url>", line)))
    line = _HASH.sub("#", _PATH.sub("", _PLACE.sub("", line)))
    return " ".join(_FILE.sub("", _NUMBER.sub("#", line)).split())


def is_of(key: str, lines: Sequence[str], text: str) -> bool:
    """Return whether one of an error's lines is that of a key; the ``flattened`` text has the place that it names."""
    line, _, place = key.partition(" @ ")
    known = {normalized(one)[:_KEY_CHARS] for line in lines for one in (line, line.rpartition(": ")[2])}
    return line in known and all(_holds(text, one) for one in place.split())


def is_in(key: str, text: str) -> bool:
    """Return whether a text that was ``flattened`` holds the line of a key, and the place in the code it names."""
    line, _, place = key.partition(" @ ")
    return _holds(text, line) and all(_holds(text, one) for one in place.split())


def flattened(text: str) -> str:
    """Return a text as its lines without what differs, one after the other, to look for keys in."""
    return " ".join(plain(_MARKUP.sub("", line)).strip(_ENDS).casefold() for line in lines_of(text))


_ENDS = " -:.|~"
_MARKUP = regex(r"^\s*(?:[-*>]\s+|#{1,6} |\d+\. )|\*\*(?=\w)|(?<=[\w:])\*\*")


def words_of(key: str) -> list[str]:
    """Return the words of a key as the index has them, the longest first."""
    words = _INDEXED.findall(key.partition(" @ ")[0].replace("<url>", " "))
    return sorted(dict.fromkeys(words), key=len, reverse=True)


_INDEXED = regex(r"[^\W\d_][^\W_]*")


def _holds(text: str, line: str) -> bool:
    at = text.find(line)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(line) : at + len(line) + 1]
        if not (before.isalnum() or after.isalnum() or after == "_"):
            return True
        at = text.find(line, at + 1)
    return False


def _read(output: str) -> list[str]:
    """Return the lines of both ends of an output: of a very long one, what is between is not looked at."""
    if len(output) <= HEAD_CHARS + TAIL_CHARS:
        lines = lines_of(output)
        if len(lines) > 2 * _MOST_LINES:
            lines = [*lines[:_MOST_LINES], *lines[-_MOST_LINES:]]
    else:
        lines = [*lines_of(output[:HEAD_CHARS])[:_MOST_LINES], *lines_of(output[-TAIL_CHARS:])[-_MOST_LINES:]]
    return [line[:_LINE_CHARS] for line in lines if not line.isspace()]


def _is_marked(line: str) -> bool:
    """Return whether a line may be an error's own: not a note beside one, nor a frame."""
    return bool(_MARK.search(line)) and not (_BESIDE.match(line) or _AT_FRAME.match(line) or _FILE_FRAME.match(line))


def _rank(lines: Sequence[str], at: int) -> int:
    """Return 3 for what a test runner marks as the error itself, 2 for an error with a place in the code, else 1."""
    line = lines[at]
    if line.startswith("E  "):
        return 3
    if _AT_PLACE.search(line) or (at + 1 < len(lines) and _ARROW.match(lines[at + 1])):
        return 2
    if line.startswith("panic: ") and _ahead(lines, at, _GO_FRAME):
        return 2
    if _EXCEPTION.match(line) and (_behind(lines, at, _FILE_FRAME) or _ahead(lines, at, _AT_FRAME)):
        return 2
    return 1


def _behind(lines: Sequence[str], at: int, pattern: object) -> bool:
    return any(pattern.match(line) for line in lines[max(0, at - _FRAMES_BEHIND) : at])  # type: ignore[attr-defined]


def _ahead(lines: Sequence[str], at: int, pattern: object) -> bool:
    return any(pattern.match(line) for line in lines[at + 1 : at + 7])  # type: ignore[attr-defined]


def _is_assertion(lines: Sequence[str], at: int, *, code: bool) -> bool:
    """Return whether a line says that a test was not met, which its author is at work on."""
    around = lines[at : at + 2] if code and "panicked at" in lines[at] else lines[at : at + 1]
    return any(_ASSERTION.search(line) for line in around)


def _key(lines: Sequence[str], at: int, program: set[str], *, code: bool) -> str:
    line = lines[at]
    key = normalized(line)
    least = 1 if code or "'" in key else 2  # blanks: "error: oops" and "code ENOENT" tell nothing
    if key.count(" ") < least or (key.count(" ") < 2 and ":" not in key):
        return ""
    if _OF_ONE_RUN.search(line) or key.startswith("# ") or len(_SEVERAL.findall(key)) > 1 or _introduces(lines, at):
        return ""
    names, rare = telling(line, program)
    if names * _NAME + rare * _WORD_WORTH >= _ENOUGH and (names or not code or rare >= _LONG):
        return key
    place = next(_places(lines, at), "") if code else ""
    return f"{key} @ {place}" if place else ""


def _introduces(lines: Sequence[str], at: int) -> bool:
    """Return whether the lines below say what is wrong."""
    if at + 1 < len(lines) and _CAUSE.match(lines[at + 1]):
        return True
    line = lines[at].rstrip().translate(_QUOTE)
    return line.endswith(":") and not _QUOTED.search(line) and not _PACKAGE.search(line)


def telling(line: str, program: set[str]) -> tuple[int, int]:
    """Return how many names a line has that are somebody's own, and how many words that are rare in ordinary texts."""
    line = _URL.sub("", _ANSI.sub("", line)).translate(_QUOTE)
    names = {*_PACKAGE.findall(line), *_OPTION.findall(line)}
    shown = _RULE.sub("", _FILE.sub("", _PATH.sub("", _PLACE.sub("", _BEFORE.sub("", line.strip())))))
    shown = _TOOL.sub("", shown)
    quoted = {one for text in _named(shown) for one in _TOKEN.findall(text)}
    for token in {*quoted, *_TOKEN.findall(shown)}:
        plain = token.removesuffix("()").lower()
        if _CODE.match(token) or plain in _TYPES or plain in program or len(plain) < 2:
            continue
        if (_IDENTIFIER.search(token) and len(plain) > 2) or (token in quoted and _is_rare(plain)):
            names.add(plain)
    names |= _SYSTEM.intersection(_WORD.findall(shown)) | ({"errno"} if "[Errno" in line else set())
    rare = {word.lower() for word in _WORD.findall(shown)} - names - program - _TYPES
    return len(names), sum(map(_is_rare, rare))


def _named(line: str) -> list[str]:
    """Return the parts of a line that may be names: in quotes, between colons, after a word for their kind."""
    return [*_QUOTED.findall(line), *_COLONS.findall(line), *_NOUN.findall(line)]


def _is_rare(word: str) -> bool:
    return word not in ENGLISH and not any(_ordinary().get(stem, 0) >= _COMMON for stem in _stems(word))


def _stems(word: str) -> Iterator[str]:
    yield word
    for end in ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y", "able"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            stem = word[: -len(end)]
            yield stem
            yield stem + "e"
            yield stem + "i"


@cache
def _ordinary() -> dict[str, float]:
    file = Path(__file__).parents[2] / "recall" / "ordinary_words.json"
    found: dict[str, float] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _places(lines: Sequence[str], at: int) -> Iterator[str]:
    """Yield function and file of the frames of our own code, the one nearest to the error first."""
    behind = lines[max(0, at - 40) : at]
    for line in reversed(behind):
        found = _FILE_FRAME.match(line) or _PYTEST_FRAME.match(line)
        if found:
            yield from _place(found[1], found[2])
    for number, line in enumerate(lines[at + 1 : at + 12], start=at):
        if (found := _GO_FRAME.match(line)) and (function := _GO_FUNCTION.match(lines[number])):
            yield from _place(found[1], function[1])
        if found := _NODE_FRAME.match(line):
            yield from _place(found[2], found[1])


def _place(path: str, function: str | None) -> Iterator[str]:
    name = (function or "").rpartition(".")[2].lower()
    file = path.replace("\\", "/").rpartition("/")[2].lower()
    is_named = len(name) > 3 and name.isidentifier() and ("_" in name or _is_rare(name))
    if is_named and not _THEIRS.search(path) and not _TEST.search(path):
        yield f"{name} {file}"
