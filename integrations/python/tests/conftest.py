"""The tests need a running Mneme: MNEME_URL and MNEME_API_KEY, as `make up` prints them."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote

import httpx
import pytest
from agents import set_default_openai_client, set_tracing_disabled
from endpoint import Endpoint
from openai import AsyncOpenAI

FORMED_WITHIN = 120.0


@pytest.fixture
def user() -> str:
    """A user of whom nothing is known. What is in the name has to be escaped."""
    return f"ines/%2F ü-{uuid.uuid4().hex[:12]}"


class Mneme:
    """What other clients of Mneme see."""

    def __init__(self) -> None:
        self.http = httpx.Client(
            base_url=os.environ["MNEME_URL"] + "/v1/tenants/self",
            headers={"Authorization": "Bearer " + os.environ["MNEME_API_KEY"]},
            timeout=30,
        )

    def memories(self, user: str) -> list[str]:
        """The texts that are remembered of a user."""
        answer = self.http.get(f"/users/{quoted(user)}/memories")
        answer.raise_for_status()
        return [memory["content"] for memory in answer.json()["memories"]]

    def close(self, user: str, session: str) -> None:
        """Closes a session, so that its memories are formed."""
        self.http.post(f"/users/{quoted(user)}/sessions/{quoted(session)}/close").raise_for_status()

    def eventually(self, user: str, word: str) -> str:
        """Waits until something with a word is remembered of a user."""
        deadline = time.monotonic() + FORMED_WITHIN
        while True:
            texts = self.memories(user)
            found = [text for text in texts if word in text]
            if found:
                return found[0]
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing with {word!r} is remembered, but {texts}")
            time.sleep(0.2)


def quoted(text: str) -> str:
    return quote(text, safe="")


@pytest.fixture
def mneme() -> Iterator[Mneme]:
    out = Mneme()
    yield out
    out.http.close()


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """The endpoint that agents ask."""
    out = Endpoint()
    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=out.url, api_key="played") as client:
        set_default_openai_client(client)
        yield out
    out.close()
