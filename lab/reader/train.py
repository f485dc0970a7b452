"""Trains the reader: the model that marks the words of a turn that a person would write down (shared/formation/reader).
Run by `make reader`; needs the packages of shared/model/wordvector/requirements.txt.

    python3 train.py MODEL.onnx TALKS.jsonl... [--without NAME,NAME] [--epochs N] [--weights FILE.npz]

Each line of a file is a talk of lab/corpus/notes: `turns` with `who`, `text` and `entries`; an entry has `spans`, pieces of
the text word for word, `kind`, `lasting`, `about`, `ends`, and `second` where only a second reader wrote it down. --without leaves files out, to measure on them. With
--weights, the training continues from a file, and writes to it after each epoch: it can be interrupted. --start takes the
weights of another training to begin with.

The people of --statements say plain statements, each a note as a whole: a first turn often is nothing else. Every tenth talk of a file is left out: thresholds are chosen on these.

The encoder all-MiniLM-L6-v2 reads `[CLS] end of the turn before [SEP] turn [SEP]`. A linear layer gives numbers for each token:
part of a note, begin of a note, the kinds, ends an earlier note, about the speaker, holds for days only. An entry of an
assistant's turn marks a proposal that the user accepts: its words are marked in the turn before.
"""

import argparse
import functools
import json
import os
import random
import time

import jax
import jax.numpy as jnp
import numpy

from encoder import WIDTH, layers, tokenizer, weights
from graph import Graph

KINDS = ["fact", "preference", "constraint", "episodic", "procedural", "plan"]
KEEP, BEGIN, FIRST_KIND = 0, 1, 2
MARKS = ("ends", "own", "brief")
OUTPUTS = FIRST_KIND + len(KINDS) + len(MARKS)
LAYERS, LONGEST_BEFORE, LONGEST_TURN, POSITIONS = 4, 64, 160, 256
TOKENS = 3072  # of a batch
SECOND = 0.5  # how true a word of a note is that only a second, more liberal reader wrote down
TENTH = 10  # of so many talks, one is not for training
RATE, DECAY, BETA1, BETA2, EPSILON = 1.5e-4, 0.01, 0.9, 0.98, 1e-6
# Weights of the losses beside that of the words, and of a word in an assistant's turn.
BEGIN_LOSS, KIND_LOSS, MARK_LOSS, PROPOSAL = 0.7, 0.15, 0.1, 0.3
CLS, SEP = 101, 102
# Scripts whose characters are words: a unit in shared/formation/reader, too.
UNSPACED = ((0x0E00, 0x0E7F), (0x3001, 0x3002), (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xFF01, 0xFF1F))

chance = random.Random(0)
tokenizer.no_truncation()


def units(text):
    """Yields the first and last place of each word of a text."""
    start = None
    for i, c in enumerate(text):
        single = any(a <= ord(c) <= b for a, b in UNSPACED)
        if (c.isspace() or single) and start is not None:
            yield start, i
            start = None
        if single:
            yield i, i + 1
        elif not c.isspace() and start is None:
            start = i
    if start is not None:
        yield start, len(text)


@functools.cache
def tokens(text):
    """Returns the tokens of a text, and the first and last place of each token's word."""
    places = list(units(text))
    ids, of = [], []
    for place, e in zip(places, tokenizer.encode_batch([text[a:b] for a, b in places], add_special_tokens=False)):
        ids += e.ids
        of += [place] * len(e.ids)
    return ids, of


def labels(text, entries):
    """Returns for each token: part of a note, begin, kind or -1, and the marks."""
    _, of = tokens(text)
    out = numpy.zeros((len(of), 3 + len(MARKS)), numpy.float32)
    out[:, 2] = -1
    for entry in entries:
        at = 0
        worth = SECOND if entry.get("second") else 1.0
        marks = bool(entry.get("ends")), entry.get("about", "self") == "self", entry.get("lasting") in ("days", "weeks")
        for span in entry["spans"]:
            start = text.find(span, at)
            start = text.find(span) if start < 0 else start
            if start < 0:
                continue
            at = start + len(span)
            inside = [i for i, (a, b) in enumerate(of) if a < at and b > start]
            for i in inside:
                out[i] = worth, out[i, 1], KINDS.index(entry["kind"]) if "kind" in entry else -1, *marks
            out[[i for i in inside if of[i] == of[inside[0]]], 1] = worth
    return out


def examples(talk):
    """Yields the tokens, types, labels and weights of each turn of a person, in parts where it is long."""
    before = None
    for turn in talk["turns"]:
        if turn["who"] != "assistant":
            accepted = before["entries"] if before and before["who"] == "assistant" else []
            context, known = (tokens(before["text"])[0], labels(before["text"], accepted)) if before else ([], numpy.zeros((0, 3 + len(MARKS))))
            weight = PROPOSAL if before and before["who"] == "assistant" else 0
            ids, right = tokens(turn["text"])[0], labels(turn["text"], turn["entries"])
            context, known = context[-LONGEST_BEFORE:], known[-LONGEST_BEFORE:]
            for start in range(0, max(1, len(ids)), LONGEST_TURN):
                part, marks = ids[start : start + LONGEST_TURN], right[start : start + LONGEST_TURN]
                edge = numpy.zeros((1, 3 + len(MARKS)), numpy.float32)
                yield (
                    [CLS] + context + [SEP] + part + [SEP],
                    [0] * (len(context) + 2) + [1] * (len(part) + 1),
                    numpy.concatenate([edge, known, edge, marks, edge]),
                    [0] + [weight] * len(context) + [0] + [1] * len(part) + [0],
                )
                context, known, weight = part[-LONGEST_BEFORE // 2 :], marks[-LONGEST_BEFORE // 2 :], 0
        before = turn


def statements(person, replies):
    """Yields a talk of a person's plain statements, each a note as a whole: behind nothing, another statement or a reply."""
    said = [s for s in person["bank"] if len(s) > 12]
    turns = []
    for some in (said[0:1], said[1:3], said[3:4]):
        spans = [s.rstrip(" .!") for s in some]
        if spans:
            if turns and chance.random() < 0.7:
                turns.append({"who": "assistant", "text": chance.choice(replies), "entries": []})
            text = ". ".join(s[0].upper() + s[1:] for s in spans) + chance.choice((".", "", "!"))
            entries = [{"spans": [s[0].upper() + s[1:]]} for s in spans]
            turns.append({"who": "user", "text": text, "entries": entries})
    yield {"turns": turns[chance.choice((0, 0, 1)) :]}


def packed(batch, size, longest):
    ids, types = numpy.zeros((size, longest), numpy.int32), numpy.zeros((size, longest), numpy.int32)
    mask, known = numpy.zeros((size, longest), numpy.float32), numpy.zeros((size, longest), numpy.float32)
    right = numpy.zeros((size, longest, 3 + len(MARKS)), numpy.float32)
    mask[:, 0] = 1  # what fills up a batch has to have something to attend to
    for row, (a, t, marks, weight) in enumerate(batch):
        n = len(a)
        ids[row, :n], types[row, :n], mask[row, :n], right[row, :n], known[row, :n] = a, t, 1, marks, weight
    return ids, types, mask, right, known


def batches(rows):
    """Returns the batches of a pass, of like length."""
    rows, out = chance.sample(rows, len(rows)), []
    for start in range(0, len(rows), 2048):
        some, i = sorted(rows[start : start + 2048], key=lambda r: len(r[0])), 0
        while i < len(some):
            end = i + 1
            width = lambda k: -(-len(some[k - 1][0]) // 64) * 64
            while end < len(some) and width(end + 1) * (end + 1 - i) <= TOKENS:
                end += 1
            out.append(packed(some[i:end], TOKENS // width(end), width(end)))
            i = end
    chance.shuffle(out)
    return out


def marks(w, ids, types, mask):
    return layers(w, ids, types, mask, LAYERS) @ w["output.weight"].T + w["output.bias"]


def loss(w, ids, types, mask, right, known):
    z = marks(w, ids, types, mask)

    def cross(logits, truth, weight):
        return (weight * (jnp.logaddexp(0, logits) - truth * logits)).sum() / jnp.maximum(weight.sum(), 1)

    kept = known * right[..., 0]
    words = cross(z[..., KEEP], right[..., 0], known)
    kinds = jax.nn.log_softmax(z[..., FIRST_KIND : FIRST_KIND + len(KINDS)], -1)
    kind = jnp.take_along_axis(kinds, jnp.maximum(right[..., 2], 0).astype(int)[..., None], -1)[..., 0]
    kept *= right[..., 2] >= 0  # of plain statements, kind and marks are not known
    total = words + BEGIN_LOSS * cross(z[..., BEGIN], right[..., 1], known) - KIND_LOSS * (kept * kind).sum() / jnp.maximum(kept.sum(), 1)
    for i in range(len(MARKS)):
        total += MARK_LOSS * cross(z[..., FIRST_KIND + len(KINDS) + i], right[..., 3 + i], kept)
    return total, words


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def step(w, m, v, batch, rate, i):
    (_, words), g = jax.value_and_grad(loss, has_aux=True)(w, *batch)
    clip = jnp.minimum(1.0, 1.0 / jnp.sqrt(sum((x**2).sum() for x in g.values())))
    m = {k: BETA1 * m[k] + (1 - BETA1) * g[k] * clip for k in w}
    v = {k: BETA2 * v[k] + (1 - BETA2) * (g[k] * clip) ** 2 for k in w}
    move = {k: m[k] / (1 - BETA1**i) / (jnp.sqrt(v[k] / (1 - BETA2**i)) + EPSILON) + DECAY * w[k] for k in w}
    return {k: w[k] - rate * move[k] for k in w}, m, v, words


def initial():
    gone = tuple(f"encoder.layer.{i}." for i in range(LAYERS, 6)) + ("pooler",)
    w = {k: x for k, x in weights.items() if not k.startswith(gone)}
    w["embeddings.position_embeddings.weight"] = w["embeddings.position_embeddings.weight"][:POSITIONS]
    w["output.weight"] = jnp.asarray(numpy.random.default_rng(0).normal(0, 0.02, (OUTPUTS, WIDTH)).astype(numpy.float32))
    w["output.bias"] = jnp.asarray(numpy.array([-1, -3] + [0] * (OUTPUTS - 2), numpy.float32))
    return w


def load(path):
    saved = numpy.load(path)
    return [{k[2:]: jnp.asarray(saved[k]) for k in saved.files if k.startswith(p)} for p in ("w.", "m.", "v.")], int(saved["epoch"])


def save(path, state, epoch):
    numpy.savez(path + ".tmp.npz", epoch=epoch, **{p + k: numpy.asarray(x) for p, part in zip(("w.", "m.", "v."), state) for k, x in part.items()})
    os.replace(path + ".tmp.npz", path)


def train(rows, epochs, path, start):
    w = load(start)[0][0] if start else initial()
    state, done = [w] + [{k: jnp.zeros_like(x) for k, x in w.items()} for _ in range(2)], 0
    if path and os.path.exists(path):
        state, done = load(path)
    began, mean = time.time(), 0.0
    for epoch in range(done, epochs):
        some = batches(rows)
        steps = len(some) * epochs
        for k, batch in enumerate(some):
            i = epoch * len(some) + k + 1
            *state, words = step(*state, batch, RATE * min(1, i * 8 / steps) * max(0.0, 1 - (i - 1) / steps), float(i))
            mean = float(words) if k == 0 and epoch == done else 0.98 * mean + 0.02 * float(words)
            if i % 20 == 0:
                print(f"step {i} of {steps}: loss of words {mean:.4f}, {time.time() - began:.0f} s", flush=True)
        if path:
            save(path, state, epoch + 1)
    return {k: numpy.asarray(x) for k, x in state[0].items()}


def write(w, path):
    g = Graph()
    g.layers(g.embeddings(w), w, LAYERS, "")
    g.nodes[-1].output[0] = "marks"
    g.save(path, "reader", [("marks", OUTPUTS)])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("talks", nargs="+")
    p.add_argument("--statements", nargs="*", default=[], help="files of lab/corpus/banks: plain statements")
    p.add_argument("--without", default="", help="names of files that are left out, without their endings")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--weights", default="")
    p.add_argument("--start", default="", help="weights of another training to start from")
    o = p.parse_args()
    rows, replies = [], []
    for path in sorted(o.talks):
        if os.path.splitext(os.path.basename(path))[0] in o.without.split(","):
            continue
        with open(path, encoding="utf-8") as f:
            talks = [json.loads(line) for i, line in enumerate(f) if i % TENTH != TENTH - 1]
        rows += [e for talk in talks for e in examples(talk)]
        replies += [t["text"] for talk in talks for t in talk["turns"] if t["who"] == "assistant"]
    for path in sorted(o.statements):
        with open(path, encoding="utf-8") as f:
            rows += [e for line in f for talk in statements(json.loads(line), replies) for e in examples(talk)]
    print(f"{len(rows)} turns", flush=True)
    write(train(rows, o.epochs, o.weights, o.start), o.model)


if __name__ == "__main__":
    main()
