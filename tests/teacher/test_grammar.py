"""The grammar generates exactly the paper's 1,639,015 sentences, and parses each back to its meaning."""

import pytest

from groundling.errors import InputError
from groundling.teacher.grammar import Grammar
from groundling.teacher.language import Language
from groundling.teacher.language_file import Source
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.sentence_types import expand
from groundling.teacher.teacher import Teacher

PAPER = Language.paper()
TABLE = {
    "nav_obj": (31, 119),
    "nav_col_obj": (31, 221),
    "nav_nr_obj": (31, 8 * 4 * 119),
    "nav_bw_obj": (31, 119 * 119),
    "rec_col2obj": (35, 8),
    "rec_obj2col": (14, 119),
    "rec_loc2obj": (35, 8),
    "rec_obj2loc": (13, 119),
    "rec_loc2col": (14, 8),
    "rec_col2loc": (13, 8),
    "rec_loc_obj2obj": (35, 8 * 4 * 119),
    "rec_loc_obj2col": (14, 8 * 4 * 119),
    "rec_col_obj2loc": (13, 221),
    "rec_bw_obj2obj": (35, 119 * 119),
    "rec_bw_obj2loc": (13, 119 * 119),
    "rec_bw_obj2col": (14, 119 * 119),
}


def test_number_of_templates_and_fillings(grammar: Grammar) -> None:
    count = grammar.count()
    assert count == TABLE
    assert sum(t * p for name, (t, p) in count.items() if name in PAPER.commands) == 567_579
    assert sum(t * p for name, (t, p) in count.items() if name in PAPER.questions) == 1_071_436


def test_arrangement_of_objects_that_sentences_with_between_need() -> None:
    """A command needs an empty cell between two objects, a question a third object there."""
    needed = {type_.name: type_.in_line for type_ in PAPER.types if type_.in_line}
    assert needed == {"nav_bw_obj": 2, "rec_bw_obj2obj": 3, "rec_bw_obj2loc": 3, "rec_bw_obj2col": 3}


def test_each_occurrence_of_a_list_of_words_is_expanded_by_itself() -> None:
    choices = {"verb": ["see", "touch"], "noun": ["thing"]}
    expanded = [*expand("{verb} the {noun} or {verb} {obj}", choices, "type", Source("file", ""))]
    verbs = [("see", "see"), ("see", "touch"), ("touch", "see"), ("touch", "touch")]
    assert expanded == [f"{first} the thing or {second} {{obj}}" for first, second in verbs]


@pytest.mark.slow
def test_every_sentence_of_the_language_is_distinct_and_parses_back(grammar: Grammar) -> None:
    """Every sentence has 2 to 13 words, too."""
    seen = set()
    lengths = set()
    for name in PAPER.type_names:
        for meaning in grammar.meanings(name):
            tokens = grammar.tokens(meaning)
            seen.add(bytes(tokens))
            lengths.add(len(tokens))
            assert grammar.parse(tokens) == meaning
    assert len(seen) == 1_639_015
    assert lengths == set(range(2, 14))


def test_lexicon_has_the_papers_words() -> None:
    lexicon = Lexicon()
    sizes = {name: len(words) for name, words in PAPER.word_classes.items()}
    assert (len(lexicon), sizes["object"], sizes["grammatical"]) == (185, 119, 50)
    # 119 objects, 8 directions, 8 colors and `nothing` are 136; `orange` is two of them and one word
    assert len(lexicon.answers) == 135
    assert lexicon.pad == 185
    assert lexicon.encode("Go to the apple.") == lexicon.encode("go TO the apple .")
    assert lexicon.decode([*lexicon.encode("go to the apple."), lexicon.pad]) == "Go to the apple."


def test_new_object_words_follow_the_papers_words() -> None:
    lexicon = Lexicon(new_objects=["unicorn"])
    assert lexicon.words[:185] == Lexicon().words
    assert lexicon.token["unicorn"] == 185
    assert lexicon.pad == 186
    for word in ("apple", "the", "sea horse", "Unicorn"):
        with pytest.raises(InputError, match=word):
            Lexicon(new_objects=[word])


@pytest.mark.parametrize(
    ("sentence", "type_", "slots"),
    [
        ("Could you please move to the red apple?", "nav_col_obj", {"col": "red", "obj": "apple"}),
        ("What is in the northwest?", "rec_loc2obj", {"loc": "northwest"}),
        ("what is in the northwest", "rec_loc2obj", {"loc": "northwest"}),
        ("Navigate to the grid between apple and banana please.", "nav_bw_obj", {"obj": "apple", "obj2": "banana"}),
        ("The north of the apple is your destination.", "nav_nr_obj", {"loc": "north", "prep": "of", "obj": "apple"}),
        ("Where is the orange object located?", "rec_col2loc", {"col": "orange"}),
        ("Where is the orange located?", "rec_obj2loc", {"obj": "orange"}),
        ("Go to the orange orange.", "nav_col_obj", {"col": "orange", "obj": "orange"}),
        ("orange .", "nav_obj", {"obj": "orange"}),
    ],
)
def test_parse(grammar: Grammar, sentence: str, type_: str, slots: dict[str, str]) -> None:
    meaning = grammar.parse(grammar.lexicon.encode(sentence))
    assert (meaning.type, meaning.slots) == (type_, slots)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("go to the aple", "unknown word 'aple', did you mean 'apple'"),
        ("go to the the", "after 'Go to the' expected .*a color.*an object.*, got 'the'"),
        ("go to the", "after 'Go to the' expected .*, got the end"),
        ("the of", "after 'The' expected .*, got 'of'"),
        ("you", "at the start expected .*, got 'you'"),
        ("", "at the start expected .*, got the end"),
        ("go to the blue giraffe.", "no icon of the object has that color"),
    ],
)
def test_parse_errors(grammar: Grammar, sentence: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        grammar.parse(grammar.lexicon.encode(sentence))


def test_templates_are_sorted_by_length(grammar: Grammar) -> None:
    templates_up_to = Teacher().rules.templates_up_to
    for k, name in enumerate(PAPER.type_names):
        lengths = [len(template) for template in grammar.templates[name]]
        assert lengths == sorted(lengths)
        assert templates_up_to[k, -1] == len(lengths)
        assert templates_up_to[k, lengths[0] - 1] == 0
        assert templates_up_to[k, lengths[0]] == lengths.count(lengths[0])


def test_words_and_fillings_of_a_direction(grammar: Grammar) -> None:
    words = grammar.words(grammar.meaning("nav_nr_obj", 0, {"loc": "east", "prep": "of", "obj": "apple"}))
    assert words == ["east", "of", "apple", "."]
    assert {slots["loc"] for slots in grammar.fillings("rec_loc2col")} == set(PAPER.word_classes["direction"])
