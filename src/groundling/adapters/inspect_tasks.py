"""Frozen suites as Inspect AI tasks: any model that Inspect knows plays them.

inspect eval groundling/adapters/inspect_tasks.py -T suite=zs1 -T size=small --model openai/...
eval(groundling_suite("invented"), model="...")
"""

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Target, accuracy, grouped, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from groundling.suites.suite import VERSION, Suite
from groundling.text import Message


@task  # type: ignore[untyped-decorator, unused-ignore]
def groundling_suite(suite: str = "normal", size: str = "small", view: str = "sentences") -> Task:
    """A frozen suite: normal, zs1, zs2, paraphrase or invented; `view` is sentences, grid, picture or both."""
    chosen = Suite.load(suite, size)
    chosen.check()
    samples = [
        Sample(
            input=[_message(chosen.begin(i, view).messages[0])],
            id=f"{suite}-{i}",
            metadata={"episode": i, "type": episode.type, "task": episode.task},
        )
        for i, episode in enumerate(chosen)
    ]
    metadata = {"suite": suite, "size": size, "view": view, "hash": chosen.hash}
    return Task(
        name=f"groundling_{suite}", dataset=samples, solver=play(chosen, view), scorer=success(), version=VERSION,
        metadata=metadata,
    )  # fmt: skip


@solver  # type: ignore[untyped-decorator, unused-ignore]
def play(suite: Suite, view: str) -> Any:
    """Let the model reply until the episode is over."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        game = suite.begin(state.metadata["episode"], view)
        while not game.done:
            state = await generate(state)
            game.reply(state.output.completion)
            state.messages.append(_message(game.messages[-1]))
        for name in ("success", "replies", "invalid"):
            state.store.set(name, getattr(game, name))
        return state

    return solve


@scorer(metrics=[accuracy(), stderr(), grouped(accuracy(), "task")])  # type: ignore[untyped-decorator, unused-ignore]
def success() -> Any:
    """Whether the target was reached, or the question answered right."""

    async def score(state: TaskState, target: Target) -> Score:
        counts = {name: state.store.get(name) for name in ("replies", "invalid")}
        value = CORRECT if state.store.get("success") else INCORRECT
        return Score(value=value, answer=state.output.completion, metadata=counts)

    return score


def _message(message: Message) -> ChatMessageUser:
    content = message["content"]
    if isinstance(content, str):
        return ChatMessageUser(content=content)
    parts = [
        ContentText(text=part["text"]) if part["type"] == "text" else ContentImage(image=part["image_url"]["url"])
        for part in content
    ]
    return ChatMessageUser(content=parts)
