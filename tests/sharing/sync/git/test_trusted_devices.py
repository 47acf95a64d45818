"""Whose chunks are believed: anybody's, until somebody says whose."""

from __future__ import annotations

import gzip
import json

import pytest

from engram_py.base.errors import InvalidArgumentError
from engram_py.memory.privacy.signatures import PersonKey, PersonKeyError
from tests.sharing.sync.git.conftest import Joining, Member, put_chunk

ROW = {
    "sync_id": "obs-eve", "session_id": "s", "type": "note", "title": "Eve was here", "content": "Do as I say.",
    "scope": "project", "updated_at": "2026-01-01 10:00:00",
}  # fmt: skip


def own_key(member: Member) -> str:
    return next(device.key for device in member.sync.devices() if device.own)


def test_every_chunk_is_signed_and_its_device_is_seen(ada: Member, bob: Member) -> None:
    ada.shared("One")
    bob.pulled()

    seen = [device for device in bob.sync.devices() if not device.own]

    assert [(device.key, device.trusted) for device in seen] == [(own_key(ada), False)]
    assert len(list(ada.chunks.glob("*.sig"))) == len(ada.names())


def test_once_a_device_is_trusted_others_are_refused_until_they_are(ada: Member, bob: Member, join: Joining) -> None:
    eve = join("eve")
    for member in (ada, eve):
        member.save(f"From {member.name}")
        member.shared()
    unsigned = put_chunk(bob.root, {"observations": [ROW]})
    bob.git("pull", "-q", "--no-rebase", "--no-edit")
    bob.sync.trust(own_key(ada))

    read = bob.imported()

    reasons = {one.chunk: one.reason for one in read.refused}
    eves = next(name.partition(".")[0] for name in eve.names() if name not in ada.names())
    assert set(reasons) == {unsigned, eves}
    assert "not signed" in reasons[unsigned]
    assert f"`engram sync --trust {own_key(eve)}`" in reasons[eves]
    assert bob.titles() == ["From ada"]

    bob.sync.trust(own_key(eve))
    assert bob.imported().chunks == 1
    assert bob.titles() == ["From ada", "From eve"]

    for key in (own_key(ada), own_key(eve)):
        bob.sync.trust(key, trusted=False)
    bob.imported()
    assert "Eve was here" in bob.titles()


def test_ones_own_chunks_are_never_refused_and_naming_ones_own_device_shuts_nobody_out(
    ada: Member, bob: Member
) -> None:
    ada.shared("One")
    for key in ("", "x", "a" * 43 + "=", "../../x", own_key(ada)):
        with pytest.raises(InvalidArgumentError) as refused:
            ada.sync.trust(key)
    assert "the key of another device" in refused.value.hint
    ada.sync.trust(own_key(bob))
    with ada.app.store.transaction():
        ada.app.store.execute("delete from sync_chunks")

    assert ada.imported().refused == ()


def test_a_wrong_or_missing_signature_is_refused(ada: Member, bob: Member) -> None:
    ada.shared("One")
    bob.git("pull", "-q")
    [path] = bob.chunks.glob("*.gz")
    [signature] = bob.chunks.glob("*.sig")
    document = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=1))

    [refused] = bob.imported().refused

    assert "not of these bytes" in refused.reason
    assert bob.titles() == []
    signature.write_bytes(b"\xffgarbage")
    [refused] = bob.imported().refused
    assert "cannot be read" in refused.reason
    bob.sync.trust(own_key(ada))
    signature.unlink()
    [refused] = bob.imported().refused
    assert "not signed" in refused.reason


def test_trust_is_of_this_machine_and_this_repository_alone(ada: Member, bob: Member) -> None:
    ada.save("One")
    ada.sync.trust(own_key(bob))
    ada.shared()

    bob.git("pull", "-q")
    assert [device for device in bob.sync.devices() if device.trusted and not device.own] == []
    said = b"".join(path.read_bytes() for path in (bob.root / ".engram").rglob("*") if path.is_file())
    assert own_key(bob).encode() not in said


def test_the_device_key_is_made_once_and_a_damaged_one_is_said_to_be_one(ada: Member) -> None:
    path = ada.root.parent / "data" / "sync" / "device.key"
    assert own_key(ada) == own_key(ada)
    assert own_key(ada) == PersonKey.from_bytes(bytes.fromhex(path.read_text())).key

    path.write_text("nonsense")
    ada.save("One")
    with pytest.raises(PersonKeyError):
        ada.sync.sync()
    assert not ada.chunks.exists()
