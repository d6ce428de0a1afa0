"""The part of the sandbox that runs in processes of its own; see `launcher`.

Nothing here imports the rest of the package: the launcher loads this folder alone, into an interpreter
without site packages.
"""
