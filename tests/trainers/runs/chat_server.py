"""A small OpenAI-compatible endpoint, run as a process of its own.

    python chat_server.py '["500", "429 1", "drop", "slow", "garbage", "text: no action here"]'

The first requests fare as the list says, one each; all others are answered by a model that plays FrozenLake.
GET /seen gives the requests so far. Prints its address.
"""

import json
import sys
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "env_specs" / "frozenlake"))
from envhub_frozenlake.planner import shortest_way

script = deque(json.loads(sys.argv[1]))
seen: list[dict[str, Any]] = []
lock = threading.Lock()


def play(message: str) -> str:
    """The next move, as a model writes it."""
    grid = [line.split() for line in message.splitlines() if "\t" in line]
    return f"I see it.\n```{shortest_way(grid)[0]}```"


class Chat(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200, json.dumps(seen))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with lock:
            fate = script.popleft() if script else "play"
            key = self.headers["authorization"]
            seen.append({"at": time.monotonic(), "path": self.path, "key": key, "fate": fate, "body": body})
        kind, _, more = fate.partition(" ")
        if kind == "drop":
            self.close_connection = True
            return
        if kind == "slow":
            time.sleep(60)
        if kind == "garbage":
            self.answer(200, "<html>not found")
        elif kind == "play":
            self.say(play(body["messages"][-1]["content"]))
        elif kind == "text:":
            self.say(more)
        elif kind == "cut":
            self.say("I think and think", finish="length")
        else:
            head = {"retry-after": more} if more and more[0].isdigit() else {}
            self.answer(int(kind), json.dumps({"error": {"message": "as scripted", "code": more}}), head)

    def say(self, text: str, finish: str = "stop") -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        self.answer(200, json.dumps({"object": "chat.completion", "choices": [choice]}))

    def answer(self, status: int, body: str, head: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (head or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever(0.05)
