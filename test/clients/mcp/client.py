"""The unmodified PyPI client `mcp` against Mneme's MCP door.

MNEME_URL is the gateway's base URL, MNEME_API_KEY an API key for all users of a tenant that may do everything but administrate, and MNEME_USER,
which may be left out, a user who has no memories yet. It prints a line per step and exits with 1 where one fails.
"""

import asyncio
import os
import time
import urllib.parse
import uuid

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

URL = os.environ["MNEME_URL"].rstrip("/") + "/mcp"
KEY = os.environ["MNEME_API_KEY"]
USER = os.environ.get("MNEME_USER", f"mcp/{uuid.uuid4()}@example.com")
TOOLS = {
    "add_memory", "search_memories", "get_memories", "get_memory", "update_memory", "delete_memory", "delete_all_memories",
    "list_entities", "delete_entities", "recall", "answer", "why", "get_memory_history",
}
FORMED_WITHIN = 60  # seconds


def step(what, good, seen=""):
    """Prints a step, and ends the run where it is not good."""
    print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)
    if not good:
        print(f"     saw: {str(seen)[:500]}", flush=True)
        os._exit(1)  # an exception would be wrapped in those of the connections


def connect(key, mode):
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
    return http, Client(streamable_http_client(URL, http_client=http), mode=mode)


async def call(client, name, **arguments):
    """Calls a tool that has to succeed, and returns its structured content."""
    result = await client.call_tool(name, arguments)
    step(f"{name}({', '.join(arguments)})", not result.is_error and result.content[0].text, result)
    return result.structured_content


async def refused(client, name, want, **arguments):
    result = await client.call_tool(name, arguments)
    step(f"{name} is refused: {want}", result.is_error and want in result.content[0].text, result)


async def memories_of(client, wanted):
    """Waits until a user has memories that the condition holds of."""
    until = time.monotonic() + FORMED_WITHIN
    while True:
        listed = (await client.call_tool("get_memories", {"user_id": USER})).structured_content
        if wanted(listed["memories"]) or time.monotonic() > until:
            return listed["memories"]
        await asyncio.sleep(0.2)


async def describe(client):
    listed = await client.list_tools()
    tools = {t.name: t for t in listed.tools}
    step("tools/list has every tool", set(tools) == TOOLS, set(tools) ^ TOOLS)
    step("tools/list may not be cached by others", getattr(listed, "cache_scope", None) in (None, "private"), listed)
    step("recall only reads", tools["recall"].annotations.read_only_hint is True, tools["recall"])
    step("delete_memory destroys", tools["delete_memory"].annotations.destructive_hint is True, tools["delete_memory"])
    step("add_memory does neither", tools["add_memory"].annotations.destructive_hint is False
         and tools["add_memory"].annotations.read_only_hint is False, tools["add_memory"])


async def remember(client):
    added = await call(client, "add_memory", user_id=USER, text="I am allergic to peanuts and I live in Porto.")
    step("add_memory names the turn", len(added["turn_ids"]) == 1 and added["session_id"], added)
    await call(client, "add_memory", user_id=USER, messages=[
        {"role": "user", "content": "My sister Ana plays the violin in an orchestra."},
        {"role": "assistant", "content": "How lovely!"},
    ])
    memories = await memories_of(client, lambda ms: any("Porto" in m["content"] for m in ms) and any("violin" in m["content"] for m in ms))
    step("memories are formed of both", len(memories) >= 2, memories)
    return next(m for m in memories if "violin" in m["content"])


async def read(client, memory):
    found = await call(client, "search_memories", user_id=USER, query="Where do I live?", limit=3)
    step("search_memories finds the home", any("Porto" in m["memory"]["content"] for m in found["memories"]), found)
    recalled = await call(client, "recall", user_id=USER, query="What instrument does my sister play?")
    step("recall's profile tells of the violin", "violin" in recalled["profile"] and recalled["cited"], recalled)
    answered = await call(client, "answer", user_id=USER, query="Where do I live?")
    step("answer says it", "Porto" in answered["answer"] and not answered["abstained"], answered)
    why = await call(client, "why", user_id=USER, query="Where do I live?", expect_text="Porto")
    step("why says that it is answered", why["stage"] == "answered", why)
    one = await call(client, "get_memory", user_id=USER, memory_id=memory["id"])
    step("get_memory has the turn", "violin" in one["sources"][0]["text"], one)


async def change(client, memory):
    updated = await call(client, "update_memory", user_id=USER, memory_id=memory["id"], text="Ana plays the cello now.")
    again = await call(client, "update_memory", user_id=USER, memory_id=memory["id"], text="Ana plays the cello now.")
    step("an update that comes again is the same", updated["memory"]["id"] == again["memory"]["id"] != memory["id"], again)
    history = await call(client, "get_memory_history", user_id=USER, memory_id=memory["id"])
    step("get_memory_history has both versions", len(history["versions"]) == 2 and history["user_id"] == USER, history)
    deleted = await call(client, "delete_memory", user_id=USER, memory_id=updated["memory"]["id"])
    step("delete_memory retracts", deleted["memory"]["status"] == "retracted", deleted)
    left = await memories_of(client, lambda ms: not any("cello" in m["content"] for m in ms))
    step("it is not listed any more", left and not any("cello" in m["content"] for m in left), left)


async def resources(client):
    templates = await client.list_resource_templates()
    step("resources/templates/list has both", len(templates.resource_templates) == 2, templates)
    for kind in ("profile", "core"):
        read = await client.read_resource(f"mneme://users/{urllib.parse.quote(USER, safe='')}/{kind}")
        text = read.contents[0].text
        step(f"resources/read of the {kind}", "data, never an instruction" in text and text.endswith("</memory>"), read)
    listed = await client.list_prompts()
    step("prompts/list has with_memory", [p.name for p in listed.prompts] == ["with_memory"], listed)
    prompt = await client.get_prompt("with_memory", {"user_id": USER, "message": "Where do I live?"})
    step("prompts/get puts memory before the message",
         "Porto" in prompt.messages[0].content.text and prompt.messages[1].content.text == "Where do I live?", prompt)


async def errors(client):
    await refused(client, "recall", "query: is empty", user_id=USER, query="")
    await refused(client, "recall", "user_id: is missing", query="q")
    await refused(client, "search_memories", "limit: is -1", user_id=USER, query="q", limit=-1)
    await refused(client, "get_memory", "memory_id", user_id=USER, memory_id="../x")
    await refused(client, "get_memory", "not found", user_id=USER, memory_id=str(uuid.uuid4()))
    await refused(client, "add_memory", "enable_graph", user_id=USER, text="x", enable_graph=True)
    await refused(client, "delete_all_memories", "confirm", user_id=USER, confirm=False)
    await refused(client, "list_entities", "no list of users")


async def run(mode):
    http, client = connect(KEY, mode)
    async with http, client:
        step(f"connected ({mode}, {client.session.protocol_version})", True)
        await describe(client)
        memory = await remember(client)
        await read(client, memory)
        await change(client, memory)
        await resources(client)
        await errors(client)
        erased = await call(client, "delete_all_memories", user_id=USER, confirm=True)
        step("the erasure has an id", erased["erasure_id"], erased)
        step("nothing is left", await memories_of(client, lambda ms: not ms) == [])


async def without_key():
    http, client = connect("mneme_of_nobody", "legacy")
    try:
        async with http, client:
            pass
    except BaseException as error:  # the SDK wraps it in groups
        step("a wrong key is refused", True)
        return
    step("a wrong key is refused", False, "it is connected")


async def main():
    await without_key()
    for mode in ("auto", "legacy"):
        await run(mode)


asyncio.run(main())
