"""Sealed and signed chunks: only who knows the secret reads them, and only their bytes verify."""

from __future__ import annotations

import json
from functools import cache

import pytest

from engram_py.sync import sealing
from engram_py.sync.chunk import ChunkRefusedError
from engram_py.sync.sealing import (
    DeviceKey,
    Parameters,
    SealingKey,
    Signer,
    WrongSecretError,
    derived_key,
    is_key,
    new_key,
    secret_of,
    signer_of,
)

NAME = "0a1b2c3d"
TEXT = b"the same text twice, the same text twice"


@cache
def key() -> SealingKey:
    return new_key(secret_of("correct horse"))


def test_what_is_sealed_is_opened_by_the_same_secret_alone() -> None:
    sealed = key().seal(NAME, TEXT)
    again = derived_key(secret_of("correct horse"), key().parameters)

    assert again.open(NAME, sealed) == TEXT
    assert again.seal(NAME, TEXT) == sealed, "two processes that seal the same rows write the same file"
    assert secret_of("Caf\u00e9") == secret_of("Cafe\u0301"), "however its accents were typed"
    with pytest.raises(WrongSecretError):
        derived_key(secret_of("incorrect horse"), key().parameters)


def test_sealed_bytes_tell_nothing_about_the_text() -> None:
    sealed, similar = key().seal(NAME, TEXT), key().seal(NAME, TEXT + b"!")
    other = new_key(secret_of("correct horse"))

    assert b"text" not in sealed
    assert sealed[16:28] != similar[16:28], "one nonce for two texts gives both away"
    assert sealed[28:40] != similar[28:40]
    assert other.seal(NAME, TEXT)[16:] != sealed[16:]
    assert key().name(TEXT) != other.name(TEXT)


@pytest.mark.parametrize("place", range(0, 28 + len(TEXT) + 16, 5))
def test_a_sealed_chunk_with_any_byte_changed_is_refused(place: int) -> None:
    sealed = bytearray(key().seal(NAME, TEXT))
    sealed[place] ^= 1

    with pytest.raises(ChunkRefusedError):
        key().open(NAME, bytes(sealed))


def test_a_sealed_chunk_under_another_name_cut_short_or_of_another_key_is_refused() -> None:
    sealed, other = key().seal(NAME, TEXT), SealingKey(b"x" * 32, Parameters(salt="00" * 16, key_id="11" * 8))

    with pytest.raises(ChunkRefusedError, match="changed or renamed"):
        key().open("0a1b2c3e", sealed)
    for length in (0, 7, 20, 40):
        with pytest.raises(ChunkRefusedError, match="cut short"):
            key().open(NAME, sealed[:length])
    with pytest.raises(ChunkRefusedError, match=f"the key {'11' * 8}, the folder's is {key().parameters.key_id}"):
        key().open(NAME, other.seal(NAME, TEXT))


def test_parameters_survive_a_file_and_weak_ones_are_refused() -> None:
    good = key().parameters.to_json()
    assert Parameters.from_json(json.loads(json.dumps(good))) == key().parameters

    for wrong in ({"n": 2}, {"n": 2**30}, {"n": "x"}, {"r": 1}, {"kdf": "md5"}, {"cipher": "none"}, {"format": 2},
                  {"salt": "zz"}, {"salt": 5}, {"key_id": ""}):  # fmt: skip
        with pytest.raises(ValueError):
            Parameters.from_json(good | wrong)
    empty: tuple[object, ...] = (None, [], "x", {})
    for nothing in empty:
        with pytest.raises(ValueError):
            Parameters.from_json(nothing)


def test_the_key_is_not_in_what_the_folder_says() -> None:
    said = json.dumps(key().parameters.to_json())

    assert key().master.hex() not in said
    assert sealing.kept_key(key().master, key().parameters) == key()
    with pytest.raises(WrongSecretError):
        sealing.kept_key(b"x" * 32, key().parameters)


# --- signatures ------------------------------------------------------------------------------------------


def test_a_signature_names_the_device_that_made_it() -> None:
    device = DeviceKey.new("ada-1")
    signature = device.sign(NAME, TEXT)

    assert signer_of(NAME, TEXT, signature) == Signer("ada-1", device.key)
    assert DeviceKey.from_bytes(device.to_bytes(), "ada-1").sign(NAME, TEXT) == signature
    assert is_key(device.key)


def test_a_signature_of_other_bytes_another_name_or_another_device_is_refused() -> None:
    device, other = DeviceKey.new("ada-1"), DeviceKey.new("eve")
    signature = device.sign(NAME, TEXT)
    stolen = json.loads(signature) | {"key": other.key}
    renamed = json.loads(signature) | {"device": "bob-1"}

    for name, file, said in (
        (NAME, TEXT + b" ", signature),
        ("0a1b2c3e", TEXT, signature),
        (NAME, TEXT, json.dumps(stolen).encode()),
        (NAME, TEXT, json.dumps(renamed).encode()),
        (NAME, TEXT, other.sign(NAME, b"")),
    ):
        with pytest.raises(ChunkRefusedError, match="not of these bytes"):
            signer_of(name, file, said)


@pytest.mark.parametrize(
    "signature", [b"", b"\xff", b"[]", b"{}", b'{"device":1,"key":"x","signature":"y"}', b"[" * 4000], ids=repr
)
def test_a_signature_that_is_none_is_refused(signature: bytes) -> None:
    with pytest.raises(ChunkRefusedError, match="cannot be read"):
        signer_of(NAME, TEXT, signature)


@pytest.mark.parametrize("text", ["", "x", "A" * 42, "A" * 44, "ä" * 43, "A" * 42 + "!", "A" * 42 + "B"])
def test_a_text_that_is_no_key_is_none(text: str) -> None:
    assert not is_key(text)


def test_a_device_cannot_call_itself_something_that_misleads() -> None:
    device = DeviceKey.new("x" * 65)
    with pytest.raises(ChunkRefusedError, match="names no device"):
        signer_of(NAME, TEXT, device.sign(NAME, TEXT))
    with pytest.raises(ChunkRefusedError, match="names no device"):
        signer_of(NAME, TEXT, DeviceKey.new("a\x1b[2J").sign(NAME, TEXT))
