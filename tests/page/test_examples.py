"""The example sentences of a scene."""

from groundling.learn.trained_agent import load_agent
from groundling.page.app_state import AppState, ServedAgent
from groundling.page.client_agent import ClientAgent
from groundling.page.examples import example_sentences
from groundling.page.limits import Limits
from groundling.teacher.valid_sentences import valid_sentences
from tests.page.conftest import SCENE, SocketClient


def test_examples_have_a_held_out_word_whenever_the_world_allows_one() -> None:
    state = AppState([ServedAgent("zs2-90", load_agent("zs2-90"))], Limits())
    agent = ClientAgent.of(state.agents[0])
    held_out = agent.served.held_out_words
    for seed in range(30):
        scene, _, _ = state.sample_world(seed)
        found = example_sentences(agent, scene)
        assert found == example_sentences(agent, scene)
        valid = valid_sentences(scene.teacher, scene.scenario.state())
        assert len({example["type"] for example in found}) == len(found) >= 4
        for example in found:
            assert {*example["held_out"]} <= held_out & {*example["sentence"].lower().rstrip(".?").split()}
            of_type = [sentence for sentence in valid if sentence.type == example["type"]]
            possible = any(held_out & {*sentence.slots.values()} for sentence in of_type if not sentence.is_empty)
            assert bool(example["held_out"]) == possible, example


def test_examples_are_valid_and_known(client: SocketClient) -> None:
    reply = client.request("examples", agent=0, scene=SCENE)
    assert len(reply["examples"]) >= 6
    for example in reply["examples"]:
        check = client.request("check_sentence", agent=0, scene=SCENE, sentence=example["sentence"])
        assert check["kind"] == example["kind"]
        assert check["type"] == example["type"]
        assert (check["target"] if check["kind"] == "command" else check["answer"]) is not None
    assert client.request("examples", agent=0)["error"].startswith("message must have a field 'scene'")
