"""What a client can ask for, and how bad messages are refused: by name, and without a trace of the server's insides."""

import base64
import copy
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from groundling.agent import build
from groundling.errors import InputError
from groundling.learn.trained_agent import load_agent
from groundling.page.app_state import ServedAgent
from groundling.page.limits import Limits
from groundling.page.server import TRY_LATER
from tests.page.conftest import BASE, HOST, SCENE, TALK, Client, app_of


def png(side: int = 40, color: tuple[int, int, int] = (200, 20, 120)) -> str:
    """A picture that looks like no icon: rings of two colors."""
    image = Image.new("RGB", (side, side), "white")
    for k in range(0, side // 2, 8):
        image.paste(color if k % 16 else (10, 60, 60), (k, k, side - k, side - k))
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def walk(client: Client, scene: dict[str, Any], sentence: str) -> tuple[dict[str, Any], list[list[int]]]:
    """Where an agent goes by a sentence, and the last move."""
    at, path = scene["agent"], [scene["agent"]]
    for _ in range(client.hello["steps"]):
        thought = client.ask("think", agent=0, scene={**scene, "agent": at}, sentence=sentence, **{"from": path[0]})
        at = thought["move"]["to"]
        path.append(at)
        if thought["move"]["ended"]:
            break
    return thought, path


def test_hello(client: Client) -> None:
    hello = client.hello
    assert hello["size"] == 7
    assert len(hello["classes"]) == 119
    assert sum(len(entry["colors"]) for entry in hello["classes"]) == 357
    assert [agent["name"] for agent in hello["agents"]] == ["normal"]
    assert len(hello["agents"][0]["words"]) == 185


def test_a_seed_gives_a_world_and_what_the_teacher_says(client: Client) -> None:
    world = client.ask("world", seed=3)
    assert world == client.ask("world", seed=3)
    assert world["scene"] == client.ask("load", scene=world["scene"])["scene"]
    reading = client.ask("read", agent=0, scene=world["scene"], sentence=world["command"])
    assert reading["kind"] == "command"
    assert reading["target"] is not None
    reading = client.ask("read", agent=0, scene=world["scene"], sentence=world["question"])
    assert reading["kind"] == "question"
    assert reading["answer"] is not None


def test_a_command_is_walked(client: Client) -> None:
    thought, path = walk(client, SCENE, "go to the apple")
    assert path[-1] == thought["reading"]["target"] == [1, 1]
    inside = thought["inside"]
    words = len(thought["reading"]["words"])
    assert [len(step) for step in inside["attention"]] == [words] * 3
    assert len(inside["gates"]) == len(inside["steps"]) == 3
    assert all(len(inside[name]) == 49 for name in ("x_loc", "terrain", "value"))
    assert sum(inside["actions"].values()) == pytest.approx(1, abs=0.01)


def test_what_a_walk_remembers_is_true_of_the_world_at_hand(client: Client) -> None:
    """A sentence is read at a walk's first step; with another world, start or sentence it is read anew."""
    moved = {**SCENE, "objects": [{**SCENE["objects"][0], "at": [0, 5]}, *SCENE["objects"][1:]]}
    elsewhere = {**SCENE, "agent": [5, 5]}
    apple, cat = "go to the apple", "go to the cat"
    for scene, sentence in ((SCENE, apple), (moved, apple), (elsewhere, apple), (SCENE, apple), (SCENE, cat)):
        asked = {"agent": 0, "scene": scene, "sentence": sentence}
        assert {"id": 1, **client.ask("think", **asked)["reading"]} == client.ask("read", **asked)


def test_a_question_is_answered(client: Client) -> None:
    thought = client.ask("think", agent=0, scene=SCENE, sentence="What is in the west?")
    assert thought["reading"]["answer"] == "giraffe"
    assert thought["inside"]["answers"][0]["word"] == "giraffe"
    assert len(thought["inside"]["answers"]) == 5
    assert thought["move"] is None


def test_a_free_sentence_is_run(client: Client) -> None:
    thought = client.ask("think", agent=0, scene=SCENE, sentence="apple apple please go")
    assert thought["reading"]["kind"] == "free"
    assert thought["reading"]["complaint"]
    assert thought["move"]["action"] in ("left", "right", "up", "down")


def test_an_unknown_word_is_marked_with_the_nearest(client: Client) -> None:
    reading = client.ask("read", agent=0, scene=SCENE, sentence="go to the aple")
    assert reading["words"][3] == {"text": "aple", "state": "unknown", "nearest": "apple"}
    refused = client.ask("think", agent=0, scene=SCENE, sentence="go to the aple")
    assert refused["error"] == "the agent does not know the word 'aple', did you mean 'apple'?"


def test_a_sentence_that_the_teacher_would_not_say_has_no_verdict(client: Client) -> None:
    reading = client.ask("read", agent=0, scene=SCENE, sentence="go to the zebra")
    assert reading["kind"] == "command"
    assert reading["target"] is None


def test_where_a_word_is_seen_and_what_is_seen_where(client: Client) -> None:
    seen = client.ask("where", agent=0, scene=SCENE, word="apple")["map"]
    assert max(range(49), key=seen.__getitem__) == 8
    words = client.ask("seen", agent=0, scene=SCENE, at=[1, 1])["words"]
    assert {entry["word"] for entry in words[:2]} == {"apple", "red"}
    nothing = client.ask("seen", agent=0, scene=SCENE, at=[5, 5])["words"]
    assert nothing[0]["word"] == "nothing"
    assert "does not know" in client.ask("where", agent=0, scene=SCENE, word="aple")["error"]


@pytest.mark.parametrize("kind", ["command", "question"])
def test_the_teacher_speaks_of_any_world(client: Client, kind: str) -> None:
    for seed in range(10):
        sentence = client.ask("say", agent=0, kind=kind, seed=seed, scene=SCENE)["sentence"]
        reading = client.ask("read", agent=0, scene=SCENE, sentence=sentence)
        assert reading["kind"] == kind
        assert reading["target" if kind == "command" else "answer"] is not None


def test_of_an_empty_world_little_can_be_said(client: Client) -> None:
    asked: dict[str, Any] = {"agent": 0, "seed": 0, "scene": {"objects": [], "walls": [], "agent": [0, 0]}}
    assert "there is no command" in client.ask("say", kind="command", **asked)["error"]
    question = client.ask("say", kind="question", **asked)["sentence"]
    assert client.ask("read", agent=0, scene=asked["scene"], sentence=question)["answer"] == "nothing"


def test_a_drawing_is_taught(client: Client) -> None:
    """A picture of the user's own: unknown, then told three times, then walked to; and forgotten again."""
    icon = client.ask("drawing", name="gizmo", png=png())["png"]
    scene = {**SCENE, "drawings": {"gizmo": icon}}
    sentence = "Go to the gizmo."

    def quote(at: list[int]) -> dict[str, Any]:
        return {**scene, "objects": [*SCENE["objects"][:1], {"name": "gizmo", "at": at}]}

    far = {**quote([5, 5]), "walls": []}
    assert client.ask("read", agent=0, scene=far, sentence=sentence)["words"][3]["state"] == "untaught"
    assert "was never told the word 'gizmo'" in client.ask("think", agent=0, scene=far, sentence=sentence)["error"]
    sides = {"north": [2, 3], "east": [3, 4], "south": [4, 3]}
    examples = [{"scene": quote(at), "sentence": f"What is in the {side}?"} for side, at in sides.items()]
    told = client.ask("teach", agent=0, lessons=[{"word": "gizmo", "examples": examples}])
    assert told["taught"] == ["gizmo"]
    assert told["words"][-1] == "gizmo"
    asked = client.ask("think", agent=0, scene=quote([3, 2]), sentence="What is in the west?")
    assert asked["inside"]["answers"][0]["word"] == asked["reading"]["answer"] == "gizmo"
    thought, path = walk(client, far, sentence)
    assert path[-1] == thought["reading"]["target"] == [5, 5]
    client.ask("teach", agent=0, lessons=[])
    assert "was never told" in client.ask("think", agent=0, scene=far, sentence=sentence)["error"]


def quote(client: Client, word: str, seed: int) -> dict[str, Any]:
    """An example, as the page gives it: in a random world, the thing stands beside the agent."""
    scene = client.ask("world", seed=seed)["scene"]
    novel = client.hello["agents"][0]["novel"]
    row, column = scene["agent"]
    side, at = ("north", [row - 1, column]) if row else ("south", [row + 1, column])
    others = [entry for entry in scene["objects"] if entry["name"] not in novel and entry["at"] != at]
    walls = [wall for wall in scene["walls"] if wall != at]
    return {
        "scene": {**scene, "walls": walls, "objects": [*others, {"name": word, "at": at}]},
        "sentence": f"What is in the {side}?",
    }


def test_a_novel_word_is_taught() -> None:
    novel = ServedAgent("novel-12", load_agent("novel-12"))
    word = sorted(novel.novel)[0]
    with (
        TestClient(app_of([novel]).app(HOST, None), base_url=BASE) as http,
        http.websocket_connect(TALK, headers={"origin": BASE}) as socket,
    ):
        client = Client(socket)
        assert word in client.hello["agents"][0]["novel"]
        examples = [quote(client, word, seed) for seed in range(6)]
        far = {
            "objects": [{"name": word, "at": [0, 6]}, {"name": "apple", "at": [6, 1]}],
            "walls": [],
            "agent": [3, 3],
        }
        state = client.ask("read", agent=0, scene=far, sentence=f"Go to the {word}.")["words"][3]["state"]
        assert state == "untaught"
        client.ask("teach", agent=0, lessons=[{"word": word, "examples": examples}])
        thought, path = walk(client, far, f"Go to the {word}.")
        assert path[-1] == thought["reading"]["target"] == [0, 6]


def test_a_walk_is_exported(client: Client) -> None:
    _, path = walk(client, SCENE, "go to the apple")
    asked = {"agent": 0, "scene": SCENE, "sentence": "go to the apple", "path": path}
    gif = client.ask("export", format="gif", **asked)
    with Image.open(io.BytesIO(base64.b64decode(gif["base64"]))) as image:
        assert getattr(image, "n_frames", 1) == len(path)
    html = base64.b64decode(client.ask("export", format="html", **asked)["base64"]).decode()
    assert "default-src 'none'" in html
    assert "import " not in html.split('<script type="module">')[1]
    data = json.loads(html.split('id="walk">')[1].split("</script>")[0])
    assert [frame["at"] for frame in data["frames"]] == path
    assert data["frames"][-1]["done"] == "ended"


def test_two_agents_side_by_side(served: ServedAgent) -> None:
    other = ServedAgent("again", served.trained)
    with (
        TestClient(app_of([served, other]).app(HOST, None), base_url=BASE) as http,
        http.websocket_connect(TALK, headers={"origin": BASE}) as socket,
    ):
        client = Client(socket)
        assert [agent["name"] for agent in client.hello["agents"]] == ["normal", "again"]
        one, two = (client.ask("think", agent=k, scene=SCENE, sentence="go to the cat") for k in (0, 1))
        assert one == two
        assert (
            "agent 2: it is a whole number, 0 or more and below 2"
            in client.ask("think", agent=2, scene=SCENE, sentence="go to the cat")["error"]
        )


@pytest.mark.parametrize(("method", "maps"), [("san", True), ("vl", False), ("nava", True)])
def test_agents_that_have_less_to_show(served: ServedAgent, method: str, maps: bool) -> None:
    """Other methods have no interpreter, no maps or no answers: null is in their place."""
    checkpoint = served.trained.checkpoint
    model = build(replace(checkpoint.model.config, method=method)).eval()
    other = ServedAgent(method, replace(served.trained, checkpoint=replace(checkpoint, model=model)))
    with (
        TestClient(app_of([served, other]).app(HOST, None), base_url=BASE) as http,
        http.websocket_connect(TALK, headers={"origin": BASE}) as socket,
    ):
        client = Client(socket)
        inside = client.ask("think", agent=1, scene=SCENE, sentence="go to the cat")["inside"]
        assert (inside["x_loc"] is not None) == maps
        assert (inside["attention"] is not None) == (method == "nava")
        assert (inside["answers"] is None) == (method == "nava")
        where = client.ask("where", agent=1, scene=SCENE, word="cat")
        assert "map" in where if maps else "has no maps of words" in where["error"]
        path = [[3, 3], [4, 3]]
        asked = {"agent": 1, "scene": SCENE, "sentence": "go to the cat", "path": path}
        assert all(client.ask("export", format=form, **asked)["base64"] for form in ("gif", "html"))


def test_agents_of_different_worlds_are_not_compared(served: ServedAgent) -> None:
    other = replace(served.trained, checkpoint=replace(served.trained.checkpoint, icons="others"))
    with pytest.raises(InputError, match="other: it needs the icons and the map size of normal"):
        app_of([served, ServedAgent("other", other)])


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SCENE), **fields}


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("", "a message is JSON, and this is none"),
        ("[1]", "a message is a JSON object, not [1]"),
        ("[" * 100_000, "a message is JSON, and this is none"),
        ("9" * 10_000, "a message is JSON, and this is none"),
        ('{"id": NaN}', "NaN in a message"),
        ('{"do": "world", "seed": 1}', "'id' is missing in a message"),
        ('{"id": "x", "do": "world"}', 'id "x": it is a whole number'),
        ('{"id": true, "do": "world"}', "id true: it is a whole number"),
        ({"do": "wrold"}, 'do "wrold": it is one of world, load'),
        ({"do": ["world"]}, "do ["),
        ({"do": "world", "seed": -1}, "seed -1: it is a whole number"),
        ({"do": "world", "seed": 1.5}, "seed 1.5"),
        ({"do": "world", "seed": 1 << 40}, "seed 1099511627776"),
        ({"do": "world", "seed": 1, "sed": 2}, "unknown field \"sed\" in a message, did you mean 'seed'"),
        ({"do": "load", "scene": 5}, "a scenario is a JSON object, not 5"),
        ({"do": "load", "scene": {}}, "'objects' is missing"),
        ({"do": "load", "scene": changed(format="x")}, 'its format is "x"'),
        ({"do": "load", "scene": changed(agent=[0, 3])}, "the agent at [0, 3]: a wall is there already"),
        ({"do": "load", "scene": changed(agent=[9, 9])}, "each from 0 to 6"),
        ({"do": "load", "scene": changed(objects=[{"name": "aple", "at": [0, 0]}])}, "did you mean 'apple'"),
        ({"do": "load", "scene": changed(objects=[{"name": "apple", "icon": 3, "at": [0, 0]}])}, "from 0 to 2"),
        ({"do": "load", "scene": changed(objects=[{"name": "cat", "color": "purple", "at": [0, 0]}])}, "no icon"),
        ({"do": "load", "scene": changed(objects=[{"name": "cat", "at": [0, 0]}] * 17)}, "16 at the most"),
        ({"do": "load", "scene": changed(walls=[[0, 3], [0, 3]])}, "a wall is there already"),
        ({"do": "load", "scene": changed(wals=[])}, "unknown field \"wals\" in a scenario, did you mean 'walls'"),
        ({"do": "load", "scene": changed(drawings={"gizmo": "x"})}, "picture: it is not base64"),
        ({"do": "load", "scene": changed(drawings={"gizmo": "eHh4"})}, "not a whole PNG"),
        ({"do": "load", "scene": changed(drawings={"apple": png(64)})}, "these icons have it already"),
        ({"do": "load", "scene": changed(drawings={"to": png(64)})}, "a new class needs a new word"),
        ({"do": "load", "scene": changed(drawings={"x" * 50: png(64)})}, "20 letters at the most"),
        ({"do": "load", "scene": changed(drawings={"gizmo": png(100)})}, "64 pixels a side at the most"),
        ({"do": "load", "scene": changed(drawings=[1])}, "drawings: they are"),
        ({"do": "drawing", "name": "Gizmo", "png": png()}, "a new word of lower-case letters"),
        ({"do": "drawing", "name": "gizmo", "png": png(1500)}, "1024 pixels a side at the most"),
        ({"do": "drawing", "name": "gizmo", "png": "A" * 400_000}, "it has more than 256 KB"),
        ({"do": "think", "agent": 0, "scene": SCENE, "sentence": " "}, "sentence is a text"),
        ({"do": "think", "agent": 0, "scene": SCENE, "sentence": "x" * 300}, "sentence of 300 letters: 200"),
        ({"do": "think", "agent": 0, "scene": SCENE, "sentence": "go " * 40}, "sentence of 40 words: 20"),
        ({"do": "think", "agent": 1, "scene": SCENE, "sentence": "go"}, "agent 1: it is a whole number"),
        ({"do": "say", "agent": 0, "scene": SCENE, "seed": 1, "kind": "x"}, 'kind "x": it is one of command'),
        ({"do": "seen", "agent": 0, "scene": SCENE, "at": [0, 7]}, "cell at [0, 7]"),
        ({"do": "teach", "agent": 0, "lessons": [{}]}, "'word' is missing in a lesson"),
        ({"do": "teach", "agent": 0, "lessons": [{"word": "gizmo", "examples": []}]}, "at least one example"),
        ({"do": "teach", "agent": 0, "lessons": [{"word": "the", "examples": []}]}, "it has another use"),
        ({"do": "teach", "agent": 0, "lessons": [1] * 9}, "it is a list of 8 at the most"),
        ({"do": "export", "agent": 0, "scene": SCENE, "sentence": "go", "format": "exe", "path": []}, "gif, html"),
    ],
)
def test_bad_messages_are_refused_by_name(client: Client, message: Any, complaint: str) -> None:
    answer = client.raw(message if isinstance(message, str) else json.dumps({"id": 1, **message}))
    assert complaint in answer["error"]
    assert client.ask("world", seed=1)["scene"], "and the episode goes on"


def test_broken_pictures_are_refused(client: Client) -> None:
    """A picture with any of its bytes changed is still one, or is refused; it never fails in another way."""
    whole = base64.b64decode(png())
    for position in range(len(whole)):
        broken = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        answer = client.ask("drawing", name="gizmo", png=base64.b64encode(broken).decode())
        assert "png" in answer or answer["error"].startswith("picture")


def test_bytes_are_refused(client: Client) -> None:
    client.socket.send_bytes(b"\x00\x01")
    assert "text, not bytes" in client.socket.receive_json()["error"]


def test_a_failure_is_not_told_in_detail(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr("groundling.page.app_state.House.draw", fail)
    answer = client.ask("world", seed=1)
    assert answer["error"] == "the server could not answer this; its log says why"


def test_too_many_messages_are_refused(served: ServedAgent) -> None:
    settings = Limits(messages_per_second=5, burst=3)
    with (
        TestClient(app_of([served], settings).app(HOST, None), base_url=BASE) as http,
        http.websocket_connect(TALK, headers={"origin": BASE}) as socket,
    ):
        client = Client(socket)
        answers = [client.ask("world", seed=1) for _ in range(4)]
        assert ["error" in answer for answer in answers] == [False, False, False, True]
        assert answers[-1]["error"] == "too many messages: 5 a second at the most"


def test_a_message_too_long_closes_the_connection(served: ServedAgent) -> None:
    settings = Limits(message_bytes=1000)
    with (
        TestClient(app_of([served], settings).app(HOST, None), base_url=BASE) as http,
        http.websocket_connect(TALK, headers={"origin": BASE}) as socket,
    ):
        socket.receive_json()
        socket.send_text(" " * 2000)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1009


def test_sessions_are_capped(served: ServedAgent) -> None:
    headers = {"origin": BASE}
    settings = Limits(connections=1)
    with TestClient(app_of([served], settings).app(HOST, None), base_url=BASE) as http:
        with http.websocket_connect(TALK, headers=headers) as first:
            first.receive_json()
            with http.websocket_connect(TALK, headers=headers) as second:
                with pytest.raises(WebSocketDisconnect) as closed:
                    second.receive_json()
                assert closed.value.code == TRY_LATER
        with http.websocket_connect(TALK, headers=headers) as third:
            assert "hello" in third.receive_json()


def test_an_idle_session_makes_room(served: ServedAgent) -> None:
    headers = {"origin": BASE}
    settings = Limits(connections=1, crowded_idle_seconds=0)
    with (
        TestClient(app_of([served], settings).app(HOST, None), base_url=BASE) as http,
        http.websocket_connect(TALK, headers=headers) as first,
    ):
        first.receive_json()
        with http.websocket_connect(TALK, headers=headers) as second:
            assert "hello" in second.receive_json()
            with pytest.raises(WebSocketDisconnect) as closed:
                first.receive_json()
            assert closed.value.code == 1001


def test_an_idle_session_is_dropped(served: ServedAgent) -> None:
    settings = Limits(idle_seconds=0.05)
    with (
        TestClient(app_of([served], settings).app(HOST, None), base_url=BASE) as http,
        http.websocket_connect(TALK, headers={"origin": BASE}) as socket,
    ):
        socket.receive_json()
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1001
