"""The requests of the websocket protocol, and the errors for invalid messages."""

import base64
import contextlib
import copy
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from PIL import Image
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from groundling.agent import build
from groundling.errors import InputError
from groundling.learn.trained_agent import load_agent
from groundling.page.app_state import ServedAgent
from groundling.page.limits import Limits
from groundling.page.server import TRY_LATER
from tests.page.conftest import BASE_URL, HOST, SCENE, WEBSOCKET_URL, SocketClient, png, server_of

HEADERS = {"origin": BASE_URL}


def http_client(agents: list[ServedAgent], limits: Limits | None = None) -> TestClient:
    return TestClient(server_of(agents, limits).app(HOST, None), base_url=BASE_URL)


@contextlib.contextmanager
def socket_client(agents: list[ServedAgent], limits: Limits | None = None) -> Iterator[SocketClient]:
    """A client of a server with these agents and limits."""
    with http_client(agents, limits) as http, http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as socket:
        yield SocketClient(socket)


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


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SCENE), **fields}


def load(**fields: Any) -> dict[str, Any]:
    return {"request": "load", "scene": changed(**fields)}


def step(**fields: Any) -> dict[str, Any]:
    return {"request": "step", "agent": 0, "scene": SCENE, "sentence": "go", **fields}


def teach(*taught_words: Any) -> dict[str, Any]:
    return {"request": "teach", "agent": 0, "taught_words": list(taught_words)}


def convert(name: str, image: str) -> dict[str, Any]:
    return {"request": "convert_drawing", "name": name, "png": image}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("", "message must be valid JSON"),
        ("[1]", "message must be a JSON object, got [1]"),
        ("[" * 100_000, "message must be valid JSON"),
        ("9" * 10_000, "message must be valid JSON"),
        ('{"id": NaN}', "numbers in a message must be finite, got NaN"),
        ('{"request": "new_world", "seed": 1}', "message must have a field 'id'"),
        ('{"id": "x", "request": "new_world"}', "id must be an integer from 0 to"),
        ('{"id": true, "request": "new_world"}', "id must be an integer from 0 to"),
        ({"request": "new_wrold"}, "request must be one of new_world, load"),
        ({"request": ["new_world"]}, "request must be one of"),
        ({"request": "new_world", "seed": -1}, "seed must be an integer from 0 to 2,147,483,647, got -1"),
        ({"request": "new_world", "seed": 1.5}, "got 1.5"),
        ({"request": "new_world", "seed": 1 << 40}, "got 1099511627776"),
        ({"request": "new_world", "seed": 1, "sed": 2}, "unknown field \"sed\" in message, did you mean 'seed'"),
        ({"request": "load", "scene": 5}, "scenario must be a JSON object, got 5"),
        ({"request": "load", "scene": {}}, "scenario must have a field 'objects'"),
        (load(format="x"), "scenario format must be 'groundling-scenario-1', got \"x\""),
        (load(agent=[0, 3]), "the position of the agent must be a cell without a wall"),
        (load(agent=[9, 9]), "each from 0 to 6, got [9, 9]"),
        (load(objects=[{"name": "aple", "at": [0, 0]}]), "did you mean 'apple'"),
        (load(objects=[{"name": "apple", "icon": 3, "at": [0, 0]}]), "from 0 to 2"),
        (load(objects=[{"name": "cat", "color": "purple", "at": [0, 0]}]), "color of cat must be"),
        (load(objects=[{"name": "cat", "at": [0, 0]}] * 17), "at most 16"),
        (load(walls=[[0, 3], [0, 3]]), "the position of a wall must be an empty cell"),
        (load(wals=[]), "unknown field \"wals\" in scenario, did you mean 'walls'"),
        (load(drawings={"gizmo": "x"}), "image must be encoded in base64"),
        (load(drawings={"gizmo": "eHh4"}), "image must be a complete PNG file"),
        (load(drawings={"apple": png(64)}), "class must not be in the catalog already"),
        (load(drawings={"to": png(64)}), "new word"),
        (load(drawings={"x" * 50: png(64)}), "a drawing's name must have at most 20 characters"),
        (load(drawings={"gizmo": png(100)}), "image must have at most 64 pixels per side, got 100 x 100"),
        (load(drawings=[1]), "drawings must be"),
        (convert("Gizmo", png()), "lower-case"),
        (convert("gizmo", png(1500)), "image must have at most 1024 pixels per side"),
        (convert("gizmo", "A" * 400_000), "image must have at most 256 KB, got 292 KB"),
        (step(sentence=" "), "sentence must be a non-empty string"),
        (step(sentence="x" * 300), "sentence must have at most 200 characters, got 300"),
        (step(sentence="go " * 40), "sentence must have at most 20 words, got 40"),
        (step(agent=1), "agent must be an integer from 0 to 0, got 1"),
        (
            {"request": "suggest_sentence", "agent": 0, "scene": SCENE, "seed": 1, "kind": "x"},
            'kind must be one of command, question, got "x"',
        ),
        ({"request": "describe_cell", "agent": 0, "scene": SCENE, "at": [0, 7]}, "cell must be [row, column]"),
        (teach({}), "taught word must have a field 'word'"),
        (teach({"word": "gizmo", "examples": []}), "examples of 'gizmo' must be at least one"),
        (teach({"word": "the", "examples": []}), "a taught word must name an object, got 'the'"),
        (teach(*range(9)), "taught_words must have at most 8 items, got 9"),
        (
            {"request": "export", "agent": 0, "scene": SCENE, "sentence": "go", "format": "exe", "path": []},
            "format must be one of gif, html",
        ),
    ],
)
def test_invalid_messages_get_a_specific_error(client: SocketClient, message: Any, error: str) -> None:
    reply = client.send(message if isinstance(message, str) else json.dumps({"id": 1, **message}))
    assert error in reply["error"]
    assert client.request("new_world", seed=1)["scene"], "the connection still works"


def test_corrupt_images_are_refused(client: SocketClient) -> None:
    """An image with any byte inverted is converted or refused; it never causes an internal error."""
    whole = base64.b64decode(png())
    for position in range(len(whole)):
        corrupt = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        reply = client.request("convert_drawing", name="gizmo", png=base64.b64encode(corrupt).decode())
        assert "png" in reply or reply["error"].startswith("image must be")


def test_bytes_are_refused(client: SocketClient) -> None:
    client.socket.send_bytes(b"\x00\x01")
    assert client.socket.receive_json()["error"] == "message must be text, got bytes"


def test_internal_error_has_no_details(client: SocketClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr("groundling.page.app_state.AppState.sample_world", fail)
    reply = client.request("new_world", seed=1)
    assert reply["error"] == "internal server error; see the server's log"


def test_numbers_that_are_not_finite_are_an_error(served: ServedAgent) -> None:
    checkpoint = served.trained.checkpoint
    model = copy.deepcopy(checkpoint.model)
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    damaged = ServedAgent("damaged", replace(served.trained, checkpoint=replace(checkpoint, model=model)))
    fields = {"agent": 0, "scene": SCENE, "sentence": "go to the cat"}
    with socket_client([damaged]) as client:
        for reply in (
            client.request("step", **fields),
            client.request("detect", agent=0, scene=SCENE, word="cat"),
            client.request("export", format="html", path=[[3, 3]], **fields),
        ):
            assert reply == {"id": 1, "error": "numbers in a reply must be finite, got NaN or infinity from the agent"}
        assert client.request("new_world", seed=1)["scene"], "the connection still works"


def test_message_rate_is_limited(served: ServedAgent) -> None:
    with socket_client([served], Limits(messages_per_second=5, burst=3)) as client:
        replies = [client.request("new_world", seed=1) for _ in range(4)]
        assert ["error" in reply for reply in replies] == [False, False, False, True]
        assert "at most 5 messages per second" in replies[-1]["error"]


def test_message_that_is_too_long_closes_the_connection(served: ServedAgent) -> None:
    with socket_client([served], Limits(message_bytes=1000)) as client:
        client.socket.send_text(" " * 2000)
        with pytest.raises(WebSocketDisconnect) as closed:
            client.socket.receive_json()
        assert closed.value.code == 1009


def test_number_of_connections_is_limited(served: ServedAgent) -> None:
    with http_client([served], Limits(connections=1)) as http:
        with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as first:
            first.receive_json()
            with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as second:
                with pytest.raises(WebSocketDisconnect) as closed:
                    second.receive_json()
                assert closed.value.code == TRY_LATER
        with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as third:
            assert "hello" in third.receive_json()


def test_idle_connection_is_closed_for_a_new_one(served: ServedAgent) -> None:
    with (
        http_client([served], Limits(connections=1, idle_seconds_at_maximum=0)) as http,
        http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as first,
    ):
        first.receive_json()
        with http.websocket_connect(WEBSOCKET_URL, headers=HEADERS) as second:
            assert "hello" in second.receive_json()
            with pytest.raises(WebSocketDisconnect) as closed:
                first.receive_json()
            assert closed.value.code == 1001


def test_idle_connection_is_closed(served: ServedAgent) -> None:
    with socket_client([served], Limits(idle_seconds=0.05)) as client:
        with pytest.raises(WebSocketDisconnect) as closed:
            client.socket.receive_json()
        assert closed.value.code == 1001
