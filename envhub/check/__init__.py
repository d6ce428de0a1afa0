"""A conformance suite: does an environment keep the rules that the hub relies on?

`run_checks` plays a spec in real worker processes and yields a `Result` for each of `CHECKS`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable

from envhub.check._checks import CHECKS as _CHECKS
from envhub.check._lab import Lab
from envhub.check._player import Refused
from envhub.check._result import Fault, NotTried, Outcome, Result
from envhub.spec import ServedSpec

__all__ = ["CHECKS", "Outcome", "Result", "run_checks"]

CHECKS: tuple[str, ...] = ("loads", *_CHECKS)
"""The names of the checks, in the order in which they run."""


async def run_checks(served: ServedSpec) -> AsyncIterator[Result]:
    """Run every check on a spec, in order, each in workers that no other check has touched.

    A check that needs another one to have passed is skipped where that one did not.
    """
    lab = Lab(served)
    try:
        result = await _judge("loads", _load(lab), served)
        yield result
        outcomes: dict[str, Outcome] = {"loads": result.outcome}
        for name, (check, needs) in _CHECKS.items():
            missing = [need for need in needs if outcomes[need] != "PASS"]
            if missing:
                result = Result(name, "SKIP", f"means nothing before {missing[0]!r} passes")
            else:
                result = await _judge(name, check(lab), served)
            outcomes[name] = result.outcome
            yield result
    finally:
        await lab.stop()


async def _load(lab: Lab) -> str:
    await lab.start()
    return f"built in Python {lab.description['python']}; isolation: {lab.served.runtime}"


async def _judge(name: str, check: Awaitable[str], served: ServedSpec) -> Result:
    try:
        return Result(name, "PASS", await check)
    except Fault as fault:
        where = _where(fault.traceback, served)
        next_step = f"{fault.next_step}; look at {where}" if where else fault.next_step
        return Result(name, "FAIL", str(fault), next_step, fault.traceback)
    except NotTried as reason:
        return Result(name, "SKIP", str(reason), reason.next_step)
    except Refused as refused:
        where = _where(refused.traceback, served)
        next_step = f"look at {where}" if where else "make the environment answer"
        return Result(name, "FAIL", f"{refused.code}: {refused}", next_step, refused.traceback)


def _where(trace: str, served: ServedSpec) -> str:
    """Return the innermost line of a traceback that lies in the spec's folder, else the innermost one."""
    lines = [line.strip().removeprefix("File ") for line in trace.splitlines() if line.startswith('  File "')]
    own = [line for line in lines if line.startswith(f'"{served.spec.path}/')]
    return next(reversed(own or lines), "")
