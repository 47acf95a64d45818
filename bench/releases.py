"""``python -m bench.releases FOLDER ARCHIVE…``: a repository out of a project's releases, for `bench.guards --history`.

Where no history can be had, its releases can: each archive (an sdist, a wheel, a package of npm, a crate) is unpacked
over the one before it, and what it changed is committed, three files a commit, as many as a commit changes by custom.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from packaging.version import Version

from engram_py.guidance.guards.matching import is_in

FILES = 3
_VERSION = re.compile(r"-(\d[^-]*?)(?:-py[^/]*)?\.(?:whl|tar\.gz|tgz|crate)$")
_IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "core.autocrlf=false")


def version(archive: Path) -> Version:
    found = _VERSION.search(archive.name)
    assert found is not None, archive
    return Version(found[1])


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the regular files of an archive, by their names below its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as whole:
            yield from ((one.filename, whole.read(one)) for one in whole.infolist() if not one.is_dir())
        return
    with tarfile.open(archive) as packed:
        for one in packed:
            if one.isfile() and (file := packed.extractfile(one)) is not None:
                yield one.name.partition("/")[2], file.read()


def unpack(archive: Path, folder: Path, skipped: Sequence[str]) -> None:
    for old in folder.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, data in members(archive):
        if ".." in PurePosixPath(name).parts or (skipped and is_in(name, skipped)):
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *_IDENTITY, *arguments], cwd=folder, check=True, capture_output=True).stdout


def commit(folder: Path, subject: str) -> int:
    """Commit what differs from the commit before, ``FILES`` of it at a time, the first release at once."""
    git(folder, "add", "--all", "--force")
    if not (folder / ".git/refs/heads/main").exists():
        git(folder, "commit", "--quiet", "-m", subject)
        return 1
    changed = git(folder, "diff", "--cached", "--name-only", "--no-renames", "-z").decode().split("\0")[:-1]
    git(folder, "reset", "--quiet")
    for at in range(0, len(changed), FILES):
        git(folder, "add", "--all", "--force", "--", *changed[at : at + FILES])
        git(folder, "commit", "--quiet", "-m", subject)
    return -(-len(changed) // FILES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("archives", type=Path, nargs="+")
    parser.add_argument("--skip", action="append", default=[], help="A glob of what is built or not the project's.")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True)
    git(asked.folder, "init", "--quiet", "--initial-branch=main")
    for archive in sorted(asked.archives, key=version):
        unpack(archive, asked.folder, asked.skip)
        print(archive.name, commit(asked.folder, archive.name), flush=True)


if __name__ == "__main__":
    main()
