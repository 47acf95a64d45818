"""Refusals of connecting an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.errors import SetupError


class SetupRefusedError(SetupError):
    code = "setup_refused"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} was left alone: {reason}", hint="correct it, then run the command again")

    def details(self) -> dict[str, Any]:
        return super().details() | {"path": self.path}


class UnknownAgentError(SetupError):
    code = "unknown_agent"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name[:80], list(known)
        super().__init__(f"no agent is called {self.name!r}", hint=f"it is one of {', '.join(known)}")


class ScopeUnavailableError(SetupError):
    code = "scope_unavailable"

    def __init__(self, agent: str) -> None:
        self.agent = agent
        super().__init__(f"{agent} cannot be set up in a project", hint="leave --scope out, or pass --scope user")


class UnusableOptionError(SetupError):
    code = "unusable_option"

    def __init__(self, option: str, reason: str) -> None:
        self.option, self.reason = option, reason
        super().__init__(f"{option} cannot be used: {reason}", hint=f"leave {option} out")


class PluginFailedError(SetupError):
    code = "plugin_failed"

    def __init__(self, command: str, said: str) -> None:
        self.command, self.said = command, said[:500]
        super().__init__(f"`{command}` failed: {self.said}", hint="correct what it says, then run the command again")
