"""Closed-loop load on environment servers, on loopback: what `serve.py` and `memory.py` are made of.

`processes` starts and weighs process trees, `connections` speaks HTTP/1.1 and WebSocket with as little work
as a client can, `clients` speaks each contestant's protocol, `drive` keeps clients stepping and counts,
`contestants` starts the servers, `report` judges the numbers.
"""
