"""Chunks as bytes and as mutations, and their sealing."""

from __future__ import annotations

import gzip
import hashlib
import json
import tracemalloc
import zlib
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.sharing.sync import chunk, sealing
from engram_py.sharing.sync.chunk import About, ChunkRefusedError, compose, decompose
from engram_py.sharing.sync.mutation import OWN_BLOCK, Mutation, entry_of, mutation_of
from engram_py.sharing.sync.sealing import (
    Parameters,
    SealingKey,
    WrongSecretError,
    derived_key,
    new_key,
    secret_of,
)

CLOCK = "01a0f3b2c000-0000-00000000000000aa"


def observation(key: str = "obs-1", **fields: Any) -> Mutation:
    payload = {
        "sync_id": key, "session_id": "s", "type": "decision", "title": "T", "content": "C", "scope": "project",
        "project": "widgets", "updated_at": "2026-03-01 10:00:00", OWN_BLOCK: {"aliases": ""}, **fields,
    }  # fmt: skip
    return Mutation("observation", key, "upsert", "widgets", payload, CLOCK, "2026-03-01T10:00:00.000Z", 7)


def deletion(entity: str, key: str) -> Mutation:
    name = "id" if entity == "session" else "sync_id"
    payload = {name: key, "deleted": True, "hard_delete": True, OWN_BLOCK: {}}
    return Mutation(entity, key, "delete", "widgets", payload, CLOCK, "2026-03-01T10:00:01.000Z")


def travelled(mutation: Mutation) -> Mutation:
    """The mutation as any transport delivers it."""
    return mutation_of(entry_of(mutation))


def there_and_back(*mutations: Mutation) -> tuple[Mutation, ...]:
    data, _ = compose(mutations, device="d", created_by="Ada")
    return decompose(chunk.parse(chunk.unpack(chunk.pack(data))), project="other").mutations


MIXED = (
    Mutation("session", "s", "upsert", "widgets", {"id": "s", "project": "old", "directory": "", OWN_BLOCK: {}}, CLOCK),
    observation(),
    Mutation("prompt", "p-1", "upsert", "widgets", {"sync_id": "p-1", "session_id": "s", "content": "?"}, CLOCK),
    Mutation(
        "relation", "rel-1", "upsert", "widgets",
        {"sync_id": "rel-1", "source_id": "a", "target_id": "b", "relation": "related", "judgment_status": "judged"},
        CLOCK,
    ),
    Mutation("version", "obs-1/aa", "upsert", "widgets", {"title": "T", "content": "old", OWN_BLOCK: {}}, CLOCK),
    Mutation("alias", "old", "upsert", "widgets", {"alias": "old", "project": "widgets"}, CLOCK),
    Mutation("hologram", "h", "upsert", "widgets", {"x": [1, 2.5, None, {"ü": "𝄞"}]}, CLOCK),
    deletion("observation", "obs-2"),
    deletion("session", "s-2"),
    deletion("relation", "rel-2"),
)  # fmt: skip


def test_a_chunk_gives_back_what_was_put_in_whatever_its_kind() -> None:
    back = {(one.entity, one.entity_key): one for one in there_and_back(*MIXED)}

    for mutation in MIXED:
        assert back.pop((mutation.entity, mutation.entity_key)) == travelled(mutation)
    assert back == {}


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cf", "Cn", "Co")), min_size=1)
KEYS = TEXT.filter(lambda text: text == text.strip() and text.isprintable())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
BLOCKS = st.dictionaries(st.text(max_size=8).filter(lambda name: name not in ("clock", "entry")), JSON, max_size=3)


@given(
    kind=st.sampled_from(["observation", "session", "prompt", "relation", "version", "hologram"]),
    op=st.sampled_from(["upsert", "delete"]),
    key=KEYS,
    project=KEYS,
    payload=st.dictionaries(st.text(max_size=12), JSON, max_size=5),
    block=BLOCKS,
)
def test_any_row_that_travels_at_all_travels_in_a_chunk(
    kind: str, op: Any, key: str, project: str, payload: dict[str, Any], block: dict[str, Any]
) -> None:
    needed = {"sync_id": key, "id": key, "session_id": "s", "type": "t", "title": "t", "content": "c", "scope": "x"}
    needed |= {"source_id": "a", "target_id": "b", "relation": "r", "judgment_status": "j", "directory": "d"}
    whole = {**payload, **needed, OWN_BLOCK: block}
    mutation = Mutation(kind, key[:400], op, project[:200], whole, CLOCK)

    assert there_and_back(mutation) == (travelled(mutation),)


def test_equal_rows_make_equal_bytes_and_the_name_is_their_hash() -> None:
    first, about = compose(MIXED, device="d", created_by="Ada")
    second, _ = compose(MIXED, device="d", created_by="Ada")

    assert chunk.pack(first) == chunk.pack(second)
    assert chunk.digest(first) == hashlib.sha256(first).hexdigest()
    assert about == About("Ada", "2026-03-01T10:00:01Z", sessions=1, memories=1, prompts=1)


def test_engram_finds_its_rows_in_its_lists_and_decodes_every_field() -> None:
    document = json.loads(compose(MIXED, device="d", created_by="Ada")[0])

    assert [row["sync_id"] for row in document["observations"]] == ["obs-1"]
    assert [row["id"] for row in document["sessions"]] == ["s"]
    kinds = [(one["entity"], one["op"]) for one in document["mutations"]]
    # It knows no other kinds, and no deletion of a relation: one that it does not know stops its whole import.
    assert kinds == [("relation", "upsert"), ("observation", "delete"), ("session", "delete")]
    for entry in document["mutations"]:
        assert isinstance(entry["payload"], str)
        assert json.loads(entry["payload"])[OWN_BLOCK]["clock"] == CLOCK


ENGRAM = {
    "sessions": [{"id": "s-9", "project": "widgets", "directory": "/home/x", "started_at": "2025-01-01 09:00:00"}],
    "observations": [
        {
            "id": 4, "sync_id": "obs-abc", "session_id": "s-9", "type": "bugfix", "title": "Fix", "content": "Body",
            "project": "widgets", "scope": "project", "revision_count": 2, "duplicate_count": 1, "pinned": True,
            "review_after": "2025-06-01 00:00:00", "created_at": "2025-01-01 10:00:00",
            "updated_at": "2025-01-02 10:00:00", "deleted_at": None,
        },
        {
            "id": 5, "sync_id": "obs-gone", "session_id": "s-9", "type": "note", "title": "Old", "content": "Body",
            "scope": "project", "updated_at": "2025-01-02 10:00:00", "deleted_at": "2025-01-03 10:00:00",
        },
    ],
    "prompts": None,
    "mutations": [
        {
            "seq": 12, "target_key": "cloud", "entity": "relation", "entity_key": "rel-7", "op": "upsert",
            "payload": '{"sync_id":"rel-7","source_id":"obs-abc","target_id":"obs-gone","relation":"supersedes",'
            '"judgment_status":"judged","project":"widgets","updated_at":"2025-01-04 10:00:00"}',
            "source": "local", "project": "", "occurred_at": "2025-01-04 10:00:00",
        },
        {
            "seq": 13, "target_key": "cloud", "entity": "observation", "entity_key": "obs-gone", "op": "delete",
            "payload": '{"sync_id":"obs-gone","session_id":"s-9","deleted":true,"deleted_at":"2025-01-03 10:00:00"}',
            "source": "local", "project": "widgets", "occurred_at": "2025-01-03 10:00:00",
        },
    ],
}  # fmt: skip


def test_a_chunk_that_engram_wrote_is_read_and_dated_by_its_rows() -> None:
    contents = decompose(json.loads(json.dumps(ENGRAM)), project="widgets")

    found = {(one.entity, one.entity_key, one.op): one for one in contents.mutations}
    assert contents.unreadable == ()
    # The deleted row comes with its text: the deletion alone would wait for it, and the relation too.
    assert set(found) == {
        ("session", "s-9", "upsert"),
        ("observation", "obs-abc", "upsert"),
        ("observation", "obs-gone", "upsert"),
        ("observation", "obs-gone", "delete"),
        ("relation", "rel-7", "upsert"),
    }
    fix = found["observation", "obs-abc", "upsert"]
    assert (fix.payload["pinned"], fix.payload["review_after"]) == (True, "2025-06-01 00:00:00")
    assert fix.clock.startswith(f"{1735812000000:012x}-")
    assert {one.project for one in contents.mutations} == {"widgets"}
    assert contents.about.created_at == "2025-01-04T10:00:00Z"
    again = decompose(json.loads(json.dumps(ENGRAM)), project="widgets")
    assert again.mutations == contents.mutations
    [hidden] = decompose({"observations": [ENGRAM["observations"][1]]}, project="widgets").mutations  # type: ignore[index]
    assert (hidden.op, hidden.payload["deleted"]) == ("upsert", True)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param({"observations": {}}, "observations is not a list", id="list-of-another-type"),
        pytest.param({"mutations": 3}, "mutations is not a list", id="mutations-of-another-type"),
        pytest.param({OWN_BLOCK: []}, "engram_py is not an object", id="block-of-another-type"),
        pytest.param({OWN_BLOCK: {"mutations": "x"}}, "mutations is not a list", id="own-mutations"),
        pytest.param({OWN_BLOCK: {"format": 2}}, "upgrade it", id="newer-format"),
    ],
)
def test_a_chunk_of_the_wrong_shape_is_refused_whole(document: dict[str, Any], reason: str) -> None:
    with pytest.raises(ChunkRefusedError, match=reason):
        decompose(document, project="widgets")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(7, id="number"),
        pytest.param({}, id="empty"),
        pytest.param({"sync_id": ["x"]}, id="key-of-another-type"),
        pytest.param({"sync_id": "x", "session_id": 4, "type": "t", "title": "t", "content": "c"}, id="wrong-field"),
        pytest.param({"sync_id": "x", "project": {"a": 1}}, id="project-of-another-type"),
        pytest.param({"sync_id": "x\u0000", "content": "c"}, id="nul"),
    ],
)
def test_a_row_that_is_none_is_named_and_the_rest_goes_on(row: object) -> None:
    good = observation().payload
    contents = decompose({"observations": [row, good], "mutations": [row]}, project="widgets")

    assert [one.entity_key for one in contents.mutations] == ["obs-1"]
    assert len(contents.unreadable) == 2
    assert contents.unreadable[0].startswith("observations[0]: ")


# --- bytes -----------------------------------------------------------------------------------------------


@given(st.binary(max_size=2000))
def test_packed_bytes_come_back(data: bytes) -> None:
    assert chunk.unpack(chunk.pack(data)) == data
    assert gzip.decompress(chunk.pack(data)) == data


PACKED = chunk.pack(b'{"observations": []}' * 20)


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        pytest.param(b"", "cut short", id="empty"),
        pytest.param(b"not gzip at all", "not gzip", id="text"),
        pytest.param(PACKED[: len(PACKED) // 2], "cut short", id="half"),
        pytest.param(PACKED[:-1], "cut short", id="last-byte"),
        pytest.param(PACKED + b"x", "follows its end", id="tail"),
        pytest.param(PACKED[:12] + bytes([PACKED[12] ^ 0xFF]) + PACKED[13:], "not gzip, or damaged", id="flipped"),
        pytest.param(PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "not gzip, or damaged", id="wrong-checksum"),
    ],
)
def test_bytes_that_are_no_chunk_are_refused_with_the_reason(packed: bytes, reason: str) -> None:
    with pytest.raises(ChunkRefusedError, match=reason):
        chunk.unpack(packed)


def test_a_gzip_bomb_is_stopped_while_it_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk, "MOST_PLAIN_BYTES", 2**20)
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(squeeze.compress(bytes(2**20)) for _ in range(64)) + squeeze.flush()
    assert len(bomb) < 2**20 / 8

    tracemalloc.start()
    try:
        with pytest.raises(ChunkRefusedError, match="unpacks to more than 1 MiB"):
            chunk.unpack(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"[" * 100_000, "nested too deep", id="deep"),
        pytest.param(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested too deep", id="deep-objects"),
        pytest.param(b"[]", "not a JSON object", id="list"),
        pytest.param(b"{", "not JSON", id="half"),
        pytest.param(b"\xff\xfe{}", "not JSON", id="not-utf-8"),
        pytest.param(b'{"a": NaN}', "not JSON", id="nan"),
        pytest.param(b'{"a": 1e999}', "not JSON", id="infinite"),
        pytest.param(b'{"a": ' + b"9" * 10_000 + b"}", "not JSON", id="endless-number"),
        pytest.param(b'{"a": [' + b"1," * 4_000_001 + b"1]}", "more than 4,000,000 values", id="many-values"),
    ],
)
def test_json_that_is_no_chunk_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ChunkRefusedError, match=reason):
        chunk.parse(data)


# --- the manifest ----------------------------------------------------------------------------------------

CHUNKS = {"bbbbbbbb": About("Bob", "2026-01-02T00:00:00Z", 1, 2, 3), "aaaaaaaa": About("Ada", "2026-01-01T00:00:00Z")}


def test_a_manifest_is_engrams_with_one_chunk_on_a_line_in_the_order_of_their_names() -> None:
    text = chunk.manifest_text(CHUNKS)

    read = json.loads(text)
    assert read["version"] == 1
    assert read["chunks"][1] == {
        "id": "bbbbbbbb", "created_by": "Bob", "created_at": "2026-01-02T00:00:00Z",
        "sessions": 1, "memories": 2, "prompts": 3,
    }  # fmt: skip
    assert [line[:16] for line in text.splitlines()[1:3]] == ['{"id": "aaaaaaaa', '{"id": "bbbbbbbb']
    assert json.loads(chunk.manifest_text({})) == {"version": 1, "chunks": []}
    assert json.loads(chunk.manifest_text({"aaaaaaaa": About(version=2)}))["version"] == 2


def test_a_manifest_is_recovered_from_anything_that_still_holds_its_entries() -> None:
    indented = json.dumps(json.loads(chunk.manifest_text(CHUNKS)), indent=2)
    halves = f"<<<<<<< HEAD\n{chunk.manifest_text(CHUNKS)[:150]}\n=======\n{indented}\n>>>>>>> theirs\n"

    for text in (chunk.manifest_text(CHUNKS), indented, halves):
        assert chunk.recovered_manifest(text) == CHUNKS
    for name in ("../../etc/passwd", "/etc/passwd", "aaaaaaaa/../b", 5, "AAAAAAAA", None):
        assert chunk.recovered_manifest(json.dumps({"version": 1, "chunks": [{"id": name}]})) == {}, (
            "no file of the folder"
        )


@given(st.text(max_size=300) | st.text(alphabet='{}[]":,id a1\n', max_size=300))
def test_recovering_never_fails(text: str) -> None:
    chunk.recovered_manifest(text)


def test_a_name_in_a_manifest_is_never_a_path_and_never_moves_a_cursor() -> None:
    assert chunk.plain_name("/home/ada") == ""
    assert chunk.plain_name("C:\\Users\\ada") == ""
    assert chunk.plain_name("Ada\x1b[2J\n Lovelace") == "Ada[2J Lovelace"
    assert len(chunk.plain_name("x" * 500)) == 80
    assert "/home/ada" not in chunk.manifest_text({"aaaaaaaa": About("/home/ada")})


NAME = "0a1b2c3d"
SEALED_TEXT = b"the same text twice, the same text twice"


@cache
def key() -> SealingKey:
    return new_key(secret_of("correct horse"))


def test_what_is_sealed_is_opened_by_the_same_secret_alone_and_tells_nothing_about_the_text() -> None:
    sealed = key().seal(NAME, SEALED_TEXT)
    again = derived_key(secret_of("correct horse"), key().parameters)

    assert again.open(NAME, sealed) == SEALED_TEXT
    assert again.seal(NAME, SEALED_TEXT) == sealed, "two processes that seal the same rows write the same file"
    assert secret_of("Caf\u00e9") == secret_of("Cafe\u0301"), "however its accents were typed"
    with pytest.raises(WrongSecretError):
        derived_key(secret_of("incorrect horse"), key().parameters)
    sealed, similar = key().seal(NAME, SEALED_TEXT), key().seal(NAME, SEALED_TEXT + b"!")
    other = new_key(secret_of("correct horse"))

    assert b"text" not in sealed
    assert sealed[16:28] != similar[16:28], "one nonce for two texts gives both away"
    assert sealed[28:40] != similar[28:40]
    assert other.seal(NAME, SEALED_TEXT)[16:] != sealed[16:]
    assert key().name(SEALED_TEXT) != other.name(SEALED_TEXT)


@pytest.mark.parametrize("place", range(0, 28 + len(SEALED_TEXT) + 16, 5))
def test_a_sealed_chunk_with_any_byte_changed_is_refused(place: int) -> None:
    sealed = bytearray(key().seal(NAME, SEALED_TEXT))
    sealed[place] ^= 1

    with pytest.raises(ChunkRefusedError):
        key().open(NAME, bytes(sealed))


def test_a_sealed_chunk_under_another_name_cut_short_or_of_another_key_is_refused() -> None:
    sealed, other = key().seal(NAME, SEALED_TEXT), SealingKey(b"x" * 32, Parameters(salt="00" * 16, key_id="11" * 8))

    with pytest.raises(ChunkRefusedError, match="changed or renamed"):
        key().open("0a1b2c3e", sealed)
    for length in (0, 7, 20, 40):
        with pytest.raises(ChunkRefusedError, match="cut short"):
            key().open(NAME, sealed[:length])
    with pytest.raises(ChunkRefusedError, match=f"the key {'11' * 8}, the folder's is {key().parameters.key_id}"):
        key().open(NAME, other.seal(NAME, SEALED_TEXT))


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
