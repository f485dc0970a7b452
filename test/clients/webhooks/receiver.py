"""A program that is told of changes by webhook, and verifies them with the specification's own library.

Needs MNEME_URL, a gateway that allows private addresses, and MNEME_API_KEY, an API key of the tenant that may do everything.
"""
import json
import os
import queue
import threading
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

WITHIN = 120  # seconds for what is formed offline, and for an attempt that comes after one that failed

received = queue.Queue()
answers = queue.Queue()  # of the next attempts; then 204


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.put((dict(self.headers.items()), body))
        self.send_response(answers.get() if not answers.empty() else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["MNEME_URL"] + "/v1/tenants/self" + path,
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={
            "Authorization": "Bearer " + os.environ["MNEME_API_KEY"],
            "Content-Type": "application/json",
            "Idempotency-Key": uuid.uuid4().hex,
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def step(name, ok, *shown):
    print(("ok   " if ok else "FAIL ") + name, flush=True)
    if not ok:
        raise SystemExit(f"{name}: {shown}")


def say(user, text):
    session = f"/users/{user}/sessions/{uuid.uuid4().hex}"
    call("POST", session + "/turns", {"turns": [{"role": "user", "text": text}]})
    call("POST", session + "/close", {})


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()

user = "ines-" + uuid.uuid4().hex[:8]
hook = call("POST", "/webhooks", {"url": f"http://127.0.0.1:{server.server_address[1]}/hook", "event_types": ["memory.added"], "user": user})
secret = hook["secret"]
answers.put(503)  # to the first attempt, which is made again
say(user, "I moved from Porto to Lisbon last week.")

headers, body = received.get(timeout=WITHIN)
again, same = received.get(timeout=WITHIN)
step("what is refused is told again", (headers["Webhook-Id"], body) == (again["Webhook-Id"], same), headers, again)
told = Webhook(secret).verify(same, {k.lower(): v for k, v in again.items()})
step("it is signed", told["type"] == "memory.added" and told["data"]["user_id"] == user, told)
step("it holds no text", b"Lisbon" not in same, same)
memories = call("GET", f"/users/{user}/memories")["memories"]
step("it names the memory", told["data"]["memory_id"] in [m["id"] for m in memories], told, memories)
try:
    Webhook(secret).verify(same + b" ", {k.lower(): v for k, v in again.items()})
    step("what was changed on the way is not verified", False)
except WebhookVerificationError:
    step("what was changed on the way is not verified", True)

rotated = call("POST", f"/webhooks/{hook['id']}/rotate-secret")["secret"]
while not received.empty():
    received.get()
say(user, "I am allergic to peanuts.")
headers, body = received.get(timeout=WITHIN)
lower = {k.lower(): v for k, v in headers.items()}
step("it is signed with both secrets after a rotation", rotated != secret and Webhook(rotated).verify(body, lower) == Webhook(secret).verify(body, lower))

answers.put(410)
while not received.empty():
    received.get()
say(user, "My daughter Mia was born in May.")
received.get(timeout=WITHIN)
for _ in range(WITHIN * 10):
    if not call("GET", f"/webhooks/{hook['id']}")["active"]:
        break
    threading.Event().wait(0.1)
step("an endpoint that is gone is switched off", not call("GET", f"/webhooks/{hook['id']}")["active"])
call("DELETE", f"/webhooks/{hook['id']}")
server.shutdown()
