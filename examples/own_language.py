"""The same world in another language: a vocabulary of your own, and invented words.

    python examples/own_language.py
    groundling train smoke --language examples/own_language.toml

Several languages live in one process: one env speaks German words, another one invented words.
"""

import random
from pathlib import Path

import gymnasium as gym

import groundling  # noqa: F401 - registers the environments
from groundling.teacher.language import Language

GERMAN = Language.load(Path(__file__).with_suffix(".toml"))


def invented(seed: int) -> Language:
    """The paper's grammar with an invented word for each object."""
    rng = random.Random(seed)
    paper = Language.paper()
    words: dict[str, str] = {}
    for name in paper.word_classes["object"]:
        if name not in paper.word_classes["color"]:  # orange is a color, too
            word = name
            while word in paper.words or word in words.values():
                word = "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(3))
            words[name] = word
    return paper.translated(words)


def main() -> None:
    for language in (Language.paper(), GERMAN, invented(0)):
        env = gym.make("groundling/NavQA-v0", language=language)
        _, info = env.reset(seed=3)
        print(f"{info['command']:<50} {info['question']} {info['answer'].capitalize()}.")


if __name__ == "__main__":
    main()
