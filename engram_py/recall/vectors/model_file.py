"""Rewrite the file of a sentence model, a protocol buffer, once it is fetched; onnx/onnx.proto has the numbers of its
fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_GRAPH, _NODE, _INPUT, _OUTPUT = 7, 1, 1, 2
_ROWS = b"inner.embeddings.word_embeddings.weight"  # made of bytes and a scale for each row, as the look-up wants it


def looked_up_as_bytes(model: bytes) -> bytes:
    """Return the model with the rows of its table looked up before they are made floats, not after it.

    The answers are the same to the bit; the whole table in floats takes 47 MB, and three times that at the start.
    """
    return b"".join(_field(_GRAPH, _graph(held)) if number == _GRAPH else raw for number, held, raw in _fields(model))


def _graph(graph: bytes) -> bytes:
    written: list[bytes] = []
    waiting: list[list[tuple[int, bytes]]] = []
    for number, held, raw in _fields(graph):
        parts = [(name, value) for name, value, _ in _fields(held)] if number == _NODE else []
        if (_OUTPUT, _ROWS + b"_f") in parts or (_OUTPUT, _ROWS) in parts:
            waiting.append(parts)  # the conversion, then the product with the scale
        elif (_INPUT, _ROWS) in parts and len(waiting) == 2:
            [ids] = [value for name, value in parts if name == _INPUT and value != _ROWS]
            [made] = [value for name, value in parts if name == _OUTPUT]
            written += [
                _node(parts, (_ROWS + b"_q", ids), b"rows_q"),
                _node(parts, (_ROWS + b"_scale", ids), b"rows_scale"),
                _node(waiting[0], (b"rows_q",), b"rows_f"),
                _node(waiting[1], (b"rows_f", b"rows_scale"), made),
            ]
        else:
            written.append(raw)
    return b"".join(written)


def _node(like: Sequence[tuple[int, bytes]], inputs: Sequence[bytes], output: bytes) -> bytes:
    """Return a node with other names of what it takes and makes, and with none of its own."""
    kept = [(number, held) for number, held in like if number not in (_INPUT, _OUTPUT, 3)]
    fields = [*((_INPUT, one) for one in inputs), (_OUTPUT, output), *kept]
    return _field(_NODE, b"".join(_field(number, held) for number, held in fields))


def _fields(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the number of each field, what it holds, and both as they are written."""
    place = 0
    while place < len(data):
        key, begin = _number(data, place)
        if key & 7 == 2:
            length, begin = _number(data, begin)
            end = begin + length
        else:
            end = {0: _number(data, begin)[1], 1: begin + 8, 5: begin + 4}[key & 7]
        yield key >> 3, data[begin:end], data[place:end]
        place = end


def _field(number: int, held: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _written(len(held)) + held


def _number(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def _written(number: int) -> bytes:
    return bytes([number & 127 | 128]) + _written(number >> 7) if number > 127 else bytes([number])
