"""Tells what programs write in the user's name: commands and their output, reminders, notifications."""

from __future__ import annotations

_SYNTHETIC = (
    "<command-", "<local-command-", "<bash-", "<system-reminder>", "<task-notification>", "<user_instructions>",
    "<environment_context>", "<hook_context>", "Caveat: The messages below were generated",
)  # fmt: skip


def is_synthetic(text: str) -> bool:
    """Whether a program wrote this as if the user had."""
    return text.startswith(_SYNTHETIC)
