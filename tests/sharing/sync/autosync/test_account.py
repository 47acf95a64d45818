"""Logging in and out: where the token is kept, whom it is sent to, and what is enrolled."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.settings import Settings
from engram_py.sharing.sync.autosync import login
from engram_py.sharing.sync.autosync.login import server_address
from engram_py.sharing.sync.errors import CloudFailedError, InvalidServerError, NotLoggedInError
from tests.keychain import Ring, ring_in_place
from tests.sharing.sync.autosync.conftest import Joiner, Lab, from_elsewhere
from tests.sharing.sync.autosync.team_server import TOKEN, team_server


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://Sync.Example.org", "https://sync.example.org"),
        ("https://sync.example.org:443/", "https://sync.example.org"),
        ("https://sync.example.org:8443/team/", "https://sync.example.org:8443/team"),
        (" https://b\u00fccher.example ", "https://xn--bcher-kva.example"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://127.0.0.1", "http://127.0.0.1"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_address_has_one_spelling(given: str, address: str) -> None:
    assert server_address(given) == address
    assert server_address("http://10.0.0.1:8080", insecure=True) == "http://10.0.0.1:8080"


@pytest.mark.parametrize(
    "given",
    [
        "", "sync.example.org", "ftp://sync.example.org", "https://", "https://a b", "https://x:99999", "https://x\n.y",
        "https://user:secret@x", "https://x/?a=b", "https://x/#a", "http://sync.example.org", "http://10.0.0.1",
        "http://localhost.evil.example", "http://127.0.0.1.evil.example", "https://[::1", "x" * 600, "file:///etc/passwd",
    ],
)  # fmt: skip
def test_what_is_no_safe_address_is_refused_and_no_password_repeated(given: str) -> None:
    with pytest.raises(InvalidServerError) as refused:
        server_address(given)
    assert "secret" not in str(refused.value)


def test_the_token_is_tried_before_it_is_kept(lab: Lab) -> None:
    lab.app.autosync.account.logout()
    with pytest.raises(CloudFailedError) as refused:
        lab.app.autosync.account.login(lab.team.address, "engram_wrong")
    assert refused.value.reason_code == "auth_required"
    assert not (lab.app.settings.data_dir / login.TOKEN_FILE).exists()
    assert lab.status.server == ""


@pytest.mark.parametrize("token", ["", "  ", "two words", "b\u00e4d", "x" * 2_000, "with\nline"])
def test_what_is_no_token_is_sent_nowhere(lab: Lab, token: str) -> None:
    with pytest.raises(CloudFailedError):
        lab.app.autosync.account.login(lab.team.address, token)
    assert lab.team.asked == []


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_the_file_is_the_owners_alone_and_the_only_place(lab: Lab) -> None:
    folder = lab.app.settings.data_dir
    assert stat.S_IMODE((folder / login.TOKEN_FILE).stat().st_mode) == 0o600
    holders = [path.name for path in folder.iterdir() if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert holders == [login.TOKEN_FILE]
    assert TOKEN not in repr((lab.status, lab.app.settings, lab.exchange))


def test_a_logout_leaves_no_token_and_a_login_goes_on_where_it_was(lab: Lab) -> None:
    lab.save("one")
    lab.synced()

    assert lab.app.autosync.account.logout().server == lab.team.address
    assert not (lab.app.settings.data_dir / login.TOKEN_FILE).exists()
    assert lab.app.autosync.account.logout().server == ""

    assert lab.app.autosync.account.login(lab.team.address, TOKEN).projects == (lab.project,)
    lab.team.bodies.clear()
    lab.synced()
    assert lab.team.bodies == []


def test_what_was_enrolled_at_one_server_goes_to_another_when_it_is_enrolled_there(join: Joiner) -> None:
    """Also what this machine only ever fetched."""
    lab = join("reader")
    lab.save("one")
    lab.team.add(from_elsewhere(lab, f"obs-{lab.project}", "fetched"))
    lab.synced()
    with team_server(grants={lab.project: "write"}) as other:
        said = lab.app.autosync.account.login(other.address, TOKEN)
        assert said.projects == ()
        assert lab.exchange.once(now=True) is None
        assert ("POST", "/sync/mutations/push") not in other.asked

        lab.app.autosync.account.enroll([lab.project])
        lab.synced()
        assert {key[0] for key in other.log} == {lab.project}
        titles = [row.entry["payload"].get("title") for row in other.log.values()]
        assert {"one", "fetched"} <= set(titles)


def test_a_kept_token_is_not_sent_to_the_address_that_a_setting_names(lab: Lab, tmp_path: Path) -> None:
    with team_server(grants={lab.project: "write"}) as other:
        settings = Settings(lab.app.settings.data_dir, cloud_server=other.address, clock=lab.clock)
        with Engram(settings=settings, directory=tmp_path) as app:
            status = app.autosync.status()
            assert (status.reason_code, status.enabled) == ("cloud_config_error", False)
            with pytest.raises(CloudFailedError):
                app.autosync.sync_now()
        assert other.asked == []


def test_a_token_of_the_environment_is_a_login_and_still_sends_nothing_by_itself(lab: Lab, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "ci", cloud_server=lab.team.address, cloud_token=TOKEN)
    with Engram(settings=settings, directory=tmp_path, project=lab.project) as app:
        Lab(app, lab.team, lab.clock, lab.project).save("one")
        assert (app.autosync.status().kept_in, app.autosync.status().projects) == ("variable", ())
        app.autosync.account.enroll([lab.project])
        app.autosync.sync_now()
        assert lab.sent() == ["one"]
        assert not (tmp_path / "ci" / login.TOKEN_FILE).exists()


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"token": 5}', b"\xff\xfe", b"[" * 50_000])
def test_a_file_that_went_away_or_holds_something_else_is_said_and_a_login_mends_it(
    lab: Lab, content: bytes | None
) -> None:
    path = lab.app.settings.data_dir / login.TOKEN_FILE
    path.unlink() if content is None else path.write_bytes(content)
    lab.exchange = lab.lane()

    assert lab.failed().reason_code == "cloud_config_error"

    lab.app.autosync.account.login(lab.team.address, TOKEN)
    lab.synced()


def test_all_are_those_that_the_server_grants(lab: Lab) -> None:
    lab.save("mine", project=f"{lab.project}-private")
    lab.team.grants[f"{lab.project}-shared"] = "read"

    done = lab.app.autosync.account.enroll([], everything=True)

    assert set(done.projects) == {lab.project, f"{lab.project}-shared"}
    assert any(f"{lab.project}-private" in said for said in done.warnings)


def test_enrolling_says_what_will_keep_a_project_from_being_exchanged(lab: Lab) -> None:
    def warnings(*names: str) -> tuple[str, ...]:
        return lab.app.autosync.account.enroll(names).warnings

    name = lab.project
    hidden, wrong, old, read_only = (f"{name}-{part}" for part in ("hidden", "mistyped", "old", "read"))
    for project in (hidden, old, name):
        lab.save("one", project=project)
    lab.app.merging.merge([old], name)
    lab.team.grants[read_only] = "read"
    assert warnings(old) == (f"{old} is called {name} now",)
    assert "may read it, and not change it" in warnings(read_only.upper())[0]
    assert warnings(hidden) == (f"{hidden}: the server does not show it to this token; it waits until it is granted",)
    [unknown] = warnings(wrong)
    assert unknown.startswith(f"nothing here is called {wrong}, and the server does not show it to this token")
    assert f"engram cloud unenroll {wrong}" in unknown
    lab.team.paused.add(name)
    assert warnings(name) == (f"{name} is paused on the server; it waits",)
    lab.team.pauses[name] = "it is being moved"
    assert "(it is being moved)" in warnings(name)[0]


def test_enrolling_says_that_a_first_push_makes_what_a_token_may_make(lab: Lab) -> None:
    new = f"{lab.project}-new"
    lab.save("one", project=new)
    lab.team.every = "write"
    [left] = lab.app.autosync.account.enroll([], everything=True).warnings
    assert (left.startswith("not on the server yet, and not enrolled: "), new in left) == (True, True)
    told = lab.app.autosync.account.enroll([new]).warnings
    assert told == (f"{new}: not on the server yet: your first push makes it",)


def test_enrolling_works_while_the_server_does_not(lab: Lab) -> None:
    lab.team.always["/sync/projects"] = lambda request: request.hang_up()
    done = lab.app.autosync.account.enroll(["later"])
    assert done.added == ("later",)
    assert "not checked with the server" in done.warnings[0]
    with pytest.raises(CloudFailedError):
        lab.app.autosync.account.enroll([], everything=True)
    lab.app.autosync.account.unenroll(["later"])


def test_enrolling_needs_a_login_and_a_name(lab: Lab) -> None:
    with pytest.raises(InvalidArgumentError):
        lab.app.autosync.account.enroll([])
    lab.app.autosync.account.logout()
    with pytest.raises(NotLoggedInError):
        lab.app.autosync.account.enroll(["widgets"])
    with pytest.raises(NotLoggedInError):
        lab.app.autosync.account.unenroll(["widgets"])


def test_a_project_that_was_merged_away_is_pointed_out(lab: Lab) -> None:
    lab.save("one")
    lab.synced()
    lab.app.merging.merge([lab.project], f"{lab.project}-new")

    assert f"engram cloud enroll {lab.project}-new" in lab.status.notice
    lab.synced()
    assert {name for name, _, _ in lab.team.log if name.startswith(lab.project)} == {lab.project}


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    pytest.importorskip("keyring")
    monkeypatch.setattr(login, "_keep_in_keychain", KEEP_IN_KEYCHAIN)
    return ring_in_place(monkeypatch)


KEEP_IN_KEYCHAIN = login._keep_in_keychain  # before the fixture of this folder replaces it


def test_a_keychain_is_preferred_and_emptied_again(lab: Lab, ring: Ring) -> None:
    assert lab.app.autosync.account.login(lab.team.address, TOKEN).kept_in == "keychain"
    assert ring.kept == {("engram", lab.team.address): TOKEN}
    assert not (lab.app.settings.data_dir / login.TOKEN_FILE).exists()
    lab.exchange = lab.lane()
    lab.synced()

    lab.app.autosync.account.logout()

    assert ring.kept == {}


def test_a_keychain_that_does_not_work_is_no_obstacle_and_one_that_is_locked_later_is_said(
    lab: Lab, ring: Ring
) -> None:
    ring.works = False
    assert lab.app.autosync.account.login(lab.team.address, TOKEN).kept_in == "file"
    lab.exchange = lab.lane()
    lab.synced()
    ring.works = True
    lab.app.autosync.account.login(lab.team.address, TOKEN)
    ring.works = False
    lab.exchange = lab.lane()

    done = lab.failed()

    assert (done.reason_code, "keychain" in done.reason_message) == ("cloud_config_error", True)
    assert lab.app.autosync.account.logout().warnings


def test_a_certificate_that_nobody_vouches_for_ends_it_before_the_token_goes_out(lab: Lab, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    with team_server(tls=certificate) as other:
        assert other.address.startswith("https://")
        with pytest.raises(CloudFailedError) as refused:
            lab.app.autosync.account.login(other.address, TOKEN)
        assert other.seen_tokens == set()
    assert (refused.value.reason_code, "certificate" in refused.value.message) == ("transport_failed", True)


def self_signed(folder: Path) -> Path:
    """A certificate for 127.0.0.1 and its key, in one file."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "certificate.pem"
    path.write_bytes(plain + made.public_bytes(serialization.Encoding.PEM))
    return path
