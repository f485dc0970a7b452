"""What is done where the gateway cannot serve a call now."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from mneme_integrations import MnemeError, TurnsLeftOutWarning, TurnsShortenedWarning
from mneme_integrations._gateway import Call, Gateway, parts_of, turn_calls

Answer = tuple[int, dict[str, str]]

LEFT_OUT = (
    b'{"results": [{"turn_id": "t1", "status": "accepted", "status_url": "/x"}, {"turn_id": "t2", "status": "left_out",'
    b' "problem": {"code": "invalid", "field": "turns[1].text", "detail": "is empty, want 1 to 524288 bytes"}},'
    b' {"turn_id": "t3", "status": "accepted", "status_url": "/x", "shortened_by": 268000}]}'
)


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[Gateway, list[str]]]:
    """A gateway that answers so, one after the other, and the Idempotency-Keys that it was asked with."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append(self.headers["Idempotency-Key"])
            status, headers = answers[min(len(asked), len(answers)) - 1]
            body = LEFT_OUT if status == 207 else b'{"count": 1}' if status < 300 else b'{"code": "unavailable", "detail": "not now"}'
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    gateway = Gateway(f"http://127.0.0.1:{server.server_address[1]}/", "key", 10)
    try:
        yield gateway, asked
    finally:
        gateway.close()
        server.shutdown()
        server.server_close()
        thread.join()


CALL = Call("POST", "/x", json={}, key="once")


@pytest.mark.parametrize("first", [(503, {}), (429, {"Retry-After": "1"}), (409, {"Retry-After": "1"}), (502, {"Content-Type": "text/html"})])
def test_a_call_is_made_again(first: Answer) -> None:
    with answering(first, (201, {})) as (gateway, asked):
        assert gateway.call(CALL) == {"count": 1}
        assert asked == ["once", "once"]


@pytest.mark.parametrize("only", [(429, {"Retry-After": "3600"}), (409, {}), (400, {}), (401, {}), (500, {})])
def test_a_call_is_not_made_again(only: Answer) -> None:
    with answering(only) as (gateway, asked):
        with pytest.raises(MnemeError) as refused:
            gateway.call(CALL)
        assert refused.value.status == only[0] and refused.value.detail == "not now" and len(asked) == 1


def test_turns_that_are_left_out_or_shortened_are_named() -> None:
    with answering((207, {})) as (gateway, asked):
        with pytest.warns(TurnsShortenedWarning, match="turn t3 by 268000 bytes") as shortened:
            with pytest.warns(TurnsLeftOutWarning, match=r"turn t2: turns\[1\]\.text: is empty") as left_out:
                gateway.call(CALL)
        said, short = left_out[0].message, shortened[0].message
        assert isinstance(said, TurnsLeftOutWarning) and [turn.turn_id for turn in said.turns] == ["t2"] and len(asked) == 1
        assert isinstance(short, TurnsShortenedWarning) and short.turns == {"t3": 268000}


def test_it_ends() -> None:
    with answering((503, {})) as (gateway, asked):
        with pytest.raises(MnemeError):
            gateway.call(CALL)
        assert len(asked) == 4


async def test_nobody_listens() -> None:
    with answering() as (gateway, _):
        pass
    with pytest.raises(httpx.ConnectError):
        gateway.call(CALL)
    with pytest.raises(httpx.ConnectError):
        await gateway.acall(CALL)
    await gateway.aclose()


def test_a_long_text_is_cut_between_words() -> None:
    text = "Ærø " * 200_000
    parts = parts_of(text)
    assert all(len(part.encode()) <= 32 << 10 and part.endswith("ø") for part in parts)
    assert " ".join(parts) == text.strip()
    assert [len(part) for part in parts_of("x" * 70_000)] == [32 << 10, 32 << 10, 70_000 - (64 << 10)]
    assert parts_of(" \n ") == []


def test_a_long_turn_is_sent_in_turns_that_the_gateway_stores_whole() -> None:
    text = "I like tea. " * 25_000  # 300 KB
    sent = [turn for call in turn_calls("u", "s", [{"role": "user", "text": text}]) for turn in call.json["turns"]]
    assert len(sent) == 10 and all(len(turn["text"].encode()) <= 32 << 10 for turn in sent)
    assert " ".join(turn["text"] for turn in sent) == text.strip()
