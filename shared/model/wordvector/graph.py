"""Writes encoders as ONNX files: the weights of a matrix are signed bytes with a factor for each output."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from encoder import HEADS


class Graph:
    """The nodes and weights of an ONNX file that reads one text at a time: its mask is all ones, and serves to count positions."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def add(self, op, *inputs, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value), name))
        return name

    def matrix(self, name, value, axis):
        """Stores a matrix as signed bytes, with a factor for each index of an axis."""
        scale = numpy.maximum(numpy.abs(value).max(1 - axis), 1e-8).astype(numpy.float32) / 127
        steps = numpy.rint(value / (scale[:, None] if axis == 0 else scale[None])).astype(numpy.int8)
        return self.add("DequantizeLinear", self.constant(name, steps), self.constant(name + ".scale", scale), axis=axis)

    def linear(self, x, w, name):
        product = self.add("MatMul", x, self.matrix(name, w[name + ".weight"].T, 1))
        return self.add("Add", product, self.constant(name + ".bias", w[name + ".bias"]))

    def norm(self, x, w, name):
        scale, bias = self.constant(name + ".weight", w[name + ".weight"]), self.constant(name + ".bias", w[name + ".bias"])
        return self.add("LayerNormalization", x, scale, bias, epsilon=1e-12)

    def layers(self, x, w, count, prefix):
        """Adds layers, whose weights are named by a prefix besides."""
        w = {prefix + k: v for k, v in w.items()}
        for layer in range(count):
            name = f"{prefix}encoder.layer.{layer}."
            parts = [self.linear(x, w, name + "attention.self." + part) for part in ("query", "key", "value")]
            y = self.add("Attention", *parts, q_num_heads=HEADS, kv_num_heads=HEADS)
            x = self.norm(self.add("Add", x, self.linear(y, w, name + "attention.output.dense")), w, name + "attention.output.LayerNorm")
            y = self.linear(self.add("Gelu", self.linear(x, w, name + "intermediate.dense")), w, name + "output.dense")
            x = self.norm(self.add("Add", x, y), w, name + "output.LayerNorm")
        return self.linear(x, w, prefix + "output")

    def embeddings(self, w):
        """Adds the vectors of the tokens by word, place and type."""
        place = self.add("Sub", self.add("CumSum", "attention_mask", self.constant("axis", numpy.int64(1))), self.constant("one", numpy.int64(1)))
        x = None
        for name, index in (("word", "input_ids"), ("position", place), ("token_type", "token_type_ids")):
            table = f"embeddings.{name}_embeddings.weight"
            row = self.add("Gather", self.matrix(table, w[table], 0), index, axis=0)
            x = row if x is None else self.add("Add", x, row)
        return self.norm(x, w, "embeddings.LayerNorm")

    def save(self, path, name, outputs):
        """Writes the file. `outputs` has the name and the size of each output, a vector for each token."""
        inputs = [
            helper.make_tensor_value_info(n, TensorProto.INT64, [1, "tokens"]) for n in ("input_ids", "attention_mask", "token_type_ids")
        ]
        made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, "tokens", size]) for n, size in outputs]
        graph = helper.make_graph(self.nodes, name, inputs, made, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
        onnx.checker.check_model(model)
        onnx.save(model, path)
