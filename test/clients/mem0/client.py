"""The unmodified PyPI client `mem0ai` against Mneme, method by method.

MNEME_URL is the gateway's base URL, MNEME_API_KEY an API key of a tenant that may do everything. It prints a line per step and exits with 1 where
one fails.
"""

import asyncio
import os
import sys
import tempfile
import time
import uuid

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp()

import httpx
from mem0 import AsyncMemoryClient, MemoryClient

URL, KEY = os.environ["MNEME_URL"].rstrip("/"), os.environ["MNEME_API_KEY"]
USER = f"mem0/{uuid.uuid4()}@example.com"  # an id that has to be escaped in paths
WITHIN = 60  # seconds, for memories to be formed


def step(what, good, seen=""):
    print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)
    if not good:
        print(f"     saw: {str(seen)[:800]}", flush=True)
        sys.exit(1)


def refused(what, call, status):
    """Holds a call that is refused against the status that it is refused with."""
    try:
        seen = call()
    except Exception as e:  # the client has a type for each status
        cause = e.__cause__ if isinstance(e.__cause__, httpx.HTTPStatusError) else e
        response = getattr(cause, "response", None)
        code = getattr(e, "status_code", None) or getattr(response, "status_code", None) or getattr(e, "error_code", "")
        detail = str(getattr(e, "message", "")) + str(e)
        step(f"{what} is refused with {status}", str(status) in str(code) and detail, (type(e), code, detail))
        return
    step(f"{what} is refused with {status}", False, seen)


def until(what, look):
    end = time.monotonic() + WITHIN
    while True:
        seen = look()
        if seen or time.monotonic() > end:
            step(what, seen, seen)
            return seen
        time.sleep(0.1)


def texts(found):
    return [m["memory"] for m in found["results"]]


def event(client, answer):
    """Asks for an event, as the command line of mem0 does."""
    return client.client.get(f"/v1/event/{answer['event_id']}/").raise_for_status().json()


def add_and_read(m):
    said = [
        {"role": "user", "content": "I live in Porto and I am allergic to peanuts."},
        {"role": "assistant", "content": "Noted."},
    ]
    added = m.add(said, user_id=USER, run_id="trip", metadata={"source": "test"}, timestamp=1_700_000_000)
    step("add answers with an event", added["status"] == "PENDING" and added["event_id"], added)
    until("the event succeeds", lambda: event(m, added)["status"] == "SUCCEEDED")
    step("events lists it", any(e["id"] == added["event_id"] for e in m.client.get("/v1/events/").json()["results"]))
    found = until("search finds what was added", lambda: (r := m.search("Where do I live?", filters={"user_id": USER}))["results"] and r)
    first = next(r for r in found["results"] if "Porto" in r["memory"])
    step("a result has what mem0's has", {"id", "memory", "score", "user_id", "metadata", "created_at"} <= set(first), first)
    step("metadata comes back", first["metadata"]["source"] == "test", first)
    step("the time is that of the event", "2023-11-14" in str(first), first)
    everything = m.get_all(filters={"user_id": USER}, page=1, page_size=50)
    step("get_all pages", everything["count"] >= 2 and any("peanuts" in t for t in texts(everything)), everything)
    step("get", m.get(first["id"])["id"] == first["id"])
    return first["id"]


def verbatim(m):
    added = m.add("The code of the bike lock is 4711.", user_id=USER, infer=False, metadata={"kind": "code", "level": 3})
    until("infer=False stores verbatim", lambda: any(t == "The code of the bike lock is 4711." for t in texts(m.get_all(filters={"user_id": USER}))))
    step("its event succeeds", event(m, added)["status"] == "SUCCEEDED")


def filters(m):
    mine = {"user_id": USER}
    for what, f, want in (
        ("AND", {"AND": [mine, {"metadata": {"kind": "code"}}]}, 1),
        ("gte", {"AND": [mine, {"created_at": {"gte": "2020-01-01"}}]}, 2),
        ("in", {"AND": [mine, {"user_id": {"in": [USER]}}]}, 2),
        ("NOT", {"AND": [mine, {"NOT": [{"metadata": {"kind": "code"}}]}]}, 1),
    ):
        found = m.get_all(filters=f)
        step(f"filter {what}", found["count"] >= want, found)
    either = m.get_all(filters={"AND": [mine, {"OR": [{"metadata": {"kind": "code"}}, {"metadata": {"kind": "none"}}]}]})
    step("filter OR", texts(either) == ["The code of the bike lock is 4711."], either)
    nobody = m.get_all(filters={"AND": [mine, {"metadata": {"kind": "no such"}}]})
    step("a filter that nothing fits", nobody["count"] == 0, nobody)
    best = m.search("bike lock", filters=mine, top_k=1, rerank=True, threshold=0.0)
    step("search with top_k", texts(best) == ["The code of the bike lock is 4711."], best)


def change(m, memory_id):
    changed = m.update(memory_id, text="I live in Lisbon.")
    step("update", changed["memory"] == "I live in Lisbon.", changed)
    step("update with metadata", m.update(memory_id, metadata={"source": "edit"}))
    until("get has the new text", lambda: m.get(memory_id)["memory"] == "I live in Lisbon.")
    history = m.history(memory_id)
    step("history is a bare list of versions", [h["event"] for h in history][-1] == "UPDATE" and "Porto" in history[0]["new_memory"], history)
    step("feedback", m.feedback(memory_id, "POSITIVE", "it helped"))
    ids = [r["id"] for r in m.get_all(filters={"user_id": USER})["results"] if r["id"] != memory_id]
    step("batch_update", "message" in m.batch_update([{"memory_id": ids[0], "text": "I am allergic to walnuts."}]))
    until("the batch is carried out", lambda: "I am allergic to walnuts." in texts(m.get_all(filters={"user_id": USER})))
    step("batch_delete", "message" in m.batch_delete([{"memory_id": ids[0]}]))
    until("the batch is gone", lambda: "I am allergic to walnuts." not in texts(m.get_all(filters={"user_id": USER})))


def whole(m):
    users = m.users()
    step("users", any(u["name"] == USER and u["type"] == "user" for u in users["results"]), users)
    exported = m.create_memory_export(schema='{"type":"object"}', user_id=USER)
    step("create_memory_export", exported["id"], exported)
    step("get_memory_export", "Lisbon" in str(m.get_memory_export(user_id=USER)))
    step("get_summary", "Lisbon" in str(m.get_summary(filters={"user_id": USER})))
    profile = m.get_profile(USER)
    step("get_profile", profile["status"] == "succeeded" and "Lisbon" in str(profile["profile"]), profile)
    step("get_project", isinstance(m.get_project(), dict))


def webhooks(m):
    made = m.create_webhook(url="https://example.com/hook", name="mine", project_id=m.project_id, event_types=["memory_add"])
    step("create_webhook", made["webhook_id"] and made["event_types"] == ["memory_add"], made)
    step("get_webhooks", [w["webhook_id"] for w in m.get_webhooks(m.project_id)] == [made["webhook_id"]])
    step("update_webhook", m.update_webhook(made["webhook_id"], name="yours", url=made["url"], event_types=["memory_update"]))
    step("delete_webhook", "message" in m.delete_webhook(made["webhook_id"]))
    step("no webhook is left", m.get_webhooks(m.project_id) == [])


def without_meaning(m):
    refused("update_project", lambda: m.update_project(custom_instructions="x"), 501)
    refused("generate_profile", lambda: m.generate_profile(USER), 501)
    refused("get_profile_settings", m.get_profile_settings, 501)
    refused("update_profile_settings", lambda: m.update_profile_settings(enabled=True), 501)
    refused("sample_profiles", m.sample_profiles, 501)
    refused("get_profile_job", lambda: m.get_profile_job("job"), 501)


def wrong(m):
    refused("a memory that is not there", lambda: m.get(str(uuid.uuid4())), 404)
    refused("a bare delete_all", m.delete_all, 400)
    refused("delete_all by filters, which the client cannot send", lambda: m.delete_all(filters={"user_id": USER}), 400)
    refused("delete_all of everybody", lambda: m.delete_all(user_id="*"), 400)
    refused("a search of nobody's", lambda: m.search("x", filters={}), 400)
    try:
        MemoryClient(api_key="mneme_wrong", host=URL)
        step("an unknown key is refused", False)
    except ValueError as e:  # the client shows the answer's detail
        step("an unknown key is refused", "not known" in str(e), e)
    step("nothing of that widened", m.get_all(filters={"user_id": USER})["count"] > 0)


def erase(m, memory_id):
    step("delete", "message" in m.delete(memory_id, delete_linked=True))
    until("the memory is gone", lambda: memory_id not in [r["id"] for r in m.get_all(filters={"user_id": USER})["results"]])
    gone = m.delete_all(user_id=USER)
    until("delete_all is done", lambda: event(m, gone)["status"] == "SUCCEEDED")
    step("nothing is left", m.get_all(filters={"user_id": USER})["count"] == 0)
    m.add("x is y and I like tea.", user_id=USER)
    step("delete_users", "message" in m.delete_users(user_id=USER))


async def asynchronous():
    user = f"async-{uuid.uuid4()}"
    async with AsyncMemoryClient(api_key=KEY, host=URL) as m:
        await m.add("I have a dog named Rex.", user_id=user)
        end = time.monotonic() + WITHIN
        while not (found := await m.search("dog", filters={"user_id": user}))["results"] and time.monotonic() < end:
            await asyncio.sleep(0.1)
        step("the asynchronous client", any("Rex" in t for t in texts(found)), found)
        await m.delete_all(user_id=user)


def main():
    m = MemoryClient(api_key=KEY, host=URL)
    step("the client accepts who it is told it is", m.org_id and m.project_id)
    memory_id = add_and_read(m)
    verbatim(m)
    filters(m)
    change(m, memory_id)
    whole(m)
    webhooks(m)
    without_meaning(m)
    wrong(m)
    erase(m, memory_id)
    asyncio.run(asynchronous())


main()
