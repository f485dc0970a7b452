"""The session of the OpenAI Agents SDK over Mneme."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session_settings import resolve_session_limit

from ._gateway import Call, Gateway, chunks, segment, turn_calls

# What the API takes at once, and returns at once.
_MAX_APPENDED = 1000
_MAX_LATEST = 10_000


class MnemeSession:
    """A session of an agent, whose items Mneme keeps as they are, and forms memories from.

    It is a session of one end user of Mneme. Items can be read as soon as they are added; a session has 10,000 at most. What user and
    assistant say in them also goes in as turns of the session, from which memories are formed later, unless `form` is false. Calls of tools
    and what they returned are kept and not formed from.

    Turns are sent before items are kept: where `add_items` raises, no item was added. Memories are formed once the session is closed by
    `close_session`, or nothing was said in it for a while. Taking items off by `pop_item` or `clear_session` does not take turns back.

    Errors of Mneme are `mneme_integrations.MnemeError`; a turn that Mneme leaves out is a `mneme_integrations.TurnsLeftOutWarning`. The API
    key needs the scopes `ingest` and `read`, and `erase` for `pop_item` and `clear_session`. A session belongs to the event loop in which it was used first.
    """

    def __init__(
        self,
        session_id: str,
        *,
        user: str,
        url: str | None = None,
        api_key: str | None = None,
        form: bool = True,
        session_settings: SessionSettings | None = None,
        timeout: float = 30.0,
    ) -> None:
        if not session_id or not user:
            raise ValueError("session_id or user is empty")
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._user = user
        self._form = form
        self._gateway = Gateway(url, api_key, timeout)
        self._path = f"/users/{segment(user)}/sessions/{segment(session_id)}"

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the latest items, oldest first: up to limit, else as many as the settings of the session say, else all."""
        limit = resolve_session_limit(limit, self.session_settings)
        if limit is not None and limit <= 0:
            return []
        wanted = min(limit or _MAX_LATEST, _MAX_LATEST)
        params: dict[str, int] = {}
        items: list[Any] = []
        while True:  # an answer is bounded in bytes, too
            params["limit"] = wanted - len(items)
            answer = await self._gateway.acall(Call("GET", self._path + "/items", params=params))
            items = [*answer["items"], *items]
            params["before"] = answer["first"]
            if not answer["first"] or len(items) >= wanted:
                return cast("list[TResponseInputItem]", items)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items, in order."""
        entries = [cast("dict[str, Any]", item) for item in items]
        if self._form:
            turns = [turn for entry in entries for turn in _turns(entry)]
            for call in turn_calls(self._user, self.session_id, turns):
                await self._gateway.acall(call)
        sizes = [len(json.dumps(entry)) + 2 for entry in entries]
        for some in chunks(entries, sizes, _MAX_APPENDED):
            await self._gateway.acall(Call("POST", self._path + "/items", json={"items": some}, key=uuid.uuid4().hex))

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item off, and returns it; None where there is none."""
        answer = await self._gateway.acall(Call("POST", self._path + "/items/pop", key=uuid.uuid4().hex))
        return cast("TResponseInputItem | None", answer.get("item"))

    async def clear_session(self) -> None:
        """Takes all items off."""
        await self._gateway.acall(Call("DELETE", self._path + "/items"))

    async def close_session(self) -> None:
        """Says that nothing follows in the session for now, so that its memories are formed at once; and closes the connections."""
        if self._form:
            await self._gateway.acall(Call("POST", self._path + "/close"))
        await self._gateway.aclose()

    async def aclose(self) -> None:
        """Closes the connections, and leaves the session open. It can be used again."""
        await self._gateway.aclose()


def _turns(item: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """What user or assistant say in an item."""
    role = item.get("role")
    if role not in ("user", "assistant") or item.get("type", "message") != "message":
        return
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    texts = [part.get("text") for part in content or () if isinstance(part, Mapping)]
    if text := "\n".join(text for text in texts if isinstance(text, str) and text.strip()):
        yield {"role": role, "text": text}
