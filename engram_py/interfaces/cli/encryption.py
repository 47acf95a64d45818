"""Commands that encrypt the memory on this disk, decrypt it, and give it a new key."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from engram_py.base.database.driver import KEY_COMMAND, KEY_STATE
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.install_hints import install_command, packages_of
from engram_py.interfaces.cli.commands import (
    PATH,
    can_ask,
    confirm,
    json_command,
    print_value,
    settings,
    show,
    yes_option,
)
from engram_py.interfaces.cli.progress import progress

_RECOVERY = "Use your recovery key (the one shown once). The command asks for it, or reads it from standard input."
_KEY_FILE = "Keep the key in this file, readable by you alone, instead of the system's keychain."
_recovery_option = click.option("--recovery", is_flag=True, help=_RECOVERY)
_key_file_option = click.option("--key-file", "file", type=PATH, help=_KEY_FILE)


@click.command("encrypt")
@_key_file_option
@_recovery_option
@yes_option
@json_command
def encrypt_command(file: Path | None, recovery: bool, yes: bool, as_json: bool) -> None:
    """Encrypt the memory on this disk (SQLCipher, AES-256): database, backups, spool, hook log; exports from then on.

    The key is random and kept in the system's keychain (or printed by ENGRAM_KEY_COMMAND). It is shown once. Write it
    down: without the key the memory is lost. An interrupted run is continued by the next one.
    """
    from engram_py.upkeep.encryption import encrypt

    loaded = settings()
    where = _place(file, loaded.data_dir, yes=yes)
    _install_missing()
    with progress("Encrypting") as report:
        done = encrypt(loaded.data_dir, **where, recovery=_typed(recovery), announce=_announce, progress=report)
    show(done, loaded, as_json=as_json)


@click.command("decrypt")
@_recovery_option
@click.option(
    "--set-aside", is_flag=True, help="Use if the key is lost: move the encrypted files aside and start empty."
)
@yes_option
@json_command
def decrypt_command(recovery: bool, set_aside: bool, yes: bool, as_json: bool) -> None:
    """Decrypt the memory. Anyone with the disk can then read it."""
    from engram_py.upkeep import encryption

    loaded = settings()
    if set_aside:
        confirm(f"move the encrypted files in {loaded.data_dir} aside and start with an empty memory", yes=yes)
        kept = encryption.set_aside(loaded.data_dir, loaded.clock())
        said = (
            f"Moved to {kept}. The memory is empty and not encrypted now"
            if kept
            else "Nothing to do: it is not encrypted"
        )
        print_value({"kept": str(kept) if kept else None}, said, as_json=as_json)
        return
    if (loaded.data_dir / KEY_STATE).exists():
        confirm(f"decrypt the memory in {loaded.data_dir} (anyone with the disk can then read it)", yes=yes)
    with progress("Decrypting") as report:
        done = encryption.decrypt(loaded.data_dir, recovery=_typed(recovery), progress=report)
    show(done, loaded, as_json=as_json)


@click.command("rekey")
@_key_file_option
@_recovery_option
@yes_option
@json_command
def rekey_command(file: Path | None, recovery: bool, yes: bool, as_json: bool) -> None:
    """Give an encrypted memory a new key, kept where the old one was. Backups elsewhere still need the old one."""
    from engram_py.upkeep.encryption import rekey

    loaded = settings()
    where = _place(file, loaded.data_dir, yes=yes) if file or os.environ.get(KEY_COMMAND) else {}
    with progress("Encrypting anew") as report:
        done = rekey(loaded.data_dir, **where, recovery=_typed(recovery), announce=_announce, progress=report)
    show(done, loaded, as_json=as_json)


def _install_missing() -> None:
    """Install what the extra ``encrypted`` does, where it is missing; the command says what is missing still."""
    import importlib.util
    import subprocess

    wanted = packages_of("encrypted")
    wanted = [package for package in wanted if importlib.util.find_spec(package.partition("<")[0]) is None]
    if wanted:
        click.echo(f"Installing {' and '.join(wanted)} into {sys.prefix}", err=True)
        with suppress(OSError):  # no uv either
            subprocess.run([*install_command(*wanted), "--quiet"], check=False, stdout=sys.stderr)
        importlib.invalidate_caches()


def _place(file: Path | None, data_dir: Path, *, yes: bool) -> dict[str, Any]:
    """Return where the key will be kept, as the arguments of ``encrypt``. Raises NotConfirmedError for a key file."""
    if file is None:
        return {"kind": "command" if os.environ.get(KEY_COMMAND) else "keychain"}
    if file.is_relative_to(data_dir):
        raise InvalidArgumentError("--key-file", str(file), expected="outside of the data directory that it opens")
    confirm(f"store the key in {file} (anyone with it and {data_dir} can read the memory)", yes=yes)
    return {"kind": "file", "file": file}


def _typed(recovery: bool) -> str:
    if not recovery:
        return ""
    if can_ask():
        return str(click.prompt("Recovery key", hide_input=True, err=True))
    return sys.stdin.readline() if sys.stdin is not None else ""


def _announce(recovery: str) -> None:
    click.echo(
        f"Write this key down and keep it away from this machine. It is not shown again:\n\n  {recovery}\n", err=True
    )
