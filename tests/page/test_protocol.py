"""The requests of the websocket protocol, and the errors for invalid messages."""

import base64
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from groundling.agent import build
from groundling.errors import InputError
from groundling.learn.trained_agent import load_agent
from groundling.page.app_state import ServedAgent
from tests.page.conftest import (
    SCENE,
    SocketClient,
    png,
    server_of,
    socket_client,
)


def walk(client: SocketClient, scene: dict[str, Any], sentence: str) -> tuple[dict[str, Any], list[list[int]]]:
    """The last step of a walk and the positions of all steps."""
    at, path = scene["agent"], [scene["agent"]]
    for _ in range(client.hello["max_steps"]):
        fields = {"agent": 0, "scene": {**scene, "agent": at}, "sentence": sentence, "start": path[0]}
        step = client.request("step", **fields)
        at = step["move"]["to"]
        path.append(at)
        if step["move"]["terminated"]:
            break
    return step, path


def test_hello_describes_world_icons_and_agents(client: SocketClient) -> None:
    hello = client.hello
    assert hello["size"] == 7
    assert hello["max_steps"] == 28
    assert hello["cells"] == {"floor": 1, "wall": 2, "agent": 3}
    assert len(hello["classes"]) == 119
    assert sum(len(entry["colors"]) for entry in hello["classes"]) == 357
    assert [agent["name"] for agent in hello["agents"]] == ["normal"]
    assert len(hello["agents"][0]["lexicon"]) == 185


def test_new_world_is_determined_by_its_seed(client: SocketClient) -> None:
    world = client.request("new_world", seed=3)
    assert world == client.request("new_world", seed=3)
    assert world["scene"] == client.request("load", scene=world["scene"])["scene"]
    check = client.request("check_sentence", agent=0, scene=world["scene"], sentence=world["command"])
    assert check["kind"] == "command"
    assert check["target"] is not None
    check = client.request("check_sentence", agent=0, scene=world["scene"], sentence=world["question"])
    assert check["kind"] == "question"
    assert check["answer"] is not None


def test_steps_of_a_command_reach_the_target(client: SocketClient) -> None:
    step, path = walk(client, SCENE, "go to the apple")
    assert path[-1] == step["sentence_check"]["target"] == [1, 1]
    explanation = step["explanation"]
    words = len(step["sentence_check"]["words"])
    assert [len(weights) for weights in explanation["word_attention"]] == [words] * 3
    assert len(explanation["gates"]) == len(explanation["x_loc_steps"]) == 3
    assert all(len(explanation[name]) == 49 for name in ("x_loc", "x_terr", "value_map"))
    assert sum(explanation["action_probabilities"].values()) == pytest.approx(1, abs=0.01)


def test_cached_sentence_check_depends_on_scene_start_and_sentence(client: SocketClient) -> None:
    moved = {**SCENE, "objects": [{**SCENE["objects"][0], "at": [0, 5]}, *SCENE["objects"][1:]]}
    other_start = {**SCENE, "agent": [5, 5]}
    apple, cat = "go to the apple", "go to the cat"
    for scene, sentence in ((SCENE, apple), (moved, apple), (other_start, apple), (SCENE, apple), (SCENE, cat)):
        fields = {"agent": 0, "scene": scene, "sentence": sentence}
        step, check = client.request("step", **fields), client.request("check_sentence", **fields)
        assert {"id": 1, **step["sentence_check"]} == check


def test_step_answers_a_question(client: SocketClient) -> None:
    step = client.request("step", agent=0, scene=SCENE, sentence="What is in the west?")
    assert step["sentence_check"]["answer"] == "giraffe"
    assert step["explanation"]["answers"][0]["word"] == "giraffe"
    assert len(step["explanation"]["answers"]) == 5
    assert step["move"] is None


def test_step_runs_a_free_form_sentence(client: SocketClient) -> None:
    step = client.request("step", agent=0, scene=SCENE, sentence="apple apple please go")
    assert step["sentence_check"]["kind"] == "free_form"
    assert step["sentence_check"]["parse_error"]
    assert step["move"]["action"] in ("left", "right", "up", "down")


def test_unknown_word_gets_a_suggestion(client: SocketClient) -> None:
    check = client.request("check_sentence", agent=0, scene=SCENE, sentence="go to the aple")
    suggested = {"suggestion": "apple", "why": "typo", "repaired": "go to the apple"}
    assert check["words"][3] == {"text": "aple", "state": "unknown", **suggested}
    reply = client.request("step", agent=0, scene=SCENE, sentence="go to the aple")
    assert reply["error"] == "words must be known to the agent, got 'aple'; did you mean 'apple'?"


def test_sentence_that_is_not_valid_in_the_scene_has_no_target(client: SocketClient) -> None:
    check = client.request("check_sentence", agent=0, scene=SCENE, sentence="go to the zebra")
    assert check["kind"] == "command"
    assert check["target"] is None


def test_detect_and_describe_cell(client: SocketClient) -> None:
    detection = client.request("detect", agent=0, scene=SCENE, word="apple")["map"]
    assert max(range(49), key=detection.__getitem__) == 8
    words = client.request("describe_cell", agent=0, scene=SCENE, at=[1, 1])["words"]
    assert {entry["word"] for entry in words[:2]} == {"apple", "red"}
    empty = client.request("describe_cell", agent=0, scene=SCENE, at=[5, 5])["words"]
    assert empty[0]["word"] == "nothing"
    reply = client.request("detect", agent=0, scene=SCENE, word="aple")
    assert reply["error"] == "word must be in the agent's lexicon, got 'aple'"


@pytest.mark.parametrize("kind", ["command", "question"])
def test_suggested_sentences_are_valid(client: SocketClient, kind: str) -> None:
    for seed in range(10):
        sentence = client.request("suggest_sentence", agent=0, kind=kind, seed=seed, scene=SCENE)["sentence"]
        check = client.request("check_sentence", agent=0, scene=SCENE, sentence=sentence)
        assert check["kind"] == kind
        assert check["target" if kind == "command" else "answer"] is not None


def test_empty_world_has_questions_but_no_command(client: SocketClient) -> None:
    fields: dict[str, Any] = {"agent": 0, "seed": 0, "scene": {"objects": [], "walls": [], "agent": [0, 0]}}
    reply = client.request("suggest_sentence", kind="command", **fields)
    assert "the teacher has no command for this world" in reply["error"]
    question = client.request("suggest_sentence", kind="question", **fields)["sentence"]
    check = client.request("check_sentence", agent=0, scene=fields["scene"], sentence=question)
    assert check["answer"] == "nothing"


def test_teach_a_drawing(client: SocketClient) -> None:
    """A drawing's name is unseen, then taught with three examples, then used, and then reset."""
    icon = client.request("convert_drawing", name="gizmo", png=png())["png"]
    sentence = "Go to the gizmo."

    def scene_with_gizmo(at: list[int]) -> dict[str, Any]:
        objects = [SCENE["objects"][0], {"name": "gizmo", "at": at}]
        return {**SCENE, "drawings": {"gizmo": icon}, "objects": objects}

    far = {**scene_with_gizmo([5, 5]), "walls": []}
    check = client.request("check_sentence", agent=0, scene=far, sentence=sentence)
    assert check["words"][3]["state"] == "unseen"
    error = "words must be known to the agent, got 'gizmo', which was not seen in training; teach it first"
    assert client.request("step", agent=0, scene=far, sentence=sentence)["error"] == error
    cells = {"north": [2, 3], "east": [3, 4], "south": [4, 3]}
    examples = [
        {"scene": scene_with_gizmo(at), "sentence": f"What is in the {direction}?"} for direction, at in cells.items()
    ]
    reply = client.request("teach", agent=0, taught_words=[{"word": "gizmo", "examples": examples}])
    assert reply["taught_words"] == ["gizmo"]
    assert reply["lexicon"][-1] == "gizmo"
    step = client.request("step", agent=0, scene=scene_with_gizmo([3, 2]), sentence="What is in the west?")
    assert step["explanation"]["answers"][0]["word"] == step["sentence_check"]["answer"] == "gizmo"
    step, path = walk(client, far, sentence)
    assert path[-1] == step["sentence_check"]["target"] == [5, 5]
    client.request("teach", agent=0, taught_words=[])
    assert client.request("step", agent=0, scene=far, sentence=sentence)["error"] == error


def random_example(client: SocketClient, word: str, seed: int) -> dict[str, Any]:
    """An example as the page makes it: in a random world, the object is beside the agent."""
    scene = client.request("new_world", seed=seed)["scene"]
    novel = client.hello["agents"][0]["novel_words"]
    row, column = scene["agent"]
    direction, at = ("north", [row - 1, column]) if row else ("south", [row + 1, column])
    others = [entry for entry in scene["objects"] if entry["name"] not in novel and entry["at"] != at]
    walls = [wall for wall in scene["walls"] if wall != at]
    return {
        "scene": {**scene, "walls": walls, "objects": [*others, {"name": word, "at": at}]},
        "sentence": f"What is in the {direction}?",
    }


def test_teach_a_novel_word() -> None:
    agent = ServedAgent("novel-12", load_agent("novel-12"))
    word = sorted(agent.novel_words)[0]
    with socket_client([agent]) as client:
        assert word in client.hello["agents"][0]["novel_words"]
        examples = [random_example(client, word, seed) for seed in range(6)]
        far = {
            "objects": [{"name": word, "at": [0, 6]}, {"name": "apple", "at": [6, 1]}],
            "walls": [],
            "agent": [3, 3],
        }
        sentence = f"Go to the {word}."
        check = client.request("check_sentence", agent=0, scene=far, sentence=sentence)
        assert check["words"][3]["state"] == "unseen"
        client.request("teach", agent=0, taught_words=[{"word": word, "examples": examples}])
        step, path = walk(client, far, sentence)
        assert path[-1] == step["sentence_check"]["target"] == [0, 6]


def test_export_of_a_walk(client: SocketClient) -> None:
    _, path = walk(client, SCENE, "go to the apple")
    fields = {"agent": 0, "scene": SCENE, "sentence": "go to the apple", "path": path}
    gif = client.request("export", format="gif", **fields)
    with Image.open(io.BytesIO(base64.b64decode(gif["base64"]))) as image:
        assert getattr(image, "n_frames", 1) == len(path)
    html = base64.b64decode(client.request("export", format="html", **fields)["base64"]).decode()
    assert "default-src 'none'" in html
    assert "import " not in html.split('<script type="module">')[1]
    data = json.loads(html.split('id="walk">')[1].split("</script>")[0])
    assert [frame["at"] for frame in data["frames"]] == path
    assert data["frames"][-1]["end"] == "terminated"


def test_two_agents_are_served(served: ServedAgent) -> None:
    with socket_client([served, ServedAgent("copy", served.trained)]) as client:
        assert [agent["name"] for agent in client.hello["agents"]] == ["normal", "copy"]
        first, second, error = (
            client.request("step", agent=k, scene=SCENE, sentence="go to the cat") for k in range(3)
        )
        assert first == second
        assert error["error"] == "agent must be an integer from 0 to 1, got 2"


@pytest.mark.parametrize(("method", "has_maps"), [("san", True), ("vl", False), ("nava", True)])
def test_explanation_has_null_for_what_a_method_does_not_compute(
    served: ServedAgent, method: str, has_maps: bool
) -> None:
    checkpoint = served.trained.checkpoint
    model = build(replace(checkpoint.model.config, method=method), checkpoint.model.spec).eval()
    other = ServedAgent(method, replace(served.trained, checkpoint=replace(checkpoint, model=model)))
    with socket_client([served, other]) as client:
        explanation = client.request("step", agent=1, scene=SCENE, sentence="go to the cat")["explanation"]
        assert (explanation["x_loc"] is not None) == has_maps
        assert (explanation["word_attention"] is not None) == (method == "nava")
        assert (explanation["answers"] is None) == (method == "nava")
        detection = client.request("detect", agent=1, scene=SCENE, word="cat")
        if has_maps:
            assert "map" in detection
        else:
            assert detection["error"] == f"model must have word detection maps, got method {method!r}"
        fields = {"agent": 1, "scene": SCENE, "sentence": "go to the cat", "path": [[3, 3], [4, 3]]}
        assert all(client.request("export", format=name, **fields)["base64"] for name in ("gif", "html"))


def test_agents_of_different_icons_are_refused(served: ServedAgent) -> None:
    other = replace(served.trained, checkpoint=replace(served.trained.checkpoint, icons="others"))
    with pytest.raises(InputError, match="other must have the icons, the map size and the language of normal"):
        server_of([served, ServedAgent("other", other)])
