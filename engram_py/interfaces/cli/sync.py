"""``engram sync`` shares the memory of a project through its git repository, ``engram cloud`` through a server. The
commands of those who run a server are in ``cloud_admin``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.base.dataclass import replace
from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.files import here
from engram_py.base.text.normalize import visible
from engram_py.interfaces.cli.commands import (
    PATH,
    can_ask,
    group,
    json_command,
    memory,
    print_notes,
    print_value,
    result_command,
    show,
)
from engram_py.interfaces.cli.main import LazyGroup, Row
from engram_py.interfaces.cli.progress import progress, progress_bars
from engram_py.interfaces.wording.render import to_json
from engram_py.sharing.sync.autosync.table import TARGET
from engram_py.sharing.sync.errors import PassphraseMissingError
from engram_py.sharing.sync.sealing import secret_of, secret_of_file

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.sharing.sync.git.table import Adoption, GitSynced, HandEdit


_LONGEST_TOKEN = 10_000

# command → (module, what `engram cloud --help` says of it, an example). The first half is for users of a server,
# the second for whoever runs one: it alone needs the packages of the extra `server`.
CLOUD_COMMANDS: dict[str, Row] = {
    "login": ("sync", "Connect this machine to a server.", "login --server https://memory.example.org"),
    "logout": ("sync", "Forget the server's token.", "logout"),
    "status": ("sync", "Show what is sent, what waits, and why.", "status"),
    "enroll": ("sync", "Send a project to the server from now on.", "enroll shop"),
    "unenroll": ("sync", "Stop sending a project.", "unenroll shop"),
    "serve": ("cloud_admin", "Run the team's server on PostgreSQL.", "serve --port 7438"),
    "users": ("cloud_admin", "List, add, enable and disable accounts.", "users add ada"),
    "tokens": ("cloud_admin", "List, add and revoke tokens.", "tokens add ada"),
    "grants": ("cloud_admin", "List, add and remove what an account may read or write.", "grants add ada shop"),
    "audit": ("cloud_admin", "Show who did what.", "audit"),
    "pause": ("cloud_admin", "Stop writes to a project, or list those stopped.", "pause shop"),
    "resume": ("cloud_admin", "Resume a paused project.", "resume shop"),
    "restored": ("cloud_admin", "Have every machine send again, after a backup was put back.", "restored"),
}


cloud_command = group(
    "cloud",
    "Share memory through a server: connect this machine to one, or run one for a team.",
    cls=LazyGroup,
    table=CLOUD_COMMANDS,
)


@result_command("login")
@click.option("--server", help="The server's address; default: ENGRAM_CLOUD_SERVER or cloud_server.")
@click.option("--token", help="Use `-` to read the token from standard input; default: ask for it.")
@click.option("--insecure", is_flag=True, help="Allow unencrypted http:// to another machine.")
def login_command(app: Engram, server: str | None, token: str | None, insecure: bool) -> object:
    """Connect this machine to a server. The token is tested, then kept in the keychain or a private file.

    Nothing of the memory is sent before `engram cloud enroll` names a project.
    """
    address = server or app.settings.cloud_server
    if not address:
        raise click.UsageError("say which server: --server https://HOST")
    return app.autosync.account.login(address, _token(token, address), insecure=insecure)


@result_command("logout")
def logout_command(app: Engram) -> object:
    """Delete the server's token. Projects stay enrolled for the next login to the same server."""
    return app.autosync.account.logout()


@result_command("status")
@click.option("--retry", is_flag=True, help="Retry the rows that were set aside, then sync.")
def status_command(app: Engram, retry: bool) -> object:
    """Show the state of sync: pending changes, refused rows, next step. Only --retry contacts the server."""
    if retry:
        app.autosync.retry()
    return app.autosync.status()


@result_command("enroll")
@click.argument("projects", nargs=-1, metavar="PROJECT...", help="Projects, by name.")
@click.option("--all", "everything", is_flag=True, help="All projects that the server grants.")
@click.option("--trust/--no-trust", default=None, help="Trust memories from this server, or (--no-trust) never.")
def enroll_command(app: Engram, projects: tuple[str, ...], everything: bool, trust: bool | None) -> object:
    """Sync projects with the server from now on, with everything saved so far.

    In a terminal the command asks once whether you trust the server's authors. Until then agents see the memories of
    other authors marked as not checked.
    """
    if not projects and not everything:
        raise click.UsageError("name the projects, or pass --all")
    enrolled = app.autosync.account.enroll(projects, everything=everything)
    names = list(enrolled.projects)
    undecided = [name for name in names if not app.trust.is_decided(TARGET, name)]
    if trust is None and undecided and can_ask():
        trust = click.confirm(f"Trust what others write into {', '.join(undecided)} on this server?", err=True)
    if trust is not None:
        app.trust.source(TARGET, projects=names, trusted=trust)
    return enrolled


@result_command("unenroll")
@click.argument("projects", nargs=-1, required=True, metavar="PROJECT...", help="Projects, by name.")
def unenroll_command(app: Engram, projects: tuple[str, ...]) -> object:
    """Stop syncing projects. The server keeps what it has."""
    return app.autosync.account.unenroll(projects)


def _token(token: str | None, address: str) -> str:
    if token not in (None, "-"):
        message = "a token on the command line is seen by every user of this machine: pass --token - and pipe it in"
        raise click.UsageError(message)
    if token is None and can_ask():
        return str(click.prompt(f"Token for {address}", hide_input=True, err=True))
    if token is None:
        raise click.UsageError("there is no terminal to ask for the token: pass --token - and pipe it in")
    return sys.stdin.readline(_LONGEST_TOKEN) if sys.stdin is not None else ""


def sync_cloud(app: Engram, *, as_json: bool) -> None:
    """Sync with the server now and print the result; exit code 1 when it failed or another process syncs."""
    with progress_bars() as report:
        done = app.autosync.sync_now(progress=report)
    show(done, app.settings, as_json=as_json)
    if done.outcome != "done":
        sys.exit(1)


_SHORTEST_PASSPHRASE = 8
_MOST_KEY_BYTES = 2**20


@click.command("sync")
@click.option("--import", "read", is_flag=True, help="Only read what others wrote.")
@click.option("--export", "write", is_flag=True, help="Only write what is new here.")
@click.option(
    "--format",
    type=click.Choice(["text", "chunks"]),
    help="text: a Markdown file per memory (new folders). chunks: compressed files, with sessions and prompts.",
)
@click.option("--mine", is_flag=True, help="Say that edits by hand of your own memories' files are yours: sign them.")
@click.option("--again", is_flag=True, help="Write everything again, not only what is new.")
@click.option("--status", "status", is_flag=True, help="Show the state of the folder, the hooks and the server.")
@click.option("--digest", is_flag=True, help="Print a checksum that is equal on machines with the same memory.")
@click.option("--project", help="A project other than the repository's own.")
@click.option("--all", "all_projects", is_flag=True, help="Every project, in both directions.")
@click.option("--encrypt", is_flag=True, help="Encrypt or open the folder with a passphrase; the command asks for it.")
@click.option("--encrypt-with", "key_file", type=PATH, help="Encrypt or open the folder with a key file.")
@click.option("--allow-plain", is_flag=True, help="Read unencrypted files in an encrypted folder.")
@click.option("--trust", metavar="KEY", help="Trust this device; from then on only files of trusted devices are read.")
@click.option("--untrust", metavar="KEY", help="Stop trusting this device.")
@click.option("--trusted", is_flag=True, help="List the devices that wrote chunks, with their keys.")
@click.option(
    "--install-hooks",
    is_flag=True,
    help="Install git hooks (import after a merge or rebase, export before a push) and a merge driver for memories.",
)
@click.option("--uninstall-hooks", is_flag=True, help="Remove the git hooks.")
@click.option("--cloud", is_flag=True, help="Sync with the server of `engram cloud login`, not through git.")
@click.option("--hook", metavar="NAME", help="For the git hooks: never fails, prints only changes.")
@json_command
def sync_command(hook: str | None, cloud: bool, as_json: bool, **asked: Any) -> None:
    """Share this project's memory through the repository: read what others committed, write what is new.

    It uses the folder .engram/, which you commit like any file. Personal observations and raw messages are not shared.
    """
    if hook is not None:
        _run_hook(hook)
        return
    with memory() as app:
        if cloud:
            sync_cloud(app, as_json=as_json)
            return
        value, lines = _answer(app, asked)
    print_value(to_json(value, "cli"), "\n".join(lines), as_json=as_json)
    print_notes(() if as_json else getattr(value, "warnings", ()))


@click.command("merge-memory")
@click.argument("base", type=PATH, help="The file before both edits.")
@click.argument("ours", type=PATH, help="This branch's file; the merged one is written here.")
@click.argument("theirs", type=PATH, help="The other branch's file.")
def merge_memory_command(base: Path, ours: Path, theirs: Path) -> None:
    """Merge two edits of a memory's file, as a merge driver of git. Exit code 1: they conflict."""
    from engram_py.base.git.program import Deadline, ask_git
    from engram_py.sharing.sync.git.memory_file import merge
    from engram_py.sharing.sync.git.memory_folder import joined_lines

    root = here()
    mine, other = ours.read_bytes(), theirs.read_bytes()
    joined = merge(base.read_bytes(), mine, other, partial(joined_lines, root))
    if joined is not None:
        if joined in (mine, other) and mine != other:
            click.echo("engram: took the later of two edits of a memory; the other waits in `engram review`", err=True)
            with suppress(EngramError), memory() as app:
                app.git_sync.keep_other(joined, other if joined == mine else mine)
        ours.write_bytes(joined)
        return
    names = [word for name in ("ours", "base", "theirs") for word in ("-L", name)]
    files = [str(path.absolute()) for path in (ours, base, theirs)]
    if ask_git(root, "merge-file", *names, *files, deadline=Deadline(10.0)) is None:
        sys.exit(1)


def _answer(app: Engram, asked: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the result of the request, as a value and in words."""
    from engram_py.interfaces.wording import sync as words

    where = {"project": asked["project"], "all_projects": asked["all_projects"]}
    if asked["status"]:
        found = app.git_sync.status(**where)
        return found, [*words.status(found), *words.summary(app.autosync.status())]
    if asked["digest"]:
        digest = app.git_sync.digest(**where)
        return digest, words.digest(digest)
    if asked["trusted"]:
        devices = app.git_sync.devices()
        return {"devices": list(devices)}, words.devices(devices)
    if asked["trust"]:
        device = app.git_sync.trust(asked["trust"])
        return device, words.devices([device])
    if asked["untrust"]:
        device = app.git_sync.trust(asked["untrust"], trusted=False)
        return device, words.untrusted(device, app.git_sync.devices())
    if asked["install_hooks"]:
        changed = [str(path) for path in app.git_sync.install_hooks(_command(app))]
        return {"changed": changed}, [f"Wrote {path}" for path in changed] or ["The hooks were there already."]
    if asked["uninstall_hooks"]:
        changed = [str(path) for path in app.git_sync.uninstall_hooks()]
        return {"changed": changed}, [f"Took our lines out of {path}" for path in changed] or ["There were no hooks."]
    done = _sync(app, asked)
    if done.unchecked and can_ask():
        with suppress(click.Abort):  # who does not answer is asked the next time
            trusted = click.confirm(visible(words.vouching(done)), default=False, err=True)
            sources = dict.fromkeys(one.source for one in done.unchecked)
            app.trust.source(*sources, projects=[done.project], trusted=trusted)
            done = replace(done, unchecked=())
    if done.memories_written is not None and can_ask() and not app.git_sync.has_decided_driver():
        with suppress(click.Abort):
            wanted = click.confirm(words.MERGE_DRIVER, default=True, err=True)
            app.git_sync.decide_driver(_command(app) if wanted else None)
    return done, words.synced(done)


def _sync(app: Engram, asked: dict[str, Any]) -> GitSynced:
    both = asked["read"] == asked["write"]
    options = {name: asked[name] for name in ("project", "all_projects", "again", "allow_plain", "format")}
    options |= {name: both or asked[name] for name in ("read", "write")}
    options["encrypt"] = asked["encrypt"] or asked["key_file"] is not None
    options["adopt"] = _confirm_adoption if can_ask() else None
    options["mine"] = (lambda edits: True) if asked["mine"] else _confirm_edits if can_ask() else None

    def sync(secret: bytes | None) -> GitSynced:
        with progress("Syncing") as report:
            return app.git_sync.sync(**options, secret=secret, progress=report)

    secret = _secret(app, asked)
    try:
        return sync(secret)
    except PassphraseMissingError:
        if not can_ask():
            raise
    return sync(secret_of(_prompt_passphrase(is_new=False)))


def _secret(app: Engram, asked: dict[str, Any]) -> bytes | None:
    """Return the secret from file, variable or prompt; None when none was given."""
    if asked["key_file"] is not None:
        return _file_secret(here() / asked["key_file"])
    given = app.settings.sync_passphrase
    is_new = asked["encrypt"] and not app.git_sync.is_encrypted()
    if not given and asked["encrypt"]:
        given = _prompt_passphrase(is_new=is_new)
    if not given:
        return None
    if is_new and len(given) < _SHORTEST_PASSPHRASE:
        raise InvalidArgumentError("passphrase", "…", expected=f"at least {_SHORTEST_PASSPHRASE} characters")
    return secret_of(given)


def _prompt_passphrase(*, is_new: bool) -> str:
    """Return the passphrase somebody types: a new one twice, for nothing else can tell that it was mistyped."""
    if not can_ask():
        message = "there is no terminal to ask for the passphrase: set ENGRAM_SYNC_PASSPHRASE, or use --encrypt-with"
        raise click.UsageError(message)
    words = f"New passphrase, at least {_SHORTEST_PASSPHRASE} characters" if is_new else "Passphrase of .engram"
    return str(click.prompt(words, hide_input=True, confirmation_prompt=is_new, err=True))


def _confirm_edits(edits: Sequence[HandEdit]) -> bool:
    from engram_py.interfaces.wording import sync as words

    with suppress(click.Abort):  # who does not answer is asked the next time
        return click.confirm(visible(words.hand_edits(edits)), default=False, err=True)
    return False


def _confirm_adoption(adoption: Adoption) -> bool:
    from engram_py.interfaces.wording import sync as words

    return click.confirm(visible(words.adoption(adoption)), default=adoption.is_free, err=True)


def _file_secret(path: Path) -> bytes:
    from engram_py.base.files import read_bounded

    try:
        data = read_bounded(path, _MOST_KEY_BYTES)
    except OSError as exc:
        expected = f"a key file ({exc.strerror or exc})"
        raise InvalidArgumentError("--encrypt-with", str(path), expected=expected) from exc
    return secret_of_file(data)


def _command(app: Engram) -> list[str]:
    """Return the command that starts this engram in a hook, with the present data directory."""
    from engram_py.interfaces.setup.machine import current_launcher, this_machine

    launcher = current_launcher(this_machine(here()), app.settings.data_dir)
    return [*launcher.words, *launcher.options]


def _run_hook(hook: str) -> None:
    """Run a git hook: report on stderr, and never fail."""
    from engram_py.interfaces.wording import sync as words

    pushing = hook == "pre-push"
    try:
        with memory() as app:
            secret = app.settings.sync_passphrase
            done = app.git_sync.sync(read=not pushing, write=pushing, secret=secret_of(secret) if secret else None)
        lines = words.hooked(done)
    except (EngramError, OSError) as exc:
        lines = words.hook_refused(exc)
    for line in lines:
        click.echo(f"engram: {visible(line)}", err=True)
