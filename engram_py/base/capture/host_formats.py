"""The formats of hosts: what each program writes around the words of its user and in their place.

One table for all who read such texts: the prompts of hooks, the turns of transcripts and conversations, digests and
imports. Seen in what the programs of ``tests/clients`` wrote, and in their code: Claude Code 2.1, Codex CLI 0.169,
Gemini CLI 0.61; Cursor 2 in its transcripts. A name that no user types is taken for the program's at the beginning
and the end of a text alone: what stands in the middle, somebody pasted.
"""

from __future__ import annotations

from collections.abc import Mapping

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex


@dataclass(frozen=True, slots=True)
class Around:
    """The marks of a host around the user's words in a text that begins with ``head``: they stand after ``before``,
    up to the
    last ``after`` ("": up to the end)."""

    head: str
    before: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class HostFormat:
    """The texts that one host writes: ``tags`` enclose its own words beside the user's, as do the lines of
    ``blocks``, and
    ``lines`` match whole ones; ``around`` marks the user's; a text that begins with one of ``instead``, or with a
    line that matches ``banner``, is the program's. So is a record of a transcript in which one of ``flags`` is true;
    in ``aside`` no user takes part."""

    tags: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    around: tuple[Around, ...] = ()
    instead: tuple[str, ...] = ()
    banner: str = ""
    flags: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


HOSTS: dict[str, HostFormat] = {
    "claude-code": HostFormat(
        tags=("system-reminder", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics",
              "user-prompt-submit-hook", "session-start-hook", "persisted-output"),
        lines=(r"\[Request interrupted by user[^\]\n]*\]",),
        instead=("<command-", "<local-command-", "<bash-", "<task-notification>", "<agent-message", "<teammate-message",
                 "<cross-session-message", "<user-memory-input>", "<autonomous-loop", "<<autonomous-loop",
                 "<scheduled-task", "Another Claude session sent a message", "Base directory for this skill:",
                 "Caveat: The messages below were generated",
                 "This session is being continued from a previous conversation"),
        # "[SYSTEM NOTIFICATION - NOT USER INPUT]", "[SCHEDULED TASK - AUTOMATED FIRING OF A CONFIGURED PROMPT]"
        banner=r"\[(?=[^\]\n]*\b(?:NOT USER|NON-USER|AUTOMATED)\b)[A-Z][A-Z0-9 .,:'–—-]*\]",
        flags=("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage"),
        aside=("isSidechain",),
    ),
    "codex": HostFormat(
        tags=("environment_context", "user_instructions", "turn_aborted", "user_shell_command",
              "subagent_notification", "collaboration_mode", "skill", "skills_instructions", "recommended_plugins",
              "agent_message_board_notification", "codex_internal_context", "goal_context", "hook_prompt"),
        around=(Around("# Context from my IDE setup", "\n## My request for Codex:"),),
        instead=("# AGENTS.md instructions",),
    ),
    "gemini": HostFormat(
        tags=("session_context", "hook_context", "untrusted_context", "loaded_context", "state_snapshot"),
        blocks=(("--- Content from referenced files ---", "--- End of content ---"),),
        instead=("This is the Gemini CLI. We are setting up the context for our chat.",),
    ),
    "cursor": HostFormat(
        tags=("attached_files", "open_and_recently_viewed_files", "system_reminder", "additional_data",
              "manually_attached_skills", "image_files"),
        around=(Around("<", "<user_query>", "</user_query>"),),
    ),
}  # fmt: skip

_FLAGS = tuple(name for host in HOSTS.values() for name in host.flags)
ASIDE = tuple(name for host in HOSTS.values() for name in host.aside)
_AROUND = tuple(one for host in HOSTS.values() for one in host.around)
_INSTEAD = tuple(text for host in HOSTS.values() for text in host.instead)
_BLOCKS = tuple(pair for host in HOSTS.values() for pair in host.blocks)
_NAMES = "|".join(name for host in HOSTS.values() for name in host.tags)
_FIRST = regex(rf"<({_NAMES})(?:\s[^<>]*)?>")
_LAST = regex(rf"</({_NAMES})>$")
_BANNER = regex("|".join(host.banner for host in HOSTS.values() if host.banner))
_LINES = regex("(?m)^(?:" + "|".join(line for host in HOSTS.values() for line in host.lines) + ")$")


def typed(text: str) -> str:
    """Return what the user typed of a text that a host hands over as theirs; "" where a program wrote all of it."""
    text = without_memory_blocks(text).strip()
    if "[" in text:
        text = _LINES.sub("", text).strip()
    while (shorter := _shorter(text)) != text:
        text = shorter
    return "" if text.startswith(_INSTEAD) or (text[:1] == "[" and _BANNER.match(text)) else text


def is_typed(record: Mapping[str, object]) -> bool:
    """Return whether a message in the user's name may be what they typed: the program names no other origin.

    Claude Code writes one into a transcript: ``origin.kind`` is ``human``, ``task-notification``, ``peer``, …
    """
    origin = record.get("origin")
    kind = origin.get("kind", "human") if isinstance(origin, dict) else "human"
    return kind == "human" and record.get("promptSource") != "system"


def is_flagged(record: Mapping[str, object]) -> bool:
    """Return whether a record of a transcript is the program's own, whoever it says speaks."""
    return any(record.get(name) is True for name in _FLAGS)


def _shorter(text: str) -> str:
    """Return the text without one thing that a program wrote around the user's words; unchanged where there is none."""
    for one in _AROUND:
        if text.startswith(one.head) and (start := _line(text, one.before)) >= 0:
            end = text.rfind(one.after) if one.after else len(text)
            return text[start + len(one.before) : end if end > start else len(text)].strip()
    if text[:1] == "<" and (first := _FIRST.match(text)):
        closing = f"</{first[1]}>"
        if (end := text.find(closing, first.end())) >= 0:
            return text[end + len(closing) :].strip()
    if text[-1:] == ">" and (last := _LAST.search(text)):
        start = text.rfind(f"<{last[1]}", 0, last.start())
        if start == 0 or (start > 0 and text[start - 1] == "\n"):
            return text[:start].strip()
    for opening, closing in _BLOCKS:
        if text.endswith(closing) and (start := _line(text, opening)) >= 0:
            return text[:start].strip()
    return text


def _line(text: str, beginning: str) -> int:
    """Return where a line of this beginning starts, -1 for none."""
    if text.startswith(beginning):
        return 0
    at = text.find(beginning if beginning[0] == "\n" else f"\n{beginning}")
    return at if at < 0 or beginning[0] == "\n" else at + 1


# A block that is cut off has no end, so everything behind its opening is the block. Prose that only names the tag has
# no attribute: without an end it stays.
_MEMORY = regex(r"(?si)<\s*engram-memory\b[^<>]*>.*?<\s*/\s*engram-memory\s*>|<\s*engram-memory\s+project\s*=.*")
# What Engram itself injects has no fence: it goes from its heading to the next of that level.
_ENGRAM = regex(r"(?m)^[ \t>]*#{1,2} Memory from (?:Previous Sessions|This Session)\b.*(?:\n(?![ \t>]*#{1,2} ).*)*")


def without_memory_blocks(text: str) -> str:
    """``text`` without each ``<engram-memory …>`` block and context of Engram, quoted or cut off ones included."""
    if "engram-memory" in text.lower():
        text = _MEMORY.sub("", text)
    return _ENGRAM.sub("", text) if " Memory from " in text else text


# What a person types to keep an agent going; not kept as a prompt and not searched for.
_GOING_ON = """
y yes yep yeah ok okay k sure fine good great perfect thanks thx ty no n nope stop wait continue go next proceed retry
again done undo lgtm ja nein weiter danke si sí vale oui non merci sim não はい いいえ 续 继续 好 好的 是 да нет
"""
_GOING_ON_TOGETHER = """
go on|go ahead|do it|do that|keep going|thank you|yes please|please continue|please proceed|try again|carry on
continue please|mach weiter|weitermachen|bitte weiter|weiter bitte|continúa|continua|sigue|sigamos|continuar
continua por favor|continúa por favor|continue por favor|continuons|continuez|poursuis|reprends|reprenons|on continue
prosegui|продолжай|続けて|계속|sounds good|looks good|ok go|ok continue|yes continue|yes do it|yes go ahead
"""
TRIVIAL = frozenset(_GOING_ON.split()) | {
    phrase.strip() for line in _GOING_ON_TOGETHER.split("\n") for phrase in line.split("|") if phrase.strip()
}
LEAST_CHARS = 3
_LONGEST = 40


def is_trivial(prompt: str) -> bool:
    """Return whether a prompt only keeps an agent going, is a command of its own, or was written by a program."""
    text = typed(prompt)[: 10 * _LONGEST]
    if text.startswith("/") and "\n" not in text and "/" not in text[1:].partition(" ")[0]:
        return True  # "/clear"; not "/home/ada/x.py fails"
    return len(text) <= _LONGEST and (
        text.rstrip(".!… ").lower() in TRIVIAL or (len(text) < LEAST_CHARS and text.isascii())
    )
