"""Sentence types of your own: "Go to the red object." and "What is in the north of the object in the east of the fox?"

    python examples/own_sentences.py                 # shows episodes with the new sentences
    groundling train fast --language examples/own_sentences.toml --size 5 --num-classes 20
    groundling evaluate runs/fast-normal-0

The language is a file: a sentence type says what is referred to, what is asked, and how it is worded.
"""

from pathlib import Path

import gymnasium as gym

import groundling  # noqa: F401 - registers the environments

LANGUAGE = Path(__file__).with_suffix(".toml")


def main() -> None:
    for name in ("nav_col", "rec_loc_loc_obj2obj"):
        env = gym.make(
            "groundling/NavQA-v0",
            language=LANGUAGE,
            types=(name,),
            type_balanced_fraction=1.0,  # every episode is sampled for this type
            render_mode="ansi",
        )
        _, info = env.reset(seed=0)
        print(env.render())
        print(f"The answer is {info['answer']!r}.\n")


if __name__ == "__main__":
    main()
