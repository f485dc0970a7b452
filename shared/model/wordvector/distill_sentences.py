"""Fits what each word of vectors.bin adds to the vector of a text, so that the sums point where a sentence encoder puts the texts. Run by
`make word-vectors`; needs the packages of requirements.txt.

    python3 distill_sentences.py texts.jsonl vectors.bin sentences.bin

texts.jsonl has a JSON string a line (`mneme-lab train texts`). The file made is: magic "MSV1", uint32 words, uint32 dimension (little endian), a
float32 for each word, how long its row is, and words x dimension signed bytes, row by row.

A text is its distinct words that are no stop words. The row of a word begins as the encoder's vector of the word alone, in the directions that
texts differ in most, with the weight of smooth inverse frequency (Arora et al., 2017); a map of all rows, and for each word that the texts
have a change and a weight of its own, are learned by gradient steps (Adam) on the cosine between sum and encoding, and between the
similarities of texts by the one and by the other.
"""

import json
import re
import struct
import sys

import jax
import jax.numpy as jnp
import numpy

from encoder import encode

DIMENSION, LONGEST, EPOCHS, BATCH, RATE = 128, 64, 3, 256, 3e-3
HELD_OUT = 1500
COMMON = 1e-3  # the frequency at which a word counts half
ENOUGH = 25  # occurrences at which a word's own change counts fully
# Words that the index of recall looks up nothing for.
STOP_WORDS = set(
    """about above after again against all also although am an and any are as at be because been before being below between
    both but by can cannot could did didn do does doesn doing don done down during each either else every for from further
    had has have having he her here hers herself him himself his how if im in into is it its itself just ll may me might
    mine must my myself neither no nor not now of off on once only or ought our ours ourselves out over own per re same
    shall she should since so some such than that the their theirs them themselves then there these they this those though
    through to too under until up us ve very via was we were what when where which while who whom whose why will with would
    yet you your yours yourself yourselves""".split()
)


def read_words(path):
    with open(path, "rb") as f:
        raw = f.read()
    if raw[:4] != b"MWV1":
        sys.exit(f"{path} is no table of word vectors")
    (count,) = struct.unpack("<I", raw[4:8])
    return [w.decode() for w in raw[12:].split(b"\n", count)[:count]]


def bags(texts, words):
    """Returns the distinct known words of each text, filled up with -1."""
    places = {w: i for i, w in enumerate(words)}

    def find(word):
        for ending in ("", "'s", "s", "es", "ed", "d", "ing", "ly"):
            base = word.removesuffix(ending)
            if word.endswith(ending) and (not ending or len(base) >= 3) and base in places:
                return places[base]
        return None

    out = numpy.full((len(texts), LONGEST), -1, numpy.int32)
    for row, text in enumerate(texts):
        said = re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower().replace("’", "'"))
        found = {find(w) for w in said} - {None}
        known = sorted(i for i in found if words[i] not in STOP_WORDS)[:LONGEST]
        out[row, : len(known)] = known
    return out


def main(texts_path, words_path, out_path):
    words = read_words(words_path)
    with open(texts_path, encoding="utf-8") as f:
        texts = [json.loads(line) for line in f]
    fit(words, texts, encode(words), encode(texts), out_path)


def fit(words, texts, word_vectors, text_vectors, out_path):
    random = numpy.random.default_rng(0)
    bag = bags(texts, words)
    kept = (bag >= 0).sum(1) >= 2
    bag, target = bag[kept], text_vectors[kept] - text_vectors.mean(0)
    target /= numpy.linalg.norm(target, axis=1, keepdims=True)
    order = random.permutation(len(bag))
    held, learned = order[:HELD_OUT], order[HELD_OUT:]
    _, _, directions = numpy.linalg.svd(target[learned], full_matrices=False)
    target = target @ directions[:DIMENSION].T
    target /= numpy.linalg.norm(target, axis=1, keepdims=True)
    first = word_vectors - word_vectors.mean(0)
    first = first / numpy.linalg.norm(first, axis=1, keepdims=True) @ directions[:DIMENSION].T
    count = numpy.bincount(bag[learned][bag[learned] >= 0], minlength=len(words))
    trust = numpy.minimum(1, numpy.sqrt(count / ENOUGH)).astype(numpy.float32)
    weight = numpy.log(COMMON / (COMMON + count / count.sum())).astype(numpy.float32)
    first, trust, weight, target = jnp.asarray(first, jnp.float32), jnp.asarray(trust), jnp.asarray(weight), target.astype(numpy.float32)

    def rows(p, i):
        changed = first[i] @ p["map"] + p["change"][i] * trust[i][..., None]
        return changed * jnp.exp(weight[i] + p["weight"][i] * trust[i])[..., None]

    def sums(p, b):
        s = (rows(p, jnp.maximum(b, 0)) * (b >= 0)[..., None]).sum(1)
        return s / (jnp.linalg.norm(s, axis=1, keepdims=True) + 1e-6)

    def loss(p, b, y):
        s = sums(p, b)
        return 1 - (s * y).sum(1).mean() + 20 * ((s @ s.T - y @ y.T) ** 2).mean()

    @jax.jit
    def step(p, mean, square, t, b, y):
        gradient = jax.grad(loss)(p, b, y)
        mean = {k: 0.9 * mean[k] + 0.1 * gradient[k] for k in p}
        square = {k: 0.99 * square[k] + 0.01 * gradient[k] ** 2 for k in p}
        rate = RATE * jnp.minimum(1, t / 50)
        move = {k: (mean[k] / (1 - 0.9**t)) / (jnp.sqrt(square[k] / (1 - 0.99**t)) + 1e-8) for k in p}
        return {k: p[k] - rate * move[k] for k in p}, mean, square

    p = {"map": jnp.eye(DIMENSION), "change": jnp.zeros(first.shape), "weight": jnp.zeros(len(words))}
    mean = square = {k: jnp.zeros_like(v) for k, v in p.items()}
    t = 0
    for _ in range(EPOCHS):
        shuffled = random.permutation(learned)
        for start in range(0, len(shuffled) - BATCH, BATCH):
            t, some = t + 1, shuffled[start : start + BATCH]
            p, mean, square = step(p, mean, square, float(t), bag[some], target[some])
    cosine = (numpy.asarray(sums(p, bag[held])) * target[held]).sum(1).mean()
    print(f"{len(learned)} texts; mean cosine to the encoder on {len(held)} others: {cosine:.3f}")
    made = numpy.asarray(rows(p, jnp.arange(len(words))))
    lengths = numpy.linalg.norm(made, axis=1)
    made = made * (127 / numpy.abs(made).max(axis=1, keepdims=True))
    with open(out_path, "wb") as f:
        f.write(b"MSV1" + struct.pack("<II", len(words), DIMENSION))
        f.write((lengths / lengths.mean()).astype("<f4").tobytes())
        f.write(numpy.rint(made).astype(numpy.int8).tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
