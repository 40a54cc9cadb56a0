"""Scenarios: reading, checking and writing maps as plain data."""

from typing import Any

import numpy as np
import pytest

from groundling.errors import InputError, quote
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import Catalog
from groundling.world.scenario import Scenario


def test_scenario_survives_a_round_trip_through_plain_data(catalog: Catalog) -> None:
    episode = Teacher().begin(5, [0, 1, 2, 3])
    for b in range(4):
        state = type(episode.state)(*(array[b : b + 1] for array in episode.state))
        scenario = Scenario.of_state(state)
        again = Scenario.of(scenario.to_dict(catalog), catalog, 7)
        assert again == scenario
        assert np.array_equal(again.state().grid, state.grid)
        assert again.state().agent == state.agent


def test_icon_is_selected_by_color_or_number(catalog: Catalog) -> None:
    def icons(*objects: dict[str, Any]) -> list[str]:
        scenario = Scenario.of({"objects": list(objects), "walls": [], "agent": [6, 6]}, catalog, 7)
        return [catalog.describe(4 + icon) for _, icon in scenario.objects]

    assert icons({"name": "apple", "color": "green", "at": [0, 0]}) == ["green apple"]
    assert icons({"name": "apple", "icon": 2, "at": [0, 0]}) == ["yellow apple"]
    with pytest.raises(InputError, match='color of apple with icon 2 must be yellow or null, got "red"'):
        icons({"name": "apple", "icon": 2, "color": "red", "at": [0, 0]})


def test_icon_of_another_class_is_refused(catalog: Catalog) -> None:
    """The icons of the next class follow those of an object, and after the last class there are none."""

    def refusal(**entry: Any) -> str:
        with pytest.raises(InputError) as error:
            Scenario.of({"objects": [{"at": [0, 0], **entry}], "walls": [], "agent": [6, 6]}, catalog, 7)
        return str(error.value)

    assert "icon of apple must be an integer from 0 to 2, got 3" in refusal(name="apple", icon=3)
    assert "icon of zebra must be an integer from 0 to 2, got 3" in refusal(name="zebra", icon=3)
    colors = "color of apple must be green or red or yellow or null"
    assert f'{colors}, got "gray"' in refusal(name="apple", color="gray")  # as the armadillo is


def test_agent_may_be_on_an_object_but_not_in_a_wall(catalog: Catalog) -> None:
    record: dict[str, Any] = {"objects": [{"name": "cat", "at": [1, 1]}], "walls": [[2, 2]], "agent": [1, 1]}
    assert Scenario.of(record, catalog, 7).agent == 8
    with pytest.raises(InputError, match="agent must be a cell without a wall"):
        Scenario.of({**record, "agent": [2, 2]}, catalog, 7)


def test_error_messages_quote_at_most_80_characters_of_a_value() -> None:
    assert quote({"at": [0, 1]}) == '{"at": [0, 1]}'
    assert quote("x" * 1000) == '"' + "x" * 76 + "..."
