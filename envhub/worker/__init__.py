"""What runs inside an environment's own interpreter: standard library only, Python 3.9 or newer.

The hub starts `python <this folder>/__main__.py`, which loads this package under the name
`envhub_worker`, so that nothing else of the hub is importable beside the environment. One *template*
process a spec loads the environment and what its replicas share, then forks *workers*, each hosting
some replicas. The hub's side of the same conversation is `envhub.pool`; both speak `frames`.
"""
