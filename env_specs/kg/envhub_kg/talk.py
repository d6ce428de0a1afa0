"""The two ways of talking to the tools: what an action does, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envhub_kg import actions
from envhub_kg.actions import Attempt, Call
from envhub_kg.tools import PARAMETERS, Toolbox, ToolError, TypesDiffer

BAD_VARIABLE = "Invalid variable id! Need to recheck the action."
NO_ACTION = "No executable function found! Need to recheck the action."
NO_CALL = "No valid function calls found! Need to recheck the function calls."
NOTHING_RUN = "Function is not executed!"


@dataclass
class Reply:
    """What an action led to.

    Attributes:
        text: The observation.
        done: The tools that were used, in order.
        answer: Number of the variable that is the answer; None: there is no answer yet.
        invalid: The answer is a variable that does not exist.
        results: For function calls: of each its id and what is answered to it.
    """

    text: str = ""
    done: list[str] = field(default_factory=list)
    answer: int | None = None
    invalid: bool = False
    results: list[dict[str, str]] = field(default_factory=list)


class Classic:
    """Text with a line `Action: tool(arguments)`, one tool a turn.

    Args:
        tools: The tools.
        mentions: The question's words for its entities.
        faithful: Say no more than AgentBench does.
    """

    def __init__(self, tools: Toolbox, mentions: Mapping[str, str], faithful: bool) -> None:
        self._tools = tools
        self._mentions = mentions
        self._faithful = faithful
        self._last: list[str] | None = (
            None  # the arguments that were read last; they turn up in published errors
        )

    def take(self, action: str) -> Reply:
        """Do what the text says.

        Raises:
            StoreError: The store could not answer.
        """
        text = actions.cut(action)
        answer = actions.final_answer(text)
        if answer is not None:
            return _answered(self._tools, answer)
        attempts = actions.read_classic(text, self._mentions, self._faithful)
        if attempts is None:
            return Reply(NO_ACTION)
        reply = Reply(NOTHING_RUN)
        for attempt in attempts:
            try:
                observation = self._run(attempt)
            except ToolError as error:
                reply.text = self._failed(attempt, error)
            else:
                return Reply(observation, [attempt.name])
        return reply

    def get_state(self) -> list[str] | None:
        """Return what later answers hang on."""
        return self._last

    def set_state(self, state: list[str] | None) -> None:
        """Go on from there."""
        self._last = state

    def _run(self, attempt: Attempt) -> str:
        if attempt.name not in PARAMETERS:
            raise ToolError(f"there is no function {attempt.name}: there are {', '.join(PARAMETERS)}")
        if attempt.arguments is None:
            raise ToolError(f"write it as {attempt.name}({', '.join(PARAMETERS[attempt.name])})")
        self._last = attempt.arguments
        read = map(_published, attempt.arguments) if self._faithful else attempt.arguments
        return self._tools.call(attempt.name, list(read))

    def _failed(self, attempt: Attempt, error: ToolError) -> str:
        name = attempt.name
        readable = name in PARAMETERS and attempt.arguments is not None
        shown = self._last if self._faithful or readable else None
        if shown is None:
            message = (
                f"I may make a syntax error when calling {name} (e.g., unmatched parenthesis). "
                "I need to fix it and reuse the tool"
            )
        elif name == "intersection" and (self._faithful or isinstance(error, TypesDiffer)):
            message = (
                f"{name}({', '.join(shown)}) cannot be executed. The two variables are not of the same type. "
                "You may further explore them by call get_relations"
            )
        else:
            message = (
                f"{name}({', '.join(shown)}) cannot be executed. You may make a mistake and need to fix it."
            )
        return message if self._faithful else f"{message} ({error})"


class Calls:
    """Chat messages with function calls; all of a message are done, in order.

    Args:
        tools: The tools.
        faithful: Say no more than AgentBench does.
    """

    def __init__(self, tools: Toolbox, faithful: bool) -> None:
        self._tools = tools
        self._faithful = faithful

    def take(self, action: str) -> Reply:
        """Do what the message says.

        Raises:
            StoreError: The store could not answer.
        """
        content, calls = actions.read_calls(action)
        if not calls:
            answer = actions.final_answer(actions.cut(content))
            return Reply(NO_CALL) if answer is None else _answered(self._tools, answer)
        reply = Reply()
        for position, call in enumerate(calls):
            try:
                if position > actions.MAX_CALLS and not call.id:
                    continue
                if position >= actions.MAX_CALLS:
                    raise ToolError(f"no more than {actions.MAX_CALLS} calls of a message are done")
                said = self._run(call, reply)
            except ToolError as error:
                said = f"Error processing tool call: {error.published if self._faithful else error}"
            reply.results.append({"tool_call_id": call.id, "content": said})
        reply.text = "\n".join(result["content"] for result in reply.results)
        return reply

    def get_state(self) -> None:
        """Return what later answers hang on: nothing."""

    def set_state(self, state: None) -> None:
        """Go on from there."""

    def _run(self, call: Call, reply: Reply) -> str:
        if call.problem:
            raise ToolError(call.problem)
        if call.name not in PARAMETERS:
            return f"Provide an invalid function name. Function {call.name} does not exist"
        given: Mapping[str, Any] = call.arguments or {}
        values = [given.get(parameter) for parameter in PARAMETERS[call.name]]
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) < len(values):
            return (
                f"Arguments do not match the function signature. Error processing arguments for {call.name}"
            )
        observation = self._tools.call(call.name, texts)
        reply.done.append(call.name)
        return observation


def _answered(tools: Toolbox, number: int) -> Reply:
    if tools.variable(number) is None:
        return Reply(BAD_VARIABLE, invalid=True)
    return Reply(answer=number)


def _published(argument: str) -> str:
    """Leave the word variable out of an argument, wherever it stands."""
    return argument.replace("variable ", "").replace("Variable ", "")
