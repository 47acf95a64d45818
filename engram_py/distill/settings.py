"""What the user set about distilling. Every process reads it, so this module imports next to nothing."""

from __future__ import annotations

from engram_py.dataclass import dataclass

IDLE_SECONDS, LEAST_IDLE, MOST_IDLE = 60, 10, 3_600
TIMEOUT_SECONDS, MOST_TIMEOUT = 120, 600
MODES = ("auto", "manual", "off")


@dataclass(frozen=True, slots=True)
class DistillSettings:
    """When to distill, and who writes the summary: ``command``, else the endpoint ``url``, else no model at all.

    ``mode``: ``auto``, ``manual`` (only ``engram flush``) or ``off``. ``daily_tokens`` ends the day's calls of a model
    that says what it took; 0 is no limit.
    """

    mode: str = "auto"
    idle_seconds: int = IDLE_SECONDS
    command: str = ""
    url: str = ""
    model: str = ""
    key_variable: str = ""
    timeout_seconds: int = TIMEOUT_SECONDS
    daily_tokens: int = 0


def distill_settings(values: dict[str, str]) -> tuple[DistillSettings, tuple[str, ...]]:
    """Return what is set about distilling, taken out of ``values``, and a sentence for each thing that was ignored."""
    warnings: list[str] = []

    def number(key: str, usual: int, least: int, most: int) -> int:
        said = values.pop(key, "").strip()
        if said.isascii() and said.isdecimal() and len(said) <= 10 and least <= int(said) <= most:
            return int(said)
        if said:
            warnings.append(f"{key} {said[:20]!r} was ignored: it is a number from {least:,} to {most:,}")
        return usual

    mode = values.pop("distill", "").strip().lower() or "auto"
    if mode not in MODES:
        warnings.append(f"distill {mode[:20]!r} was ignored: it is one of {', '.join(MODES)}")
        mode = "auto"
    settings = DistillSettings(
        mode=mode,
        idle_seconds=number("distill_idle_seconds", IDLE_SECONDS, LEAST_IDLE, MOST_IDLE),
        command=values.pop("distill_command", "").strip(),
        url=values.pop("distill_url", "").strip(),
        model=values.pop("distill_model", "").strip(),
        key_variable=values.pop("distill_key_variable", "").strip(),
        timeout_seconds=number("distill_timeout", TIMEOUT_SECONDS, 1, MOST_TIMEOUT),
        daily_tokens=number("distill_daily_tokens", 0, 0, 10**9),
    )
    return settings, tuple(warnings)
