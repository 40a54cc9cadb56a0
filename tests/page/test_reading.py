"""Sentences as people type them."""

import pytest

from groundling.page.no_outcome import ALREADY_THERE, NO_PATH, OTHER
from groundling.page.reading import SYNONYM, TYPO, Suggestion, edit_distance, normalize, split_commands, suggest
from groundling.teacher.lexicon import Lexicon
from tests.page.conftest import SCENE, SocketClient

WORDS = Lexicon().words


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("Go to the banana!", "go to the banana ."),
        ("Go to the banana, please.", "go to the banana please ."),
        ("What's in the west?", "what is in the west ?"),
        ("Where’s the “cat”??", "where is the cat ?"),
        ("go to the (apple", "go to the apple"),
        ("GO   to — the cat...", "go to the cat ."),
        ("What color does the cat have ?!", "what color does the cat have ?"),
    ],
)
def test_punctuation_case_and_contractions(typed: str, read: str) -> None:
    assert normalize(typed) == read


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("go to the fox then the cow", ["go to the fox", "go to the cow"]),
        ("Go to the fox, and then reach the cow.", ["Go to the fox", "reach the cow"]),
        ("go to the fox; go to the cow", ["go to the fox", "go to the cow"]),
        ("go to the fox", ["go to the fox"]),
        ("then", ["then"]),
    ],
)
def test_then_splits_commands(sentence: str, parts: list[str]) -> None:
    assert split_commands(sentence, WORDS) == parts
    assert split_commands(sentence, (*WORDS, "then")) == [sentence]


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        ("aple", Suggestion("apple", TYPO)),
        ("bannana", Suggestion("banana", TYPO)),
        ("girafe", Suggestion("giraffe", TYPO)),
        ("teh", Suggestion("the", TYPO)),
        ("apples", Suggestion("apple", TYPO)),
        ("mouse", Suggestion("rat", SYNONYM)),
        ("walk", Suggestion("go", SYNONYM)),
        ("grey", Suggestion("gray", SYNONYM)),
        *((word, None) for word in ("hello", "many", "then", "stop", "zoo", "internet", "")),
    ],
)
def test_only_typing_errors_and_synonyms_are_suggested(word: str, suggestion: Suggestion | None) -> None:
    assert suggest(word, WORDS) == suggestion


def test_edit_distance() -> None:
    assert edit_distance("cat", "cat") == 0
    assert edit_distance("teh", "the") == 1  # swapped letters
    assert edit_distance("aple", "apple") == 1
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == 3


def test_sentence_of_punctuation_is_refused(client: SocketClient) -> None:
    reply = client.request("check_sentence", agent=0, scene=SCENE, sentence="...!")
    assert reply["error"] == "sentence must have at least one word, got only punctuation"


@pytest.mark.parametrize(
    ("sentence", "change", "why"),
    [
        ("go to the tiger", {}, "There is no tiger in this world."),
        ("where is the zebra?", {}, "There is no zebra in this world."),
        ("what is purple?", {}, "Nothing in this world is purple."),
        ("go to the apple", {"walls": [[0, 1], [1, 0], [1, 2], [2, 1]]}, NO_PATH),
        ("go to the giraffe", {"agent": [3, 2]}, ALREADY_THERE),
        ("what is the color of the giraffe?", {}, ""),
        ("go to the south of the cat", {}, OTHER),
    ],
)
def test_missing_outcome_is_explained(client: SocketClient, sentence: str, change: dict[str, object], why: str) -> None:
    check = client.request("check_sentence", agent=0, scene={**SCENE, **change}, sentence=sentence)
    assert check["no_outcome"] == why


def test_several_objects_are_counted(client: SocketClient) -> None:
    objects = [*SCENE["objects"], {"name": "cat", "at": [0, 0]}, {"name": "apple", "color": "red", "at": [5, 5]}]
    scene = {**SCENE, "objects": objects}
    for sentence, why in (
        ("go to the cat", "There are 2 objects called “cat”: any of them would do."),
        ("what is red?", "2 objects are red: any of them would do."),
    ):
        check = client.request("check_sentence", agent=0, scene=scene, sentence=sentence)
        assert check["no_outcome"] == why
