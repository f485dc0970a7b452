"""LangGraph's long-term store over Mneme."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from ._gateway import Call, Gateway, chunks, segment, turn_calls

Namespace = tuple[str, ...]

# What the API takes in one batch, finds by one search, and lists at once. A batch has half of what may be: an answer has 16 MiB at most.
_MAX_OPERATIONS = 50
_MAX_FOUND = 100
_MAX_LISTED = 1000

_TEXTS = ("memory", "content", "text", "data", "fact")


def text_to_remember(value: Mapping[str, Any]) -> str | None:
    """What is said by a value, as LangGraph's and LangMem's own examples write it: the text at `memory`, `content`, `text`, `data` or
    `fact`, the first of them that is one, at the top of the value or in an object there. None where there is none."""
    for name in _TEXTS:
        at = value.get(name)
        if isinstance(at, str) and at.strip():
            return at
        if isinstance(at, Mapping) and (within := text_to_remember(at)):
            return within
    return None


class MnemeStore(BaseStore):
    """A LangGraph store whose items Mneme keeps as they are, and forms memories from.

    Items are those of one end user of Mneme: of `user`, or of the user that the label number `user_label` of their namespaces names (1 for
    namespaces such as `("memories", user_id)`). Exactly one of the two is given. What asks for namespaces that do not name the user raises
    ValueError: items of several users are never read at once.

    Items can be read as soon as they are put. A search with a query compares words, and no meanings: for that, recall from Mneme what it
    formed. The argument `index` of `put` has no effect.

    What is put is also a turn of the user's, in the session of its namespace, from which memories are formed later: the text that
    `remember` returns of a value. With None as `remember` nothing is formed. Turns are sent before items are kept: where `put` raises, no
    item was kept, and a put that is repeated says the same twice, which changes nothing.

    Errors of Mneme are `mneme_integrations.MnemeError`; a turn that Mneme leaves out is a `mneme_integrations.TurnsLeftOutWarning`. The API
    key needs the scopes `ingest` and `read`, and `erase` to delete items. With `read` alone, pass `refresh_ttl=False` to `get` and `search`.
    """

    supports_ttl = True

    __slots__ = ("_gateway", "_remember", "_user", "_user_label", "ttl_config")

    def __init__(
        self,
        *,
        user: str | None = None,
        user_label: int | None = None,
        url: str | None = None,
        api_key: str | None = None,
        remember: Callable[[Mapping[str, Any]], str | None] | None = text_to_remember,
        ttl: TTLConfig | None = None,
        timeout: float = 30.0,
    ) -> None:
        if (user is None) == (user_label is None):
            raise ValueError("give either user or user_label")
        if user == "" or (user_label is not None and user_label < 0):
            raise ValueError("user is empty, or user_label negative")
        self._user = user
        self._user_label = user_label
        self._remember = remember
        self._gateway = Gateway(url, api_key, timeout)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries out operations. Those of one user are carried out in order; each sees what was done before it."""
        work = _Work(list(ops), self._user_of)
        for turns in work.turns(self._remember):
            self._gateway.call(turns)
        for request in work.requests():
            request.take(self._gateway.call(request.call))
        return work.results()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, without blocking."""
        work = _Work(list(ops), self._user_of)
        for turns in work.turns(self._remember):
            await self._gateway.acall(turns)
        for request in work.requests():
            request.take(await self._gateway.acall(request.call))
        return work.results()

    def close(self) -> None:
        """Closes the connections of methods that block. The store can be used again."""
        self._gateway.close()

    async def aclose(self) -> None:
        """Closes all connections. The store can be used again."""
        await self._gateway.aclose()

    def _user_of(self, op: Op) -> str:
        """The user whose items an operation is about."""
        if self._user is not None:
            return self._user
        at = self._user_label or 0
        for namespace in _named(op):
            if len(namespace) > at and namespace[at] != "*":
                return namespace[at]
        raise ValueError(f"the namespace does not name the user, who is its label {at}: items of several users are never read at once")


def _named(op: Op) -> Iterator[Namespace]:
    """The namespaces, and beginnings of namespaces, that an operation names."""
    if isinstance(op, SearchOp):
        yield op.namespace_prefix
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            if condition.match_type == "prefix":
                yield tuple(condition.path)
    else:
        yield op.namespace


@dataclass
class _Step:
    """An operation of the API that is a part of one of LangGraph's."""

    of: int
    """The index of LangGraph's operation."""
    operation: dict[str, Any]


@dataclass
class _Request:
    """A call with some of the steps."""

    call: Call
    steps: Sequence[_Step]
    results: dict[int, list[dict[str, Any]]]

    def take(self, answer: Any) -> None:
        """Takes what the steps came to."""
        for step, result in zip(self.steps, answer["results"], strict=True):
            self.results[step.of].append(result)


class _Work:
    """The operations of a batch, and what they came to so far."""

    def __init__(self, ops: list[Op], user_of: Callable[[Op], str]) -> None:
        for op in ops:
            validate_op_namespace(op)
        self._ops = ops
        self._users = [user_of(op) for op in ops]
        self._results: dict[int, list[dict[str, Any]]] = {i: [] for i in range(len(ops))}

    def turns(self, remember: Callable[[Mapping[str, Any]], str | None] | None) -> Iterator[Call]:
        """The calls that put in what memories are to be formed from."""
        for op, user in zip(self._ops, self._users, strict=True):
            text = remember(op.value) if remember and isinstance(op, PutOp) and op.value is not None else None
            if isinstance(op, PutOp) and text:
                name = ".".join(op.namespace)
                session = name if len(name.encode()) <= 120 else hashlib.sha256(name.encode()).hexdigest()
                yield from turn_calls(user, session, [{"role": "user", "text": text}])

    def requests(self) -> Iterator[_Request]:
        """The calls of the operations, user by user."""
        for user in dict.fromkeys(self._users):
            steps = [step for i, op in enumerate(self._ops) if self._users[i] == user for step in _steps(i, op)]
            sizes = [len(json.dumps(step.operation)) + 2 for step in steps]
            for some in chunks(steps, sizes, _MAX_OPERATIONS):
                call = Call("POST", f"/users/{segment(user)}/items/batch", json={"operations": [step.operation for step in some]})
                yield _Request(call, some, self._results)

    def results(self) -> list[Result]:
        """What the operations came to."""
        return [_result(op, self._results[i]) for i, op in enumerate(self._ops)]


def _steps(i: int, op: Op) -> Iterator[_Step]:
    """What of the API an operation is made of; nothing where it can only come to nothing."""
    if isinstance(op, GetOp):
        get = {"op": "get", "namespace": list(op.namespace), "key": op.key, "refresh_ttl": op.refresh_ttl}
        yield _Step(i, get)
    elif isinstance(op, PutOp):
        name = {"namespace": list(op.namespace), "key": op.key}
        if op.value is None:
            yield _Step(i, {"op": "delete", **name})
            return
        put: dict[str, Any] = {"op": "put", **name, "value": dict(op.value)}
        if op.ttl is not None:
            put["ttl_seconds"] = max(1, math.ceil(op.ttl * 60))
        yield _Step(i, put)
    elif isinstance(op, SearchOp):
        search: dict[str, Any] = {"op": "search", "namespace_prefix": list(op.namespace_prefix), "refresh_ttl": op.refresh_ttl}
        if op.filter:
            search["filter"] = op.filter
        if op.query:
            search["query"] = op.query
        yield from _pages(i, search, op.offset, op.limit, _MAX_FOUND)
    else:
        listing = _listing(op)
        if listing is not None:
            yield from _pages(i, listing, op.offset, op.limit, _MAX_LISTED)


def _pages(i: int, operation: dict[str, Any], offset: int, limit: int, most: int) -> Iterator[_Step]:
    """The pages of an operation of which the API returns `most` at once."""
    if offset < 0:
        raise ValueError("offset is negative")
    for at in range(0, limit, most):
        yield _Step(i, {**operation, "offset": offset + at, "limit": min(most, limit - at)})


def _listing(op: ListNamespacesOp) -> dict[str, Any] | None:
    """A listing of namespaces; None where conditions contradict each other."""
    conditions = op.match_conditions or ()
    if unknown := [c.match_type for c in conditions if c.match_type not in ("prefix", "suffix")]:
        raise ValueError(f"there is no match_type {unknown[0]!r}")
    prefix = _all([c.path for c in conditions if c.match_type == "prefix"])
    suffix = _all([c.path[::-1] for c in conditions if c.match_type == "suffix"])
    if prefix is None or suffix is None:
        return None
    out: dict[str, Any] = {"op": "list_namespaces"}
    if prefix:
        out["prefix"] = prefix
    if suffix:
        out["suffix"] = suffix[::-1]
    if op.max_depth is not None:
        out["max_depth"] = op.max_depth
    return out


def _all(paths: Sequence[Sequence[str]]) -> list[str] | None:
    """The path that matches what all paths match, from their beginning; None where nothing does. "*" matches any label."""
    out: list[str] = []
    for path in paths:
        for at, label in enumerate(path):
            if at == len(out):
                out.append(label)
            elif out[at] == "*":
                out[at] = label
            elif label not in ("*", out[at]):
                return None
    return out


def _result(op: Op, results: list[dict[str, Any]]) -> Result:
    """What an operation came to."""
    if isinstance(op, GetOp):
        item = results[0].get("item")
        return None if item is None else Item(**_fields(item))
    if isinstance(op, PutOp):
        return None
    if isinstance(op, SearchOp):
        return [SearchItem(**_fields(item), score=item.get("score")) for page in results for item in page["items"]]
    return [tuple(namespace) for page in results for namespace in page["namespaces"]]


def _fields(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "namespace": tuple(item["namespace"]),
        "key": item["key"],
        "value": item["value"],
        "created_at": datetime.fromisoformat(item["created_at"]),
        "updated_at": datetime.fromisoformat(item["updated_at"]),
    }
