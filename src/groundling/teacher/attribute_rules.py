"""The compiled rules of a user's attributes of maps, as one kernel."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba

from groundling.teacher.grammar import Grammar
from groundling.world.types import Int16s


def map_rule(grammar: Grammar) -> Any:
    """The compiled rules of all attributes of maps as one kernel (rule, grid, size, agent, objects, count, i); or None.

    A rule is a function (grid, size, agent, objects, count, i) of the map's cell ids, its side, the agent's position,
    the objects' positions and their number; it returns the index of the attribute's word for object i, or -1.
    """
    combined: Any = None
    rules = [attribute.rule for attribute in grammar.language.attributes if attribute.source == "map"]
    for number, rule in reversed(list(enumerate(rules))):
        assert rule is not None
        combined = _either(number, rule, combined)
    return combined


@cache
def _either(number: int, given: Callable[..., int], others: Any) -> Any:
    """A kernel that calls `given` for its number, otherwise the others. Cached, because every teacher asks for it."""
    rule = given if hasattr(given, "py_func") else numba.njit(given)
    if others is None:
        return numba.njit(lambda k, grid, size, agent, objects, count, i: rule(grid, size, agent, objects, count, i))

    def chosen(k: int, grid: Int16s, size: int, agent: int, objects: Int16s, count: int, i: int) -> int:
        if k == number:
            return rule(grid, size, agent, objects, count, i)
        return int(others(k, grid, size, agent, objects, count, i))

    return numba.njit(chosen)
