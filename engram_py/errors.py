"""Every exception engram_py raises on purpose, in one tree.

Families first (what a caller would catch), then the leaves. A leaf takes the facts, keeps them as
attributes, and words the message itself; ``hint`` is the next step, ``code`` is stable and for programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from engram_py.doors import call

_MOST_NAMED = 50  # of the projects there are


class EngramError(Exception):
    """The root: a failure with a message that states the fact, and a hint that names the next step."""

    code: ClassVar[str] = "engram_error"

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def details(self) -> dict[str, Any]:
        """The failure as JSON-ready facts: ``error_code``, ``message``, ``hint``, and what the leaf adds."""
        return {"error_code": self.code, "message": self.message, "hint": self.hint}


class InvalidInputError(EngramError):
    code = "invalid_input"


class NotFoundError(EngramError):
    code = "not_found"


class ConflictError(EngramError):
    code = "conflict"


class StoreError(EngramError):
    code = "store_error"


class TransferError(EngramError):
    code = "transfer_error"


class EmbedderError(EngramError):
    code = "embedder_error"


class ServeError(EngramError):
    code = "serve_error"


class SyncError(EngramError):
    code = "sync_error"


class SetupError(EngramError):
    code = "setup_error"


class CloudError(EngramError):
    code = "cloud_error"


# --- what the user switched off ---------------------------------------------------------------------------


class RecordingOffError(ConflictError):
    code = "recording_off"

    def __init__(self, project: str) -> None:
        self.project = project
        super().__init__(
            f"recording is off in {project or 'this folder'}: nothing was kept",
            hint=f"the user switched it off; `engram on --record` switches it on, and {call('save')} works anyway",
        )


# --- what somebody passed ---------------------------------------------------------------------------------


class EmptyFieldError(InvalidInputError):
    code = "empty_field"

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(f"{field} is empty", hint=f"give {field} at least one visible character; nothing was saved")

    def details(self) -> dict[str, Any]:
        return super().details() | {"field": self.field}


class TextTooLongError(InvalidInputError):
    code = "text_too_long"

    def __init__(self, field: str, size: int, limit: int) -> None:
        self.field, self.size, self.limit = field, size, limit
        super().__init__(
            f"{field} has {size:,} characters, the limit is {limit:,}",
            hint=f"shorten {field}; longer text belongs in content",
        )

    def details(self) -> dict[str, Any]:
        return super().details() | {"field": self.field, "size": self.size, "limit": self.limit}


class InvalidTextError(InvalidInputError):
    code = "invalid_text"

    def __init__(self, field: str, what: str) -> None:
        self.field, self.what = field, what
        super().__init__(
            f"{field} contains {what}, which is not text", hint=f"remove it from {field} and send the call again"
        )


class InvalidArgumentError(InvalidInputError):
    code = "invalid_argument"

    def __init__(self, argument: str, value: object, *, expected: str) -> None:
        self.argument, self.value, self.expected = argument, value, expected
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        super().__init__(
            f"{argument} is {'missing' if value is None else shown}", hint=f"{argument} must be {expected}"
        )

    def details(self) -> dict[str, Any]:
        return super().details() | {"argument": self.argument}


class EmptyQueryError(InvalidInputError):
    code = "empty_query"

    def __init__(self, text: str) -> None:
        self.text = text[:80]
        super().__init__(f"nothing to search for in {self.text!r}", hint="give at least one word, number, #id or type")


class BulkFilterError(InvalidInputError):
    code = "bulk_filter"

    def __init__(self, text: str, *notes: str) -> None:
        self.text = text[:80]
        reason = "; ".join(notes) or "it does not hold filters alone"
        super().__init__(
            f"{self.text!r} does not say which memories are meant: {reason}",
            hint="give filters such as type:note until:2026-01; of words a search gives the ids. Nothing was changed",
        )


class NotConfirmedError(InvalidInputError):
    code = "not_confirmed"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"nothing was changed; it was not confirmed: {what}", hint="pass --yes to do it without asking"
        )


class NothingReplacedError(InvalidInputError):
    code = "nothing_replaced"

    def __init__(self, observation_id: int, find: str) -> None:
        self.observation_id, self.find = observation_id, find[:80]
        super().__init__(
            f"{self.find!r} does not occur in observation #{observation_id}",
            hint=f"find is literal and case-sensitive; copy it from the content: {call('get', id=observation_id)}",
        )


class InvalidTopicKeyError(InvalidInputError):
    code = "invalid_topic_key"

    def __init__(self, topic_key: str) -> None:
        self.topic_key = topic_key[:80]
        super().__init__(
            f"topic_key {self.topic_key!r} has no letter or digit",
            hint="use family/name, for example decision/auth-tokens, or leave it out",
        )


class InvalidProjectError(InvalidInputError):
    code = "invalid_project"

    def __init__(self, name: str, reason: str, *, hint: str | None = None) -> None:
        self.name, self.reason = name[:80], reason
        told = f"{self.name!r} is not a project name: {reason}" if hint is None else f"project {self.name!r}: {reason}"
        super().__init__(told, hint=hint or "pass a name such as widgets, not a path")


class AmbiguousProjectError(InvalidInputError):
    code = "ambiguous_project"

    def __init__(self, directory: str, candidates: Sequence[str], reason: str, *more: str) -> None:
        self.directory, self.candidates, self.reason = directory, list(candidates), reason
        choices = ", ".join(self.candidates) or "none known yet"
        super().__init__(
            f"{'; '.join([f'{reason}: {directory}', *more])} (candidates: {choices})",
            hint=f"ask the user which project this belongs to, then repeat it with {call('project')}",
        )

    def details(self) -> dict[str, Any]:
        return super().details() | {"available_projects": self.candidates, "project_path": self.directory}


# --- what is not there ------------------------------------------------------------------------------------


class ObservationNotFoundError(NotFoundError):
    code = "observation_not_found"

    def __init__(self, observation_id: int, *, deleted_at: str | None = None) -> None:
        self.observation_id, self.deleted_at = observation_id, deleted_at
        state = f"was deleted at {deleted_at}" if deleted_at else "does not exist"
        hint = f"find the id with {call('search')} or {call('context')}"
        super().__init__(f"observation #{observation_id} {state}", hint=hint)


class SessionNotFoundError(NotFoundError):
    code = "session_not_found"

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id[:80]
        super().__init__(f"no session {self.session_id!r}", hint=f"list them with {call('sessions')}")


class PromptNotFoundError(NotFoundError):
    code = "prompt_not_found"

    def __init__(self, prompt_id: int) -> None:
        self.prompt_id = prompt_id
        super().__init__(f"no prompt {prompt_id}", hint=f"list them with {call('prompts')}")


class JudgmentNotFoundError(NotFoundError):
    code = "judgment_not_found"

    def __init__(self, judgment_id: str) -> None:
        self.judgment_id = judgment_id[:80]
        super().__init__(
            f"no relation {self.judgment_id!r}",
            hint=f"give the judgment_id that a save answered; {call('unjudged')} lists those without a verdict",
        )


class RelationNotFoundError(NotFoundError):
    code = "relation_not_found"

    def __init__(self, relation_id: int) -> None:
        self.relation_id = relation_id
        hint = f"list those that wait for a verdict with {call('unjudged')}"
        super().__init__(f"no relation {relation_id}", hint=hint)


class QuestionNotFoundError(NotFoundError):
    code = "question_not_found"

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"no question {number}", hint="list them with `engram eval list`")


class UnknownProjectError(NotFoundError):
    code = "unknown_project"

    def __init__(self, name: str, similar: Sequence[str] = (), known: Sequence[str] = ()) -> None:
        self.name, self.similar, self.known = name[:80], list(similar), list(known)[:_MOST_NAMED]
        near = f"; similar: {', '.join(self.similar)}" if self.similar else ""
        super().__init__(f"no project {self.name!r}{near}", hint=f"list the projects with {call('projects')}")

    def details(self) -> dict[str, Any]:
        return super().details() | {"available_projects": list(dict.fromkeys((*self.similar, *self.known)))}


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


class UnknownToolError(InvalidInputError):
    code = "unknown_tool"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name[:80], list(known)
        super().__init__(
            f"no tool or profile {self.name!r}", hint=f"--tools takes core, agent, admin, all, or {', '.join(known)}"
        )


# --- what contradicts ------------------------------------------------------------------------------------


class OperationConflictError(ConflictError):
    code = "operation_conflict"

    def __init__(self) -> None:
        super().__init__(
            "operation_id was used before with other arguments",
            hint="use a new operation_id for a new save; nothing was written",
        )


class TopicTakenError(ConflictError):
    code = "topic_taken"

    def __init__(self, topic_key: str, observation_id: int) -> None:
        self.topic_key, self.observation_id = topic_key, observation_id
        super().__init__(
            f"topic {topic_key!r} is already observation #{observation_id}",
            hint=f"update #{observation_id} instead, or choose another topic_key",
        )


class ChangedMeanwhileError(ConflictError):
    code = "changed_meanwhile"

    def __init__(self, observation_id: int) -> None:
        self.observation_id = observation_id
        super().__init__(
            f"observation #{observation_id} was changed meanwhile; it stays as it is now",
            hint=f"read it again: {call('get', id=observation_id)}",
        )


class NoEarlierVersionError(NotFoundError):
    code = "no_earlier_version"

    def __init__(self, observation_id: int, version: int | None) -> None:
        self.observation_id, self.version = observation_id, version
        wanted = "no earlier version" if version is None else f"no version {version}"
        super().__init__(
            f"observation #{observation_id} has {wanted}",
            hint=f"list its versions: {call('history', id=observation_id)}",
        )


class SessionInUseError(ConflictError):
    code = "session_in_use"

    def __init__(self, session_id: str, observations: int) -> None:
        self.session_id, self.observations = session_id[:80], observations
        super().__init__(
            f"session {self.session_id!r} still holds {observations} observation(s)",
            hint="delete those first; deleting a session never takes memory with it",
        )


class AlreadyInitializedError(ConflictError):
    code = "already_initialized"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} exists", hint="edit it, or pass --force to write it again")


# --- where it is kept ------------------------------------------------------------------------------------


class DataDirError(StoreError):
    code = "data_dir_unusable"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"cannot use {path} as the data directory: {reason}",
            hint="set ENGRAM_DATA_DIR to a writable directory on a local disk",
        )


class NetworkFilesystemError(StoreError):
    code = "network_filesystem"

    def __init__(self, path: str, filesystem: str) -> None:
        self.path, self.filesystem = path, filesystem
        super().__init__(
            f"{path} is on a network file system ({filesystem}), where SQLite's WAL locks are unsafe",
            hint="set ENGRAM_DATA_DIR to a directory on a local disk",
        )


class StoreTooNewError(StoreError):
    code = "store_too_new"

    def __init__(self, path: str, unknown: Sequence[str]) -> None:
        self.path, self.unknown = path, list(unknown)
        super().__init__(
            f"{path} was written by a newer engram (it has {', '.join(unknown)}); it was left untouched",
            hint="upgrade engram-py, or set ENGRAM_DATA_DIR to another directory",
        )


class StoreDamagedError(StoreError):
    code = "store_damaged"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} is damaged: {reason}; it was left as it is",
            hint="run `engram doctor`; `engram restore BACKUP` puts a backup in its place and keeps the damaged file",
        )


class IndexDamagedError(StoreError):
    code = "index_damaged"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"the search index in {path} is damaged: {reason}",
            hint="run `engram doctor --fix`: it makes the index again from what was saved",
        )


class StoreGoneError(StoreError):
    code = "store_gone"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} was removed or renamed while this process had it open; nothing was written",
            hint="put the file back, or run `engram restore BACKUP`; to begin an empty memory, start this server again",
        )


class StoreReplacedError(StoreError):
    code = "store_replaced"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} was replaced or removed while this was written; the file that is there now does not have it",
            hint="repeat the call: it looks at the file that is there",
        )


class StoreBusyError(StoreError):
    code = "store_busy"

    def __init__(self, path: str, waited_seconds: float) -> None:
        self.path, self.waited_seconds = path, waited_seconds
        super().__init__(
            f"{path} stayed locked by another process for {waited_seconds:.0f} s",
            hint="nothing was written; repeat the call, and look for a program that holds the file open",
        )


class StoreFullError(StoreError):
    code = "disk_full"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"no space left to write {path}", hint="nothing was written; free some disk space and repeat")


class StoreReadOnlyError(StoreError):
    code = "store_read_only"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} cannot be written", hint="check its permissions, or set ENGRAM_DATA_DIR to a writable directory"
        )


class StoreIOError(StoreError):
    code = "store_io"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"reading or writing {path} failed: {reason}", hint="run `engram doctor`")


# --- what comes and goes as a file -----------------------------------------------------------------------


class InvalidExportError(TransferError):
    code = "invalid_export"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} is not an export this version can read: {reason}",
            hint="nothing was imported; export again with engram 0.1.0/0.2.0 format",
        )


class InvalidSourceError(TransferError):
    code = "invalid_source"

    def __init__(self, path: str, kind: str, reason: str) -> None:
        self.path, self.kind, self.reason = path, kind, reason
        super().__init__(
            f"{path} cannot be imported as {kind}: {reason}",
            hint="nothing was imported; `engram import --help` lists the kinds and where each is kept",
        )


class InvalidBackupError(TransferError):
    code = "invalid_backup"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be restored: {reason}", hint="nothing was changed; choose another backup")


class StoreForeignError(StoreError):
    code = "store_foreign"

    def __init__(self, path: str, tables: Sequence[str]) -> None:
        from shlex import quote  # only who meets such a file pays for it

        self.path, self.tables = path, list(tables)
        engrams = {"sessions", "observations"} <= set(tables)
        then = f"; `engram import --from engram {quote(path)}` then brings over all of it" if engrams else ""
        super().__init__(
            f"{path} is a database of {'Engram' if engrams else 'another program'} (tables {', '.join(tables[:5])}); "
            "it was left untouched",
            hint=f"set ENGRAM_DATA_DIR to another directory{then}",
        )


# --- what goes through a repository ------------------------------------------------------------------------


class SyncFolderError(SyncError):
    code = "sync_folder"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} cannot be synced: {reason}", hint="correct it and run `engram sync` again; the memory is unchanged"
        )


class NoRepositoryError(SyncError):
    code = "no_repository"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} {reason}", hint="run `engram sync` inside a checkout of the repository that shares the memory"
        )


class UnconfirmedProjectError(SyncError):
    code = "unconfirmed_project"

    def __init__(self, project: str, path: str) -> None:
        self.project, self.path = project, path
        super().__init__(
            f".engram.json makes {path} project {project}, whose memory is from elsewhere; nothing was read or written",
            hint=f"if this repository may have it: `engram sync --project {project}`, once",
        )


class WrongPassphraseError(SyncError):
    code = "wrong_passphrase"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"that is not the secret {path} is encrypted with; nothing was read or written",
            hint="ask who set it up, then `engram sync --encrypt` or `engram sync --encrypt-with KEYFILE`",
        )


class PassphraseMissingError(SyncError):
    code = "passphrase_missing"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} is encrypted, and this machine does not know the passphrase; nothing was read or written",
            hint="`engram sync --encrypt` asks for the passphrase, `--encrypt-with KEYFILE` reads a key file; "
            "or set ENGRAM_SYNC_PASSPHRASE",
        )


class EncryptionChangedError(SyncError):
    code = "encryption_changed"

    def __init__(self, path: str, known: str, found: str) -> None:
        self.path, self.known, self.found = path, known, found
        super().__init__(
            f"{path} is encrypted with the key {found} now, not {known} as before; nothing was read or written",
            hint="find out who changed encryption.json; with the new secret: `engram sync --encrypt`",
        )


class SyncKeyError(SyncError):
    code = "sync_key"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be used: {reason}", hint="put it back from a backup, or remove it")


class HookRefusedError(SyncError):
    code = "hook_refused"

    def __init__(self, path: str, reason: str, *, lines: str) -> None:
        self.path, self.reason, self.lines = path, reason, lines
        super().__init__(f"{path} was left alone: {reason}", hint=f"put this into it yourself:\n{lines}")


# --- what other programs' files hold ----------------------------------------------------------------------


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


# --- what turns text into vectors ------------------------------------------------------------------------


class InvalidEmbedderError(EmbedderError):
    code = "invalid_embedder"

    def __init__(self, setting: str, expected: str) -> None:
        self.setting = setting[:200]
        super().__init__(
            f"embedder {self.setting!r} is not understood: {expected}",
            hint="run `engram vectors on`, or `engram vectors off`; ENGRAM_EMBEDDER, where it is set, wins over both",
        )


class EmbedderMissingError(EmbedderError):
    code = "embedder_not_installed"

    def __init__(self, setting: str, package: str) -> None:
        self.setting, self.package = setting, package
        lane = package in ("numpy", "onnxruntime")
        hint = "run `engram vectors on`: it installs what is missing" if lane else f"pip install {package}"
        super().__init__(f"{setting} needs the package {package}", hint=hint)


class EmbedderFailedError(EmbedderError):
    code = "embedder_failed"

    def __init__(self, setting: str, reason: str, *, hint: str) -> None:
        self.setting, self.reason = setting, reason[:300]
        super().__init__(f"{setting}: {self.reason}", hint=hint)

    @classmethod
    def absent(cls, setting: str) -> EmbedderFailedError:
        hint = "run `engram vectors on` once: it fetches the model"
        return cls(setting, "the model is not on this machine", hint=hint)

    @classmethod
    def loading(cls, setting: str, cause: Exception) -> EmbedderFailedError:
        reason = f"the model cannot be loaded: {cause or type(cause).__name__}"
        return cls(setting, reason, hint="check that the folder holds a whole model of this kind")

    @classmethod
    def running(cls, setting: str, cause: Exception) -> EmbedderFailedError:
        return cls(setting, f"the model failed: {cause or type(cause).__name__}", hint="run `engram doctor`")


# --- where a server listens ------------------------------------------------------------------------------


class AddressInUseError(ServeError):
    code = "address_in_use"

    def __init__(self, address: str) -> None:
        self.address = address
        super().__init__(
            f"another program listens on {address}",
            hint="it may be an engram that serves already; end it, or choose another: `engram serve PORT`",
        )


class AddressUnusableError(ServeError):
    code = "address_unusable"

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(
            f"cannot listen on {address}: {reason}", hint="choose another port, --host or --socket of this machine"
        )


class TokenRequiredError(ServeError):
    code = "token_required"

    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(
            f"{host} can be reached from other machines, and nothing would ask who they are",
            hint="set ENGRAM_HTTP_TOKEN first, or serve on 127.0.0.1",
        )


# --- a server that other machines share ------------------------------------------------------------------


class InvalidServerError(CloudError):
    code = "invalid_server"

    def __init__(self, address: str, flaw: str) -> None:
        self.address, self.flaw = address[:200], flaw
        hint = "give https://HOST; http:// is for this machine alone, or with --insecure"
        super().__init__(f"{self.address!r} cannot be used as a server: {flaw}", hint=hint)


class NotLoggedInError(CloudError):
    code = "not_logged_in"

    def __init__(self) -> None:
        super().__init__("this machine is logged in to no server", hint="engram cloud login --server URL")


class NothingEnrolledError(CloudError):
    code = "nothing_enrolled"

    def __init__(self, server: str) -> None:
        self.server = server
        super().__init__(f"no project is shared with {server}", hint="engram cloud enroll PROJECT, or --all")


class TokenNotKeptError(CloudError):
    code = "token_not_kept"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"the token cannot be kept in {path}: {reason}", hint="make room, or the folder writable")


class CloudFailedError(CloudError):
    """``reason_code`` says which kind of failure it was: ``transport_failed``, ``auth_required`` and so on."""

    code = "cloud_failed"

    def __init__(self, reason_code: str, message: str, *, hint: str) -> None:
        self.reason_code = reason_code
        super().__init__(message, hint=hint)

    def details(self) -> dict[str, Any]:
        return super().details() | {"reason_code": self.reason_code}
