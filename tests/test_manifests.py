"""What agents and registries read to install this repository is current, of one version and from one address."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs import manifests
from docs.manifests import ROOT
from engram_py import __version__
from engram_py.interfaces.mcp.protocol import SERVER_INFO

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(manifests.files()))
def test_a_generated_manifest_is_what_the_generator_writes(name: str) -> None:
    assert (ROOT / name).read_bytes() == manifests.files()[name], "run `make docs`"


def test_the_plugin_folder_holds_nothing_that_is_not_generated() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "plugins").rglob("*") if path.is_file()}
    assert there <= manifests.files().keys()


def test_every_version_in_a_manifest_is_the_version_of_the_package() -> None:
    found = [
        (name, said)
        for name, data in manifests.files().items()
        if name.endswith(".json")
        for said in values_of("version", json.loads(data))
        if isinstance(said, str)
    ]
    assert {said for _, said in found} == {__version__}
    assert len({name for name, _ in found}) == 5


def test_the_server_says_the_address_of_the_manifests() -> None:
    assert SERVER_INFO["websiteUrl"] == manifests.REPOSITORY


def test_the_workflow_that_reviews_memory_installs_from_the_repository() -> None:
    text = (ROOT / "docs" / "engram-memory.yml").read_text(encoding="utf-8")
    assert f'uvx --from "git+{manifests.REPOSITORY}" engram check --memory' in text


def test_paths_in_the_manifests_lead_to_files_of_the_repository() -> None:
    for host in ("codex", "cursor"):
        folder = ROOT / manifests.PLUGIN
        manifest = json.loads((folder / f".{host}-plugin" / "plugin.json").read_text())
        assert all((folder / manifest[part]).exists() for part in ("skills", "mcpServers", "hooks"))
    for name in (".claude-plugin", ".cursor-plugin"):
        [plugin] = json.loads((ROOT / name / "marketplace.json").read_text())["plugins"]
        assert (ROOT / plugin["source"] / name / "plugin.json").is_file()
    extension = json.loads((ROOT / "gemini-extension.json").read_text())
    assert (ROOT / extension["contextFileName"]).is_file()


def test_every_command_of_the_plugins_is_the_one_that_no_other_program_has() -> None:
    for name, data in manifests.files().items():
        if name.endswith(".json"):
            for command in values_of("command", json.loads(data)):
                assert str(command).split()[0] == "engram-py", name


def test_every_description_of_a_plugin_an_extension_and_the_skill_says_how_to_get_the_command_it_needs() -> None:
    installed = {name: data for name, data in manifests.files().items() if name != "server.json"}  # uvx brings it
    said = {
        name: [
            text
            for key in ("description", "shortDescription")
            for text in values_of(key, json.loads(data))
            if text.startswith(SERVER_INFO["description"])
        ]
        for name, data in installed.items()
        if name.endswith(("plugin.json", "extension.json", "marketplace.json")) and not name.startswith(".agents/")
    }
    assert len(said) == 6
    assert all(texts and all(text.endswith(manifests.NEEDS) for text in texts) for texts in said.values())
    skills = [data.decode().split("---")[1] for name, data in installed.items() if name.endswith("SKILL.md")]
    assert len(skills) == 2
    about = [yaml.safe_load(text)["compatibility"] for text in skills]
    assert all("engram-py (`uv tool install .`" in text and len(text) <= 500 for text in about)


def test_the_readme_names_the_repository_as_pyproject_does() -> None:
    assert re.findall(r"^git clone (.+) engram_py$", README, re.MULTILINE) == [manifests.REPOSITORY]
    assert re.findall(r"mcp-name: (\S+)", README) == [manifests.registry_name()]


def test_a_release_is_made_from_the_repository_that_pyproject_names() -> None:
    """A fork that releases has to change the one address first, or its packages would name another repository."""
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        assert f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}" == manifests.REPOSITORY
        assert os.environ["GITHUB_REF_NAME"] == f"v{__version__}"


def test_the_registry_entry_keeps_the_limits_of_the_registry() -> None:
    entry = json.loads(manifests.files()["server.json"])
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert len(entry["name"]) <= 200
    assert 1 <= len(entry["description"]) <= 100
    [package] = entry["packages"]
    assert package["version"] == entry["version"] == __version__
    assert package["identifier"] in manifests.PROJECT["scripts"], "uvx runs the command that is called as the package"


def test_the_bundle_holds_the_package_and_is_made_twice_alike(tmp_path: Path) -> None:
    first, second = manifests.write_bundle(tmp_path / "a"), manifests.write_bundle(tmp_path / "b")

    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as packed:
        names = set(packed.namelist())
        manifest = json.loads(packed.read("manifest.json"))
    assert {"pyproject.toml", "migrations/0001_core.sql", manifest["server"]["entry_point"]} <= names
    assert not [name for name in names if name.startswith("tests/") or "__pycache__" in name]
    assert manifest["server"]["mcp_config"]["args"][-2:] == ["engram-py", "mcp"]


def values_of(key: str, value: Any) -> Iterator[Any]:
    """Every value of a key, however deep."""
    match value:
        case dict():
            for name, inner in value.items():
                if name == key and not isinstance(inner, dict | list):
                    yield inner
                yield from values_of(key, inner)
        case list():
            for inner in value:
                yield from values_of(key, inner)


def test_the_workflow_tests_every_python_that_the_package_promises() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    pythons = jobs["tests"]["strategy"]["matrix"]["python"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(manifests.PROJECT["classifiers"]))
    assert set(promised) <= set(pythons)
    assert manifests.PROJECT["requires-python"] == f">={pythons[0]}"


def test_the_workflows_run_targets_that_the_makefile_has() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    named = {word for line in re.findall(r"run: make ([a-z ]+)$", text, re.MULTILINE) for word in line.split()}
    assert named | set(jobs["programs"]["strategy"]["matrix"]["target"]) <= targets


def test_the_source_distribution_holds_everything_that_is_tracked() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or not listed.stdout:
        pytest.skip("this is no checkout: the source distribution itself, say")
    tops = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    kept = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert tops - set(kept["sdist"]["include"]) <= {".ci", ".gitignore", "pyproject.toml"}  # hatch adds the last two
