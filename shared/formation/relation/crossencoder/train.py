"""Trains the cross-encoder of relations, and the model that tells which messages it is asked about, and writes both as one ONNX file. Run by
`make cross-encoder`; needs the packages of requirements.txt.

    python3 train.py statements.jsonl model.onnx

statements.jsonl (`mneme-lab train statements`) has an object a line: `later`, a message; `stored`, those it is among; `of`, the index of the
one that it looks as if it were about, or -1; `does`, what it does to that one; `part`, the words of it that hold no more; `facts`, what it tells, where that is
several things; `change`, the linear model's larger logit of a change for each stored one; `made_up`, whether a made-up person says it. Where nothing is stored it is small
talk, which changes nothing, and which some of the other messages are shown amid.

The sentence encoder all-MiniLM-L6-v2 reads `[CLS] stored [SEP] later [SEP]`. A linear layer over its last states has five outputs: at [CLS] the
logits of same, adds, replaces, ends, and at each token of the stored statement the logit of holding no more. What a later statement does
is a choice out of all of these for all stored ones, and none, whose logit is 0 (as the linear model has it). Of the others that a
statement is among, those that the linear model takes for changed are shown most.

The second model reads `[CLS] later [SEP]`: the token vectors are the cross-encoder's, and it begins with its first layers. A linear layer at
[CLS] gives the logit of a message that changes anything.

In the file the weights of a matrix are signed bytes with a factor for each output.
"""

import functools
import json
import random
import sys
import time

import jax
import jax.numpy as jnp
import numpy

from encoder import LAYERS, WIDTH, layers, tokenizer, weights
from graph import Graph

RELATIONS = ["same", "adds", "replaces", "ends"]
CHANGES = ("replaces", "ends")
OUTPUTS = len(RELATIONS) + 1
LONGEST_STORED, LONGEST_LATER, POSITIONS = 40, 80, 128
# Steps, the first rate of learning, how many pairs of a step are those that a part is marked in, and the weight of the loss of parts.
PHASES = ((1500, 8e-5, 0, 0.5), (1400, 6e-5, 28, 3.0), (2400, 5e-5, 28, 3.0))
# The same of the model of messages, how many layers it has, and how many messages a step has.
ALONE_STEPS, ALONE_RATE, ALONE_LAYERS, ALONE_BATCH = 1500, 6e-5, 3, 96
BATCH, DECAY = 64, 0.01
BETA1, BETA2, EPSILON = 0.9, 0.98, 1e-6
APART = 0.4  # how many changes of one of several facts are shown as one of several statements
AMID = 0.3  # how many messages have small talk before or behind them
BESIDE = 0.4  # how many of the others have something before or behind them that the same person told, and that changes nothing
JOINTS = (" ", " ", " ", " ", "\n", ", but ", " but ", ", and ", " and ", "; ", ", so ", " - ")
FEWEST_STORED = 6  # of what is one person's bank
OTHERS = 2  # stored ones that a statement does nothing to, shown beside the one it is about
MADE_UP_CHANGES, MADE_UP_OTHERS = 3000, 3000  # statements of made-up people in a pass
ALONE_CHANGES, ALONE_OTHERS = 1200, 2500  # messages of made-up people in a pass
CLS, SEP = 101, 102

chance = random.Random(0)


@functools.cache
def tokens(text):
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return encoding.ids[:LONGEST_LATER], encoding.offsets[:LONGEST_LATER]


def pair(stored, later):
    """Returns the tokens of a pair, and their types."""
    a, b = tokens(stored)[0][:LONGEST_STORED], tokens(later)[0]
    return [CLS] + a + [SEP] + b + [SEP], [0] * (len(a) + 2) + [1] * (len(b) + 1)


def apart(s):
    """Returns a change of one of the facts of a stored statement as a change of that fact among the others, or as it is."""
    text = s["stored"][s["of"]].lower()
    start, at, changed = text.find(s["part"].lower()), 0, []
    for i, fact in enumerate(s.get("facts", ())):
        first = text.find(fact.lower(), at)
        if first < 0 or start < 0:
            return s
        at = first + len(fact)
        if first < start + len(s["part"]) and at > start:
            changed.append(i)
    if len(changed) != 1 or chance.random() >= APART:
        return s
    facts, of, change = s["facts"], changed[0], s["change"][s["of"]]
    rest = [i for i in range(len(s["stored"])) if i != s["of"]]
    return {
        **s,
        "stored": [facts[of]] + facts[:of] + facts[of + 1 :] + [s["stored"][i] for i in rest],
        "change": [change] * len(facts) + [s["change"][i] for i in rest],
        "of": 0,
        "part": s["part"] if s["part"].lower() in facts[of].lower() else facts[of],
    }


def amid(text, small_talk):
    """Returns a message as it is, or with small talk before or behind it."""
    if not small_talk or chance.random() >= AMID:
        return text
    other, room = chance.choice(small_talk), LONGEST_LATER - len(tokens(text)[0])
    before = chance.random() < 0.5 and len(tokens(other)[0]) <= room  # what tells the change must not be cut off
    return f"{other} {text}" if before else f"{text} {other}"


def quiet(statements):
    """Returns by what is stored what was held against it and changes nothing: the message, what it is about, what it does."""
    told = {}
    for s in statements:
        if len(s["stored"]) >= FEWEST_STORED and s["does"] not in CHANGES and not s["made_up"]:
            of = s["stored"][s["of"]] if s["of"] >= 0 else ""
            told.setdefault(frozenset(s["stored"]), []).append((s["later"], of, s["does"]))
    return told


def beside(s, told):
    """Returns a message as it is, or with another of the same person's, and the index of what that is about, or -1."""
    text, own = s["later"], s["stored"][s["of"]] if s["of"] >= 0 else ""
    others = told.get(frozenset(s["stored"]), ())
    if not others or chance.random() >= BESIDE:
        return text, -1
    other, of, does = chance.choice(others)
    if s["does"] in CHANGES:
        fits = of != own or does == "adds"
    else:
        fits = does == "unrelated"  # else there would be two entries that the message has to do with
    if not fits or other == text or len(tokens(text)[0]) + len(tokens(other)[0]) >= LONGEST_LATER:
        return text, -1
    first, second = (other, text) if chance.random() < 0.6 else (text, other)
    joint = chance.choice(JOINTS)
    if joint.strip():
        first = first.rstrip(" .!…")
    elif first[-1:].isalnum():
        first += "."
    return first + joint + second, s["stored"].index(of) if of and of != own else -1


def gone(stored, part):
    """Returns for each token of a stored statement whether it holds no more, or nothing where that is not known."""
    start = stored.lower().find(part.lower())
    if not part or start < 0:
        return []
    return [float(x < start + len(part) and y > start) for x, y in tokens(stored)[1][:LONGEST_STORED]]


def example(s, small_talk=(), told={}):
    """Returns the pairs of a statement that a step shows, the output that is true, or -1, and the tokens that hold no more."""
    later, kept = beside(s, told)
    if later == s["later"]:
        later = amid(later, small_talk)
    if s["part"]:
        kept_text = s["stored"][kept] if kept >= 0 else ""
        s = apart(s)
        kept = s["stored"].index(kept_text) if kept_text else -1
    about, change = s["of"], s["change"]
    rest = [i for i in range(len(s["stored"])) if i != about]
    rest.sort(key=lambda i: (i != kept, -change[i] - chance.expovariate(1)))  # what the other thing told is about is shown
    shown = [about][: about >= 0] + rest[:OTHERS]
    if len(rest) > OTHERS and chance.random() < 0.5:
        shown.append(chance.choice(rest[OTHERS:]))
    true = RELATIONS.index(s["does"]) if s["does"] in RELATIONS else -1
    parts = gone(s["stored"][about], s["part"]) if s["does"] in CHANGES else []
    return [pair(s["stored"][i], later) for i in shown], true, parts


def marked(statements, size):
    """Yields so many examples of the changes that a part is marked in, each with the changed statement alone, of like length, for ever."""
    changes = [{**s, "stored": [s["stored"][s["of"]]], "of": 0, "change": [0], "facts": []} for s in statements if s["part"]]
    while size:
        chance.shuffle(changes)
        out = []
        for start in range(0, len(changes), 2048):
            some = sorted(map(example, changes[start : start + 2048]), key=lambda e: len(e[0][0][0]))
            out += [some[i : i + size] for i in range(0, len(some), size)]
        chance.shuffle(out)
        yield from out


def batches(statements):
    """Yields batches of examples with at most BATCH pairs, of like length, for ever."""
    small_talk, told = [s["later"] for s in statements if not s["stored"]], quiet(statements)
    corpus = [s for s in statements if s["stored"] and not s["made_up"]]
    changes = [s for s in statements if s["made_up"] and s["does"] in CHANGES]
    others = [s for s in statements if s["made_up"] and s["does"] not in CHANGES]
    while True:
        chosen = corpus + chance.sample(changes, min(len(changes), MADE_UP_CHANGES))
        chosen += chance.sample(others, min(len(others), MADE_UP_OTHERS))
        chance.shuffle(chosen)
        examples, out = [example(s, small_talk, told) for s in chosen], []
        for start in range(0, len(examples), 2048):
            batch, pairs = [], 0
            for e in sorted(examples[start : start + 2048], key=lambda e: max(len(ids) for ids, _ in e[0])):
                if pairs + len(e[0]) > BATCH:
                    out.append(batch)
                    batch, pairs = [], 0
                batch.append(e)
                pairs += len(e[0])
            out.append(batch)
        chance.shuffle(out)
        yield from out


def packed(batch):
    """Returns a batch as arrays: tokens, types, mask, the example of each pair, each example's true output, and tokens that hold no more."""
    longest = -(-max(len(ids) for e in batch for ids, _ in e[0]) // 16) * 16
    ids, types = numpy.zeros((BATCH, longest), numpy.int32), numpy.zeros((BATCH, longest), numpy.int32)
    mask, parts, known = (numpy.zeros((BATCH, longest), numpy.float32) for _ in range(3))
    of, true = numpy.full(BATCH, BATCH, numpy.int32), numpy.full(BATCH, BATCH * len(RELATIONS), numpy.int32)
    row = 0
    for i, (pairs, label, held) in enumerate(batch):
        if label >= 0:
            true[i] = row * len(RELATIONS) + label
        parts[row, 1 : 1 + len(held)] = held
        known[row, 1 : 1 + len(held)] = 1 / max(1, len(held))
        for a, b in pairs:
            ids[row, : len(a)], types[row, : len(b)], mask[row, : len(a)], of[row] = a, b, 1, i
            row += 1
    return ids, types, mask, of, true, parts, known


def loss(w, part, ids, types, mask, of, true, parts, known):
    states = layers(w, ids, types, mask)
    out = states @ w["output.weight"].T + w["output.bias"]
    logits, gone = out[:, 0, :-1], out[:, :, -1]
    most = jnp.maximum(logits.max(), 0.0)
    total = jax.ops.segment_sum(jnp.exp(logits - most).sum(1), of, BATCH + 1)[:BATCH] + jnp.exp(-most)
    chosen = jnp.concatenate([logits.reshape(-1), jnp.zeros(1)])[true]
    return (jnp.log(total) + most - chosen).mean() + part * (known * (jnp.logaddexp(0, gone) - parts * gone)).sum() / BATCH


def adam(loss):
    """Returns a step of Adam that makes a loss of weights and a batch less."""

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(w, m, v, batch, rate, i):
        value, g = jax.value_and_grad(loss)(w, *batch)
        clip = jnp.minimum(1.0, 1.0 / jnp.sqrt(sum((x**2).sum() for x in g.values())))
        m = {k: BETA1 * m[k] + (1 - BETA1) * g[k] * clip for k in w}
        v = {k: BETA2 * v[k] + (1 - BETA2) * (g[k] * clip) ** 2 for k in w}
        move = {k: m[k] / (1 - BETA1**i) / (jnp.sqrt(v[k] / (1 - BETA2**i)) + EPSILON) + DECAY * w[k] for k in w}
        return {k: w[k] - rate * move[k] for k in w}, m, v, value

    return step


def rates(steps, first):
    """Yields the number of each step and its rate: up for an eighth of them, then down."""
    for i in range(1, steps + 1):
        yield i, first * min(1, i * 8 / steps) * (1 - i / steps)


def train(statements):
    numbers = numpy.random.default_rng(0)
    w = {k: x for k, x in weights.items() if not k.startswith("pooler")}
    w["embeddings.position_embeddings.weight"] = w["embeddings.position_embeddings.weight"][:POSITIONS]
    w["output.weight"] = jnp.asarray(numbers.normal(0, 0.02, (OUTPUTS, WIDTH)).astype(numpy.float32))
    w["output.bias"] = jnp.asarray(numpy.array([-1, -1, -1, -1, 0], numpy.float32))
    source, start, step = batches(statements), time.time(), adam(loss)
    for steps, first, size, part in PHASES:
        m, v = ({k: jnp.zeros_like(x) for k, x in w.items()} for _ in range(2))
        parts, mean = marked(statements, size), 0.0
        for i, rate in rates(steps, first):
            batch = next(parts) if size else []
            room = BATCH - len(batch)
            for e in next(source):
                if len(e[0]) > room:
                    break
                batch.append(e)
                room -= len(e[0])
            w, m, v, value = step(w, m, v, (part, *packed(batch)), rate, float(i))
            now = float(value) * BATCH / len(batch)
            mean = now if i == 1 else 0.99 * mean + 0.01 * now
            if i % 50 == 0:
                print(f"step {i} of {steps}: loss {mean:.3f}, {time.time() - start:.0f} s", flush=True)
    return {k: numpy.asarray(x) for k, x in w.items()}


def messages(statements):
    """Yields batches of messages as arrays, tokens, mask, whether they change anything, and weights, of like length, for ever."""
    known, small_talk, told = {}, [s["later"] for s in statements if not s["stored"]], quiet(statements)
    held = {}
    for s in statements:
        held[s["later"]] = s
        changes, made_up = known.get(s["later"], (0.0, True))
        known[s["later"]] = max(changes, float(s["does"] in CHANGES)), made_up and s["made_up"]
    corpus = [(k, x) for k, (x, made_up) in known.items() if not made_up]
    changes = [(k, x) for k, (x, made_up) in known.items() if made_up and x]
    others = [(k, x) for k, (x, made_up) in known.items() if made_up and not x]
    while True:
        chosen = corpus + chance.sample(changes, min(len(changes), ALONE_CHANGES)) + chance.sample(others, min(len(others), ALONE_OTHERS))
        chosen = [(amid(text, small_talk) if more == text else more, x) for text, x in chosen for more, _ in [beside(held[text], told)]]
        chance.shuffle(chosen)
        out = []
        for start in range(0, len(chosen), 3072):
            some = sorted((([CLS] + tokens(text)[0] + [SEP], x) for text, x in chosen[start : start + 3072]), key=lambda e: len(e[0]))
            out += [some[i : i + ALONE_BATCH] for i in range(0, len(some), ALONE_BATCH)]
        chance.shuffle(out)
        for batch in out:
            longest = -(-max(len(ids) for ids, _ in batch) // 16) * 16
            ids, mask = numpy.zeros((ALONE_BATCH, longest), numpy.int32), numpy.zeros((ALONE_BATCH, longest), numpy.float32)
            true, weight = numpy.zeros(ALONE_BATCH, numpy.float32), numpy.zeros(ALONE_BATCH, numpy.float32)
            mask[:, 0] = 1  # what fills up a batch has to have something to attend to
            for row, (a, x) in enumerate(batch):
                ids[row, : len(a)], mask[row, : len(a)], true[row], weight[row] = a, 1, x, 1
            yield ids, mask, true, weight


def alone(statements, w):
    """Returns the weights of the model of messages alone, of which the token vectors are those of w."""
    fixed = {k: jnp.asarray(x) for k, x in w.items() if k.startswith("embeddings")}
    own = {k: jnp.asarray(x) for k, x in w.items() if any(k.startswith(f"encoder.layer.{i}.") for i in range(ALONE_LAYERS))}
    own["output.weight"] = jnp.asarray(numpy.random.default_rng(0).normal(0, 0.02, (1, WIDTH)).astype(numpy.float32))
    own["output.bias"] = jnp.zeros(1)

    def loss(own, ids, mask, true, weight):
        states = layers({**fixed, **own}, ids, jnp.ones_like(ids), mask, ALONE_LAYERS)[:, 0]
        z = (states @ own["output.weight"].T + own["output.bias"])[:, 0]
        return ((jnp.logaddexp(0, z) - true * z) * weight).sum() / weight.sum()

    source, start, step, mean = messages(statements), time.time(), adam(loss), 0.0
    m, v = ({k: jnp.zeros_like(x) for k, x in own.items()} for _ in range(2))
    for i, rate in rates(ALONE_STEPS, ALONE_RATE):
        own, m, v, value = step(own, m, v, next(source), rate, float(i))
        mean = float(value) if i == 1 else 0.99 * mean + 0.01 * float(value)
        if i % 50 == 0:
            print(f"messages alone: step {i} of {ALONE_STEPS}: loss {mean:.3f}, {time.time() - start:.0f} s", flush=True)
    return {k: numpy.asarray(x) for k, x in own.items()}


def write(w, own, path):
    """Writes both models into one file."""
    g = Graph()
    x, outputs = g.embeddings(w), []
    for name, size, weights, count, prefix in (("logits", OUTPUTS, w, LAYERS, ""), ("change", 1, own, ALONE_LAYERS, "alone.")):
        g.layers(x, weights, count, prefix)
        g.nodes[-1].output[0] = name
        outputs.append((name, size))
    g.save(path, "relations", outputs)


def main(data, model):
    with open(data, encoding="utf-8") as f:
        statements = [json.loads(line) for line in f]
    w = train(statements)
    write(w, alone(statements, w), model)


if __name__ == "__main__":
    main(*sys.argv[1:])
