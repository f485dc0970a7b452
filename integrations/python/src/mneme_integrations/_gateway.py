"""Calls of Mneme's REST API, blocking and not."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import tenacity

_T = TypeVar("_T")

# Limits of a request, and of a turn's text that the gateway stores whole. It accepts longer texts, and leaves out their middle.
MAX_BODY_BYTES = 3 << 20
MAX_TURNS = 200
MAX_TEXT_BYTES = 32 << 10

# A call that the gateway cannot serve now is made up to so often, if it is to wait no longer than that before each, in seconds.
_ATTEMPTS = 4
_MAX_PAUSE = 30.0
_RETRIED = frozenset({408, 425, 429, 502, 503, 504})


class MnemeError(Exception):
    """What Mneme answered instead of what was asked.

    `status` is that of HTTP, `code` says what is wrong for programs ("invalid", "rate_limited", ...), `field` names the field of the
    request at fault, if one is, `retry_after` says in how many seconds it is worth to ask again, if the answer told, and `request_id`
    names the request in Mneme's logs.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: str = "",
        field: str = "",
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(f"{detail} ({status} {code}, request {request_id})" if request_id else f"{detail} ({status} {code})")
        self.status = status
        self.detail = detail
        self.code = code
        self.field = field
        self.retry_after = retry_after
        self.request_id = request_id


@dataclass(frozen=True)
class LeftOut:
    """A turn that Mneme did not accept. `field` is the field of the request at fault, `detail` what is wrong with it."""

    turn_id: str
    code: str
    field: str
    detail: str


class TurnsLeftOutWarning(UserWarning):
    """Mneme accepted some turns of a call and left others out: nothing is formed from these. `turns` are those left out."""

    def __init__(self, turns: Sequence[LeftOut]) -> None:
        super().__init__("Mneme left out " + "; ".join(f"turn {turn.turn_id}: {turn.field}: {turn.detail}" for turn in turns))
        self.turns = list(turns)


class TurnsShortenedWarning(UserWarning):
    """Mneme left out the middle of the texts of some accepted turns. `turns` maps the turns' ids to the bytes left out."""

    def __init__(self, turns: Mapping[str, int]) -> None:
        super().__init__("Mneme shortened " + "; ".join(f"turn {turn} by {size} bytes" for turn, size in turns.items()))
        self.turns = dict(turns)


@dataclass(frozen=True)
class Call:
    """A call of the API. Its path begins behind `/v1/tenants/self`."""

    method: str
    path: str
    json: Any = None
    params: Mapping[str, str | int] = field(default_factory=dict)
    key: str = ""
    """The Idempotency-Key, the same for every attempt; empty for none."""

    def headers(self) -> dict[str, str]:
        return {"Idempotency-Key": self.key} if self.key else {}


def segment(text: str) -> str:
    """A text as one segment of a path."""
    return quote(text, safe="").replace(".", "%2E")


def chunks(entries: Iterable[_T], sizes: Iterable[int], most: int) -> Iterator[list[_T]]:
    """Entries in order, in lists of up to `most` that fit into a body; sizes are those of the entries, in bytes."""
    out: list[_T] = []
    room = MAX_BODY_BYTES
    for entry, size in zip(entries, sizes, strict=True):
        if out and (len(out) == most or room < size):
            yield out
            out, room = [], MAX_BODY_BYTES
        out.append(entry)
        room -= size
    if out:
        yield out


def parts_of(text: str) -> list[str]:
    """Splits a text into parts that the gateway stores whole, between words if there are any."""
    out: list[str] = []
    rest = text.strip()
    while len(rest.encode()) > MAX_TEXT_BYTES:
        head = rest.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
        at = max(head.rfind(" "), head.rfind("\n"))
        head = head[:at] if at > len(head) // 2 else head
        out.append(head.strip())
        rest = rest[len(head) :].strip()
    return [part for part in [*out, rest] if part]


def turn_calls(user: str, session: str, turns: Sequence[Mapping[str, str]]) -> Iterator[Call]:
    """The calls that put turns in, in order; each turn has a role and a text."""
    pieces = [{**turn, "text": part} for turn in turns for part in parts_of(turn["text"])]
    sizes = [len(piece["text"].encode()) * 2 + 400 for piece in pieces]
    path = f"/users/{segment(user)}/sessions/{segment(session)}/turns"
    for some in chunks(pieces, sizes, MAX_TURNS):
        yield Call("POST", path, json={"turns": some}, key=uuid.uuid4().hex)


def problem_of(response: httpx.Response) -> MnemeError:
    """The error that an answer tells of."""
    problem: dict[str, Any] = {}
    if "json" in response.headers.get("Content-Type", ""):
        try:
            body = response.json()
            problem = body if isinstance(body, dict) else {}
        except ValueError:
            pass  # a proxy's, cut short: its status says enough
    fields = problem.get("errors") or [{}]
    after = response.headers.get("Retry-After", "")
    return MnemeError(
        response.status_code,
        str(problem.get("detail") or response.reason_phrase),
        code=str(problem.get("code", "")),
        field=str(fields[0].get("field", "")),
        retry_after=float(after) if after.isdigit() else None,
        request_id=response.headers.get("X-Request-Id", ""),
    )


def answer_of(response: httpx.Response) -> Any:
    """Returns the body of an answer. It warns of turns that the gateway left out or shortened.

    It raises no error for them: a repeated call would add the other turns twice.
    """
    if not response.is_success:
        raise problem_of(response)
    answer: Any = response.json() if response.content else None
    if response.status_code == httpx.codes.MULTI_STATUS:
        left_out = [LeftOut(result["turn_id"], **result["problem"]) for result in answer["results"] if "problem" in result]
        if left_out:
            warnings.warn(TurnsLeftOutWarning(left_out), stacklevel=2)
        shortened = {result["turn_id"]: result["shortened_by"] for result in answer["results"] if "shortened_by" in result}
        if shortened:
            warnings.warn(TurnsShortenedWarning(shortened), stacklevel=2)
    return answer


def _again(error: BaseException) -> bool:
    """Whether a call is made again: everything that this package calls may be repeated."""
    if isinstance(error, MnemeError):
        if (error.retry_after or 0) > _MAX_PAUSE:  # such as that of a day's limit
            return False
        carried_out = error.status == 409 and error.retry_after is not None  # by the attempt before, of which no answer came
        return carried_out or error.status in _RETRIED
    return isinstance(error, httpx.TransportError)


def _pause(state: tenacity.RetryCallState) -> float:
    """How long a call waits: as long as the gateway said, else longer each time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, MnemeError) and error.retry_after is not None:
        return error.retry_after
    return float(tenacity.wait_random_exponential(multiplier=0.2, max=5)(state))


_retrying: dict[str, Any] = {
    "retry": tenacity.retry_if_exception(_again),
    "stop": tenacity.stop_after_attempt(_ATTEMPTS),
    "wait": _pause,
    "reraise": True,
}


class Gateway:
    """A gateway of Mneme, with an API key that is never shown.

    The HTTP clients are made when they are first needed, and reuse connections. The one that does not block belongs to the event loop in
    which it was used first.
    """

    def __init__(self, url: str | None, api_key: str | None, timeout: float) -> None:
        url = url or os.environ.get("MNEME_URL", "")
        api_key = api_key or os.environ.get("MNEME_API_KEY", "")
        if not url.startswith(("http://", "https://")):
            raise ValueError("url is none such as https://mneme.example.com; give it, or set MNEME_URL")
        if not api_key:
            raise ValueError("api_key is empty; give it, or set MNEME_API_KEY")
        self._options: dict[str, Any] = {
            "base_url": url.rstrip("/") + "/v1/tenants/self",
            "headers": {"Authorization": f"Bearer {api_key}", "User-Agent": "mneme-integrations/0.1.0"},
            "timeout": timeout,
        }
        self._sync: httpx.Client | None = None
        self._async: httpx.AsyncClient | None = None

    def call(self, call: Call) -> Any:
        """Makes a call, again where that helps, and returns what the answer holds."""
        if self._sync is None:
            self._sync = httpx.Client(**self._options)
        client = self._sync
        for attempt in tenacity.Retrying(**_retrying):
            with attempt:
                response = client.request(call.method, call.path, json=call.json, params=call.params, headers=call.headers())
                return answer_of(response)
        raise AssertionError("unreachable: the last error is raised")

    async def acall(self, call: Call) -> Any:
        """`call`, without blocking."""
        if self._async is None:
            self._async = httpx.AsyncClient(**self._options)
        client = self._async
        async for attempt in tenacity.AsyncRetrying(**_retrying):
            with attempt:
                response = await client.request(call.method, call.path, json=call.json, params=call.params, headers=call.headers())
                return answer_of(response)
        raise AssertionError("unreachable: the last error is raised")

    def close(self) -> None:
        """Closes the connections of `call`."""
        if self._sync is not None:
            self._sync.close()
            self._sync = None

    async def aclose(self) -> None:
        """Closes all connections."""
        self.close()
        if self._async is not None:
            await self._async.aclose()
            self._async = None
