"""Refusals of sessions, prompts, transcripts and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.doors import call
from engram_py.errors import ConflictError, InvalidInputError, NotFoundError


class SessionNotFoundError(NotFoundError):
    code = "session_not_found"

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id[:80]
        super().__init__(f"no session {self.session_id!r}", hint=f"list them with {call('sessions')}")


class PromptNotFoundError(NotFoundError):
    code = "prompt_not_found"

    def __init__(self, prompt_id: int, projects: Sequence[str] | None = None) -> None:
        self.prompt_id = prompt_id
        where = f" in {', '.join(projects)}" if projects else ""
        super().__init__(f"no prompt {prompt_id}{where}", hint=f"list them with {call('prompts')}")


class AgentNotFoundError(NotFoundError):
    code = "agent_not_found"

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id[:80]
        super().__init__(f"no session of an agent {self.agent_id!r}", hint=f"list them with {call('agents')}")


class SessionInUseError(ConflictError):
    code = "session_in_use"

    def __init__(self, session_id: str, observations: int) -> None:
        self.session_id, self.observations = session_id[:80], observations
        super().__init__(
            f"session {self.session_id!r} still holds {observations} observation(s)",
            hint="delete those first; deleting a session never takes memory with it",
        )


class TranscriptRefusedError(InvalidInputError):
    code = "transcript_refused"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the transcript was not read: {reason}", hint="the agent's hook names it; everything else was done"
        )


class TranscriptMissingError(TranscriptRefusedError):
    code = "transcript_missing"

    def __init__(self) -> None:
        super().__init__("there is no such file")


class TranscriptUnheardError(TranscriptRefusedError):
    code = "transcript_unheard"

    def __init__(self) -> None:
        super().__init__("it is not empty, and nothing in it is known as a user's words")


class CheckpointTooLargeError(InvalidInputError):
    code = "checkpoint_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the checkpoint has more than {limit:,} bytes; nothing was saved",
            hint="save less of the state, or keep it in a file and save its path",
        )


class CheckpointSecretError(InvalidInputError):
    code = "checkpoint_secret"

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"the checkpoint holds {count} secret or private part(s), and is no JSON without them; nothing was saved",
            hint="take them out and save it again",
        )


class CheckpointNotFoundError(NotFoundError):
    code = "checkpoint_not_found"

    def __init__(self, where: str) -> None:
        self.where = where[:80]
        super().__init__(f"no checkpoint of {self.where}", hint=f"{call('checkpoints')} lists those there are")
