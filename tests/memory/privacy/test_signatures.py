"""The person's key: what it signs, and how it comes to another machine."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from engram_py.base.errors import InvalidArgumentError
from engram_py.memory.privacy.signatures import (
    Keyring,
    PersonKey,
    PersonKeyError,
    Signer,
    WrongSignatureError,
    chunk_signer,
    is_key,
    row_signer,
)

NAME, CHUNK = "0a1b2c3d", b"the bytes of a chunk"
ROW: dict[str, Any] = {"entity": "observation", "key": "obs-1", "op": "upsert", "clock": "01", "spoken": {"title": "T"}}


def test_a_signature_names_the_device_that_made_it() -> None:
    device = PersonKey.new()
    signature = device.sign_chunk(NAME, "ada-1", CHUNK)

    assert chunk_signer(NAME, CHUNK, signature) == Signer("ada-1", device.key)
    assert PersonKey.from_bytes(device.to_bytes()).sign_chunk(NAME, "ada-1", CHUNK) == signature
    assert is_key(device.key)


def test_a_signature_of_other_bytes_another_name_or_another_device_is_refused() -> None:
    device, other = PersonKey.new(), PersonKey.new()
    signature = device.sign_chunk(NAME, "ada-1", CHUNK)
    stolen = json.loads(signature) | {"key": other.key}
    renamed = json.loads(signature) | {"device": "bob-1"}

    for name, file, said in (
        (NAME, CHUNK + b" ", signature),
        ("0a1b2c3e", CHUNK, signature),
        (NAME, CHUNK, json.dumps(stolen).encode()),
        (NAME, CHUNK, json.dumps(renamed).encode()),
        (NAME, CHUNK, other.sign_chunk(NAME, "ada-1", b"")),
    ):
        with pytest.raises(WrongSignatureError, match="not of these bytes"):
            chunk_signer(name, file, said)


@pytest.mark.parametrize(
    "signature", [b"", b"\xff", b"[]", b"{}", b'{"device":1,"key":"x","signature":"y"}', b"[" * 4000], ids=repr
)
def test_a_signature_that_is_none_is_refused(signature: bytes) -> None:
    with pytest.raises(WrongSignatureError, match="cannot be read"):
        chunk_signer(NAME, CHUNK, signature)


@pytest.mark.parametrize("text", ["", "x", "A" * 42, "A" * 44, "ä" * 43, "A" * 42 + "!", "A" * 42 + "B"])
def test_a_text_that_is_no_key_is_none(text: str) -> None:
    assert not is_key(text)


@pytest.mark.parametrize("device", ["x" * 65, "a\x1b[2J"])
def test_a_device_cannot_call_itself_something_that_misleads(device: str) -> None:
    with pytest.raises(WrongSignatureError, match="names no device"):
        chunk_signer(NAME, CHUNK, PersonKey.new().sign_chunk(NAME, device, CHUNK))


def test_a_row_is_signed_with_its_identity_its_clock_and_what_it_says() -> None:
    key = PersonKey.new()
    signature = key.sign(ROW)

    assert row_signer(ROW, signature) == key.key
    assert key.sign(dict(reversed(ROW.items()))) == signature
    for name, value in {"key": "obs-2", "clock": "02", "spoken": {"title": "U"}, "op": "delete"}.items():
        assert row_signer(ROW | {name: value}, signature) == ""


@pytest.mark.parametrize("signature", [None, 1, "", ".", "x.y", "A" * 43 + ".", "ä.ö", "A" * 10_000])
def test_a_row_without_a_signature_is_nobodys(signature: object) -> None:
    assert row_signer(ROW, signature) == ""


def test_the_first_use_makes_a_key_that_only_its_owner_may_read(tmp_path: Path) -> None:
    shown = Keyring(tmp_path).show()

    assert Keyring(tmp_path).show().key == shown.key
    assert is_key(shown.key)
    if sys.platform != "win32":
        assert stat.S_IMODE(Path(shown.path).stat().st_mode) == 0o600


def test_a_phrase_of_24_words_carries_the_key_to_another_machine(tmp_path: Path) -> None:
    here, there = Keyring(tmp_path / "here"), Keyring(tmp_path / "there")
    before = there.show().key
    phrase = here.phrase().phrase
    assert len(phrase.split()) == 24

    shown = there.take_in(f"  {phrase.upper()}\n")

    assert (shown.key, shown.former, shown.is_new) == (here.show().key, (before,), True)
    assert there.own == {here.show().key, before}
    assert there.take_in(phrase).is_new is False


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda words: words[:-1], id="a word is missing"),
        pytest.param(lambda words: [*words[:3], "kubernetes", *words[4:]], id="a word of no list"),
        pytest.param(lambda words: [*words, words[0]], id="a word too many"),
        pytest.param(lambda words: [], id="nothing"),
    ],
)
def test_a_phrase_with_a_wrong_word_changes_no_key(tmp_path: Path, spoil: Any) -> None:
    here, there = Keyring(tmp_path / "here"), Keyring(tmp_path / "there")
    before = there.show()

    with pytest.raises(InvalidArgumentError):
        there.take_in(" ".join(spoil(here.phrase().phrase.split())))

    assert Keyring(tmp_path / "there").show() == before


def test_a_damaged_key_is_said_to_be_one_and_stays_as_it_is(tmp_path: Path) -> None:
    path = Path(Keyring(tmp_path).show().path)
    path.write_text("no key\n")

    with pytest.raises(PersonKeyError, match="is not a key"):
        Keyring(tmp_path).show()

    assert path.read_text() == "no key\n"
