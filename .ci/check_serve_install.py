"""The served install plays: the real command with 64 WebShops, databases and a KG, and a clean end."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

ENVS = ("webshop=64", "db=2", "kg=2")
COMMAND = [str(Path(sys.executable).with_name("envhub")), "serve", *(f"--env={env}" for env in ENVS)]

started = time.monotonic()
with subprocess.Popen([*COMMAND, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True) as hub:
    assert hub.stdout is not None
    ready = json.loads(hub.stdout.readline())
    print(f"ready after {time.monotonic() - started:.1f} s: {ready}")
    snippet = f"""from envhub_sdk import Hub
env = Hub("{ready["url"]}").make("webshop")
print(env.reset(seed=0))
graph = Hub("{ready["url"]}").make("kg")
print(graph.reset(seed=0))
database = Hub("{ready["url"]}").make("db")
database.reset(seed=0)
print(database.step("Action: Operation\\n```sql\\nSELECT 6 * 7\\n```")[0])
"""
    played = subprocess.run([sys.executable, "-c", snippet], check=True, capture_output=True, text=True)
    assert "Instruction:" in played.stdout, played
    assert "Entities: [" in played.stdout, played
    assert played.stdout.endswith("[(42,)]\n"), played
    stopping = time.monotonic()
    hub.send_signal(signal.SIGINT)
    assert hub.wait(10) == 0, f"the hub ended with status {hub.returncode}"
    print(f"played, and stopped after {time.monotonic() - stopping:.1f} s")
