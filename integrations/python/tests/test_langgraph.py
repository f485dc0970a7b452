from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from conftest import Mneme
from langgraph.graph import START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from mneme_integrations import MnemeError
from mneme_integrations.langgraph import MnemeStore, text_to_remember


def plain(result: Any) -> Any:
    """A result without what may differ between two stores: times, scores, and the order of namespaces."""
    if isinstance(result, SearchItem | Item):
        return (result.namespace, result.key, result.value)
    if isinstance(result, list):
        return sorted((plain(entry) for entry in result), key=repr)
    return result


WRITES: list[Op] = [
    PutOp(("memories", "food"), "a", {"n": 1, "kind": "fruit", "deep": {"x": [1, 2.5, None, True]}}),
    PutOp(("memories", "food"), "b", {"n": 2, "kind": "bread"}),
    PutOp(("memories", "places"), "a", {"n": 3.5, "text": "Ærø; 日本; \"quotes\""}),
    PutOp(("docs", "v1", "drafts"), "k.with/all%2F ü", {}),
    PutOp(("docs", "v2", "drafts"), "k", {"n": -1}),
    PutOp(("memories", "food"), "b", {"n": 20, "kind": "bread"}),
    PutOp(("docs", "v2", "drafts"), "gone", {"n": 0}),
    PutOp(("docs", "v2", "drafts"), "gone", None),
    PutOp(("docs", "v2", "drafts"), "never was", None),
]

READS: list[Op] = [
    GetOp(("memories", "food"), "b"),
    GetOp(("memories", "food"), "not there"),
    GetOp(("docs", "v1", "drafts"), "k.with/all%2F ü"),
    GetOp(("docs", "v2", "drafts"), "gone"),
    SearchOp(()),
    SearchOp(("memories",)),
    SearchOp(("memories",), limit=0),
    SearchOp(("memories", "foo")),
    SearchOp(("memories",), filter={"kind": "fruit"}),
    SearchOp(("memories",), filter={"n": {"$gte": 3}}),
    SearchOp(("memories",), filter={"n": {"$lt": 3}, "kind": {"$ne": "bread"}}),
    SearchOp((), limit=1000),
    ListNamespacesOp(),
    ListNamespacesOp((MatchCondition("prefix", ("docs",)),)),
    ListNamespacesOp((MatchCondition("prefix", ("docs", "*")), MatchCondition("suffix", ("drafts",)))),
    ListNamespacesOp((MatchCondition("prefix", ("docs",)), MatchCondition("prefix", ("*", "v2")))),
    ListNamespacesOp((MatchCondition("prefix", ("docs",)), MatchCondition("prefix", ("memories",)))),
    ListNamespacesOp((MatchCondition("suffix", ("v2", "*")),)),
    ListNamespacesOp(max_depth=1),
    ListNamespacesOp(limit=0),
]


def test_it_does_what_langgraphs_own_store_does(user: str) -> None:
    ours, theirs = MnemeStore(user=user, remember=None), InMemoryStore()
    for op in WRITES:
        assert ours.batch([op]) == theirs.batch([op]) == [None]
    for op, our, their in zip(READS, ours.batch(READS), theirs.batch(READS), strict=True):
        assert plain(our) == plain(their), op
    ours.close()


async def test_it_does_so_without_blocking(user: str) -> None:
    ours, theirs = MnemeStore(user=user, remember=None), InMemoryStore()
    for op in WRITES:
        await ours.abatch([op])
        await theirs.abatch([op])
    for op, our, their in zip(READS, await ours.abatch(READS), await theirs.abatch(READS), strict=True):
        assert plain(our) == plain(their), op
    many = [ours.aput(("many",), str(i), {"i": i}) for i in range(20)]
    await asyncio.gather(*many)
    assert len(await ours.asearch(("many",), limit=100)) == 20
    await ours.aclose()


def test_more_than_the_api_takes_at_once(user: str) -> None:
    store = MnemeStore(user=user, remember=None)
    puts = [PutOp(("many", str(i % 3)), str(i), {"i": i, "fill": "x" * 100_000 if i % 10 == 0 else ""}) for i in range(230)]
    assert store.batch(puts) == [None] * 230
    found = store.search(("many",), limit=500, filter={"fill": ""})
    assert sorted(item.value["i"] for item in found) == [i for i in range(230) if i % 10]
    assert [item.value["i"] for item in store.search(("many", "1"), limit=2, offset=1)] == [226, 223]
    gets = store.batch([GetOp(("many", str(i % 3)), str(i)) for i in range(230)])
    assert [item.value["i"] for item in gets if isinstance(item, Item)] == list(range(230))
    store.close()


def test_a_search_with_words(user: str) -> None:
    store = MnemeStore(user=user, remember=None)
    store.put(("notes",), "1", {"text": "Cycling to work every morning"})
    store.put(("notes",), "2", {"text": "Bread with seeds"})
    found = store.search(("notes",), query="Who cycled in the morning?")
    assert [item.key for item in found] == ["1"]
    assert found[0].score is not None and 0 < found[0].score <= 1
    assert store.search(("notes",))[0].score is None
    store.close()


def test_items_that_expire(user: str) -> None:
    store = MnemeStore(user=user, remember=None, ttl={"default_ttl": 10, "refresh_on_read": True})
    store.put(("notes",), "short", {}, ttl=0.02)
    store.put(("notes",), "long", {})
    store.put(("notes",), "ever", {}, ttl=None)
    for _ in range(100):
        if store.get(("notes",), "short", refresh_ttl=False) is None:
            break
        asyncio.run(asyncio.sleep(0.1))
    assert {item.key for item in store.search(("notes",))} == {"long", "ever"}
    store.close()


def test_users_by_a_label_of_namespaces(user: str) -> None:
    store, other = MnemeStore(user_label=1, remember=None), user + "-2"
    store.batch([PutOp(("memories", user), "a", {"n": 1}), PutOp(("memories", other), "a", {"n": 2}), PutOp(("x", user), "a", {"n": 3})])
    assert [item.value for item in store.search(("memories", user))] == [{"n": 1}]
    assert store.batch([GetOp(("memories", other), "a"), GetOp(("memories", user), "a")])[0].value == {"n": 2}  # type: ignore[union-attr]
    assert store.list_namespaces(prefix=("*", user)) == [("memories", user), ("x", user)]
    for refused in (
        lambda: store.search(("memories",)),
        lambda: store.list_namespaces(),
        lambda: store.list_namespaces(prefix=("memories", "*")),
        lambda: store.list_namespaces(suffix=("a", user)),
        lambda: store.put(("memories",), "a", {}),
    ):
        with pytest.raises(ValueError, match="does not name the user"):
            refused()
    single = MnemeStore(user=user)
    assert single.search(("memories",))[0].value == {"n": 1}, "items are the user's, however the user is named"
    single.close()
    store.close()


def test_what_is_refused(user: str) -> None:
    with pytest.raises(ValueError, match="either"):
        MnemeStore()
    with pytest.raises(ValueError, match="either"):
        MnemeStore(user="a", user_label=1)
    with pytest.raises(ValueError, match="url"):
        MnemeStore(user="a", url="mneme.example.com")
    store = MnemeStore(user=user, remember=None)
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "a", {})])
    with pytest.raises(MnemeError) as large:
        store.put(("a",), "a", {"text": "x" * (300 << 10)})
    assert (large.value.status, large.value.code, large.value.field) == (400, "invalid", "operations[0].value")
    assert large.value.request_id in str(large.value)
    stranger = MnemeStore(user=user, api_key="mneme_not_a_key")
    with pytest.raises(MnemeError) as unknown:
        stranger.get(("a",), "a")
    stranger.close()
    assert unknown.value.status == 401 and "mneme_not_a_key" not in str(unknown.value)
    store.close()


class State(TypedDict):
    said: str
    known: list[str]


async def test_a_graph_whose_items_become_memories(user: str, mneme: Mneme) -> None:
    def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
        store.put(("memories",), "home", {"memory": state["said"]})
        return {"known": [item.value["memory"] for item in store.search(("memories",))]}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    store = MnemeStore(user=user)
    graph = builder.compile(store=store)
    result = graph.invoke({"said": "I moved from Porto to Lisbon last week.", "known": []})
    assert result["known"] == ["I moved from Porto to Lisbon last week."]
    mneme.close(user, "memories")
    assert "Lisbon" in await asyncio.to_thread(mneme.eventually, user, "Lisbon")
    store.close()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"memory": "I like tea."}, "I like tea."),
        ({"kind": "Memory", "content": {"content": "I like tea."}}, "I like tea."),
        ({"text": " ", "data": "I like tea."}, "I like tea."),
        ({"n": 1, "title": "tea"}, None),
        ({"content": ["tea"]}, None),
        ({}, None),
    ],
)
def test_what_of_a_value_is_said(value: dict[str, Any], text: str | None) -> None:
    assert text_to_remember(value) == text
