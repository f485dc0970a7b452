from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from agents import Agent, Runner, function_tool
from agents.items import TResponseInputItem
from agents.memory import Session, SessionSettings, SQLiteSession
from conftest import Mneme
from endpoint import Endpoint

from mneme_integrations import MnemeError
from mneme_integrations.openai_agents import MnemeSession


def said(role: str, text: str) -> TResponseInputItem:
    return cast("TResponseInputItem", {"role": role, "content": text})


async def test_it_does_what_the_sdks_own_session_does(user: str) -> None:
    ours, theirs = MnemeSession("s/1 ü", user=user, form=False), SQLiteSession("s1")
    assert isinstance(ours, Session)
    some = [said("user", "one"), said("assistant", "two"), cast("TResponseInputItem", {"type": "reasoning", "id": "r", "summary": []})]
    for step in range(3):
        for session in (ours, theirs):
            assert await session.pop_item() is None
            assert await session.get_items() == []
            await session.add_items([])
            await session.add_items(some)
            await session.add_items([said("user", f"again {step}")])
        assert await ours.get_items() == await theirs.get_items() == [*some, said("user", f"again {step}")]
        for limit in (1, 2, 100):
            assert await ours.get_items(limit) == await theirs.get_items(limit)
        assert await ours.pop_item() == await theirs.pop_item() == said("user", f"again {step}")
        assert await ours.get_items() == some
        for session in (ours, theirs):
            await session.clear_session()
    await ours.aclose()


async def test_limits_of_a_session(user: str) -> None:
    session = MnemeSession("s", user=user, form=False, session_settings=SessionSettings(limit=2))
    await session.add_items([said("user", str(i)) for i in range(2300)])
    assert await session.get_items() == [said("user", "2298"), said("user", "2299")]
    assert len(await session.get_items(5000)) == 2300
    assert await session.get_items(0) == []
    another = MnemeSession("s", user=user + "-2", form=False)
    assert await another.get_items() == []
    many = [said("user", str(i) + "x" * 200_000) for i in range(90)]  # more than an answer may have
    await another.add_items(many)
    assert await another.get_items() == many
    await session.aclose()
    await another.aclose()


async def test_what_is_refused(user: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        MnemeSession("", user=user)
    session = MnemeSession("s", user=user, form=False)
    with pytest.raises(MnemeError) as large:
        await session.add_items([said("user", "x" * (300 << 10))])
    assert (large.value.status, large.value.field) == (400, "items[0]")
    assert await session.get_items() == []
    await session.aclose()


async def test_an_agent_that_uses_tools_and_is_remembered(user: str, mneme: Mneme, endpoint: Endpoint) -> None:
    @function_tool
    def weather(city: str) -> str:
        """Says how the weather is."""
        return f"rain in {city}"

    agent = Agent(name="Assistant", tools=[weather])
    session = MnemeSession("trip", user=user)
    endpoint.answers(endpoint.calls("weather", '{"city":"Lisbon"}'), endpoint.says("It rains there."))
    first = await Runner.run(agent, "I moved from Porto to Lisbon last week. How is the weather?", session=cast(Any, session))
    assert first.final_output == "It rains there."
    kinds = [cast("dict[str, Any]", item).get("type", "message") for item in await session.get_items()]
    assert kinds == ["message", "function_call", "function_call_output", "message"]

    endpoint.answers(endpoint.says("Take an umbrella."))
    again = MnemeSession("trip", user=user)
    await Runner.run(agent, "What do I take along?", session=cast(Any, again))
    assert "Lisbon" in str(endpoint.asked[-1]["input"]), "the model is given what was said before"
    await again.close_session()
    await session.aclose()
    assert "Lisbon" in await asyncio.to_thread(mneme.eventually, user, "Lisbon")
    assert not [text for text in mneme.memories(user) if "rain in" in text], "what tools return is not remembered"


async def test_a_text_longer_than_a_turn(user: str, mneme: Mneme) -> None:
    session = MnemeSession("long", user=user)
    await session.add_items([said("user", "word " * 10_000 + "I moved to Lisbon last week.")])
    assert len(await session.get_items()) == 1
    await session.close_session()
    await asyncio.to_thread(mneme.eventually, user, "Lisbon")
