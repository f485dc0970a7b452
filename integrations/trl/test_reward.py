"""Holds the rewards against a trainer at MNEME_TRAINER_URL, and veRL's function against the installed veRL's own."""

import ast
import importlib.metadata
import inspect

from mneme_reward import call, compute_score, score


def source(name: str) -> ast.Module:
    """A module of the installed veRL, read and not imported: importing it needs Ray and a GPU's libraries."""
    (found,) = [f for f in importlib.metadata.files("verl") if str(f) == name]
    return ast.parse(found.locate().read_text())


def test_signature() -> None:
    (theirs,) = [n for n in source("verl/utils/reward_score/__init__.py").body if isinstance(n, ast.FunctionDef) and n.name == "default_compute_score"]
    named = [p.name for p in inspect.signature(compute_score).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [a.arg for a in theirs.args.args][: len(named)] == named, ast.dump(theirs.args)


def test_calls() -> None:
    """Every call that a reward manager makes of it can be bound."""
    calls = 0
    for name in ("verl/experimental/reward_loop/reward_manager/naive.py", "verl/workers/reward_manager/naive.py"):
        for node in ast.walk(source(name)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compute_score":
                inspect.signature(compute_score).bind(*node.args, **{k.arg: k.value for k in node.keywords if k.arg})
                calls += 1
    assert calls >= 2, calls


def test_scores() -> None:
    begun = call("EpisodeService/Begin", {"seed": 5, "sessions": 1, "strategy": "salimory", "filter": "off"})
    (request,) = begun["pending"]
    empty, no = '{"nothing":true,"memories":[]}', "no"
    direct = score(begun["episode"], request, [empty, no])
    assert direct[0]["valid"] and not direct[1].get("valid") and direct[0]["reward"] > direct[1]["reward"], direct
    for text, want in zip([empty, no], direct):
        got = compute_score("mneme/transition", text, begun["episode"], {"request": request})
        assert got["score"] == want["reward"] and got["valid"] == float(want.get("valid", False)), (got, want)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("passed", name)
