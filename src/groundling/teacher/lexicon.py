"""The teacher's words (the paper's table of the lexicon), numbered once: word `k` is token `k` and answer `k`."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from groundling.errors import InputError, nearest
from groundling.world.catalog import COLOR_NAMES

OBJECTS = tuple(
    """apple armadillo artichoke avocado banana bat bathtub beans bear bed bee beet beetle bird blueberry bookshelf
    broccoli bull butterfly cabbage cactus camel carpet carrot cat centipede chair cherry circle clock coconut corn cow
    crab crocodile cucumber deer desk dinosaur dog donkey dragon dragonfly duck eggplant elephant fan fig fireplace
    fish fox frog garlic giraffe glove goat grape greenonion greenpepper hedgehog horse kangaroo knife koala ladybug
    lemon light lion lizard microwave mirror monitor monkey monster mushroom octopus onion orange ostrich owl panda
    peacock penguin pepper pig pineapple plunger potato pumpkin rabbit racoon rat rhinoceros rooster seahorse seashell
    seaurchin shrimp snail snake sofa spider square squirrel stairs star strawberry tiger toilet tomato triangle turtle
    vacuum wardrobe washingmachine watermelon whale wheat zebra""".split()
)
DIRECTIONS = ("east", "north", "northeast", "northwest", "south", "southeast", "southwest", "west")
RELATIONS = ("between", *DIRECTIONS)
COLORS = COLOR_NAMES
PREPOSITIONS = ("to", "of", "near", "by")
NOTHING = "nothing"
GRAMMATICAL = tuple(
    """? . and block by can color could destination direction does find go goal grid have identify in is locate located
    location me move name navigate near nothing object of on one please property reach say side target tell the thing
    three to two what where which will you your""".split()
)


class Lexicon:
    """The words and their numbers. Words of a user's own object classes are numbered after the paper's 185."""

    def __init__(self, new_objects: Iterable[str] = ()) -> None:
        new = tuple(new_objects)
        self.objects = OBJECTS + new
        base = dict.fromkeys((*OBJECTS, *RELATIONS, *COLORS, *GRAMMATICAL))  # `orange` is an object and a colour
        for word in new:
            if word in base or not word.isalpha() or not word.islower():
                raise InputError(f"object class {word!r}: a new class needs a new word of lower-case letters")
        self.words = (*base, *new)
        self.number = {word: k for k, word in enumerate(self.words)}
        self.pad = len(self.words)
        """Fills the rest of a token array, one past the last word."""

    def __len__(self) -> int:
        return len(self.words)

    def numbers(self, words: Iterable[str]) -> NDArray[np.int16]:
        return np.array([self.number[word] for word in words], np.int16)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The words that can answer a question: content words and `nothing`, but not `between`."""
        return tuple(dict.fromkeys((*self.objects, *DIRECTIONS, *COLORS, NOTHING)))

    def tokens(self, text: str) -> list[int]:
        """The numbers of a written sentence's words; case and the space before `.` and `?` do not matter."""
        words = text.lower().replace(".", " . ").replace("?", " ? ").split()
        for word in words:
            if word not in self.number:
                raise InputError(f"unknown word {word!r}{nearest(word, self.words)}")
        return [self.number[word] for word in words]

    def text(self, tokens: Iterable[int]) -> str:
        """A sentence as people write it, from its tokens (padding is passed over)."""
        words = [self.words[k] for k in tokens if k != self.pad]
        if not words:
            return ""
        end = words.pop() if words[-1] in ".?" else ""
        return " ".join(words).capitalize() + end
