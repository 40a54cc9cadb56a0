"""A split of your own: half of the colors never occur in a command, only in questions and answers.

    python examples/own_split.py
    cd examples && groundling train fast --split own_split:ColorsOfCommands --size 5 --num-classes 20
    groundling evaluate runs/fast-own_split:ColorsOfCommands-50-0 --allow-import    # commands with the other colors

A split is a predicate over meanings. Training gets the sentences for which it is false, the test those for which it is
true; evaluation and leak check use the same predicate.
"""

import gymnasium as gym

import groundling  # noqa: F401 - registers the environments
from groundling.teacher.splits import Split
from groundling.teacher.types import Meaning

HELD_OUT = ("blue", "gray", "orange", "red")


class ColorsOfCommands(Split):
    """Holds out four colors of commands."""

    def holds_out(self, meaning: Meaning) -> bool:
        return meaning.type.startswith("nav_") and meaning.slots.get("col") in HELD_OUT


def main() -> None:
    for phase in ("train", "test"):
        env = gym.make(
            "groundling/Nav-v0",
            split=ColorsOfCommands(),
            phase=phase,
            types=("nav_col_obj",),
            type_balanced_fraction=1.0,
        )
        print(phase, [env.reset(seed=k)[1]["command"] for k in range(4)])


if __name__ == "__main__":
    main()
