"""An endpoint of models whose answers are written by the tests."""

from __future__ import annotations

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Endpoint:
    """Serves OpenAI's Responses API, as far as agents use it."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answers: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                body = json.dumps(endpoint._response()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answers(self, *outputs: dict[str, Any]) -> None:
        """Says what is answered next, in order."""
        self._answers.extend(outputs)

    def says(self, text: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"type": "message", "id": "m_" + uuid.uuid4().hex, "role": "assistant", "status": "completed", "content": content}

    def calls(self, tool: str, arguments: str) -> dict[str, Any]:
        name = uuid.uuid4().hex
        return {"type": "function_call", "id": "f_" + name, "call_id": "c_" + name, "name": tool, "arguments": arguments, "status": "completed"}

    def _response(self) -> dict[str, Any]:
        output = self._answers.pop(0) if self._answers else self.says("I see.")
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {
            "id": "r_" + uuid.uuid4().hex,
            "object": "response",
            "created_at": 1,
            "model": "played",
            "status": "completed",
            "output": [output],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details},
        }
