"""How this program, or a package that it lacks, is installed on the machine it runs on."""

from __future__ import annotations

import sys


def packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra of this installation, as pip takes them: ``keyring<27,>=25.7``."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        marked = [line.partition(";") for line in requires("engram-py") or ()]
    except PackageNotFoundError:  # a copy of the source that nothing installed
        return []
    return [package.strip() for package, _, marker in marked if f"extra == '{extra}'" in marker.replace('"', "'")]


def install_command(*packages: str) -> list[str]:
    """Return the command that installs packages where this program runs: an environment that uv made has no pip."""
    from importlib.util import find_spec

    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", *packages]
    return ["uv", "pip", "install", "--python", sys.executable, *packages]


def install_source() -> str:
    """Return where this copy was installed from, as installers take it: its folder, a git address, else its name on an
    index."""
    import json
    from contextlib import suppress
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    with suppress(PackageNotFoundError, ValueError, KeyError):
        said = json.loads(distribution("engram-py").read_text("direct_url.json") or "{}")
        if "vcs_info" in said:
            return f"git+{said['url']}"
        if said["url"].startswith("file:"):
            return url2pathname(urlsplit(said["url"]).path)
        return str(said["url"])
    return "engram-py"


def install_hint(extra: str) -> str:
    """Return the command that installs the packages of an extra, as it is typed: engram itself is on no index."""
    return package_hint(*packages_of(extra))


def package_hint(*packages: str) -> str:
    """Return the command that installs packages here, as it is typed.

    An environment that ``uv tool`` or ``pipx`` made gets them through that, so that an upgrade keeps them.
    """
    import shlex
    import subprocess
    from pathlib import Path

    here = Path(sys.prefix)
    receipt = here / "uv-receipt.toml"
    if receipt.is_file():
        words = _uv_tool(receipt.read_text(encoding="utf-8"), packages)
    elif (here / "pipx_metadata.json").is_file():
        words = ["pipx", "inject", here.name, *packages]
    else:
        words = install_command(*packages)
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def _uv_tool(receipt: str, packages: tuple[str, ...]) -> list[str]:
    """Return the command that installs the tool of a receipt again, from where it came, with more packages."""
    import tomllib

    own, *others = tomllib.loads(receipt)["tool"]["requirements"]
    named = [f"{one['name']}{one.get('specifier', '')}" for one in others]
    extras = f"[{','.join(own['extras'])}]" if own.get("extras") else ""
    source = own.get("editable") or own.get("directory") or own.get("path")
    source = source or (f"git+{own['git']}" if "git" in own else own["name"])
    added = [word for package in (*named, *packages) for word in ("--with", package)]
    return ["uv", "tool", "install", *added, *(["--editable"] if "editable" in own else []), f"{source}{extras}"]
