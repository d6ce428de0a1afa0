"""The base install is the client alone: it imports, and nothing of the server comes with it."""

import importlib.util

import gymnasium

import envhub_sdk

SERVER = ("fastapi", "uvicorn", "starlette", "typer", "rapidfuzz", "torch")
present = [name for name in SERVER if importlib.util.find_spec(name)]
assert not present, f"the base install brings {present}"
assert "envhub/webshop" in gymnasium.registry, "importing the SDK did not register envhub/webshop"
print(f"the SDK alone imports, with {len(envhub_sdk.__all__)} public names")
