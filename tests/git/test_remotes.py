"""A remote is an identity: the same however its URL is written, and never a credential."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.git.repository import canonical_remote, remote_names, strip_credentials

BASE = Path("/srv/here")


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/widgets",
        "https://user:tok@github.com/Acme/Widgets.git",
        "https://ghp_secret@GitHub.com/acme/widgets.git/",
        "http://github.com:80/acme//widgets",
        "git@github.com:Acme/Widgets.git",
        "github.com:acme/widgets",
        "git@github.com:/acme/widgets.git",
        "ssh://git@github.com:22/Acme/Widgets",
        "ssh://git@ssh.github.com:443/acme/widgets.git",
        "git://github.com/acme/widgets.git",
        "https://github.com/acme/widgets.git?token=secret#x",
        "https://user:p%40ss@github.com/acme/widgets",
        "https://user:p@ss@github.com/acme/widgets",
        "https://user:pa/ss@github.com/acme/widgets",
        "user:secret@github.com:acme/widgets",
    ],
)
def test_every_way_to_write_a_remote_is_one_identity(url: str) -> None:
    assert canonical_remote(url, base=BASE) == "github.com/acme/widgets"


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        pytest.param("ssh://git@host:2222/a/b", "host:2222/a/b", id="other-port"),
        pytest.param("ssh://git@[::1]:22/a/b", "[::1]/a/b", id="ipv6"),
        pytest.param("git@[::1]:a/b", "[::1]/a/b", id="ipv6-scp"),
        pytest.param("git@gitlab.com:group/sub/lib.git", "gitlab.com/group/sub/lib", id="nested-group"),
        pytest.param("https://host/My%20Lib", "host/my lib", id="escaped"),
        pytest.param("/srv/Repos/lib.git", "/srv/Repos/lib", id="path"),
        pytest.param("../lib.git", "/srv/lib", id="relative-path"),
        pytest.param("file:///srv/lib.git", "/srv/lib", id="file-url"),
        pytest.param("file://u:secret@host/srv/lib", "/srv/lib", id="file-url-with-host"),
        pytest.param("ext::sh -c evil", None, id="command"),
        pytest.param("https://github.com/", None, id="no-path"),
        pytest.param("", None, id="empty"),
        pytest.param("x" * 5000, None, id="too-long"),
    ],
)
def test_a_remote_is_identified_by_host_and_path(url: str, identity: str | None) -> None:
    assert canonical_remote(url, base=BASE) == identity


def test_a_remote_offers_a_short_name_and_longer_ones() -> None:
    assert remote_names("github.com/acme/widgets") == ("widgets", "acme-widgets", "github.com-acme-widgets")
    assert remote_names("gitlab.com/a/b/c") == ("c", "a-b-c", "gitlab.com-a-b-c")
    assert remote_names("host/widgets") == ("widgets", "host-widgets")
    assert remote_names("/srv/repos/widgets") == ("widgets", "repos-widgets")
    assert remote_names("/widgets") == ("widgets",)


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://user:tok@github.com/a/b.git", "https://github.com/a/b.git"),
        ("git@github.com:a/b.git", "github.com:a/b.git"),
        ("codecommit::https://u:tok@host/b", "codecommit::https://host/b"),
        ("https://host/a@v1/b?private_token=tok", "https://host/a@v1/b"),
        ("/srv/a@b/c", "/srv/a@b/c"),
    ],
)
def test_credentials_are_stripped_from_a_url(url: str, clean: str) -> None:
    assert strip_credentials(url) == clean


SECRET = st.text(alphabet="abcXYZ0189!$&*+-._~%@:", min_size=8, max_size=30).map(lambda text: f"S3CR3T{text}")


@given(SECRET, st.sampled_from(["https", "http", "ssh", "git", "ftp"]), st.sampled_from(["", ":8443"]))
def test_no_password_survives(secret: str, scheme: str, port: str) -> None:
    url = f"{scheme}://user:{secret}@git.example.org{port}/acme/widgets.git"
    assert "s3cr3t" not in strip_credentials(url).lower()
    assert "s3cr3t" not in str(canonical_remote(url, base=BASE)).lower()


@given(st.one_of(st.text(), st.text(alphabet="ab:/@[]?#.~%\\ git:s", max_size=40)))
def test_any_text_can_be_stripped_and_identified(text: str) -> None:
    clean = strip_credentials(text)
    assert strip_credentials(clean) == clean
    remote = canonical_remote(text, base=BASE)
    assert remote is None or all(remote_names(remote))
