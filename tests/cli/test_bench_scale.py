"""The scaling benchmark: exponents by hand, a short run of its parts, and its plot."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from groundling.cli import bench_scale
from groundling.cli.bench_scale_agent import kept_bytes
from groundling.teacher.teacher import Teacher


def test_exponents_of_known_costs() -> None:
    parts = {
        "side": [{"side": s, "cells": s**2, "step_us": 3.0 * s**2, "state_bytes": 5.0} for s in (7, 15, 31)],
        "classes": [{"classes": n, "step_us": 2.0 * n**0.5} for n in (100, 1000)],
    }
    fitted = bench_scale.exponents(parts)
    assert fitted["step_us against cells"] == pytest.approx(1)
    assert fitted["state_bytes against cells"] == pytest.approx(0, abs=1e-9)
    assert fitted["step_us against classes"] == pytest.approx(0.5)


def test_rows_and_plot(tmp_path: Path) -> None:
    rows = [bench_scale.side_row(side, 0.02) for side in (7, 15)]
    assert rows[0]["cells"] == 49
    agent = {"act_us", "update_us", "update_bytes", "model_bytes"}
    assert rows[0].keys() >= agent | {"dense_step_us"}
    assert all(row[name] > 0 for row in rows for name in agent)
    assert 2 < rows[1]["update_bytes"] / rows[0]["update_bytes"] < 29**2 / 13**2 * 1.1  # cells of the views
    assert all(row["drawn_us"] > row["step_us"] > 0 for row in rows)
    assert rows[1]["state_bytes"] - rows[0]["state_bytes"] == 2 * (225 - 49)
    parts = {
        "side": rows,
        "batch": [bench_scale.world_row({"batch": n}, Teacher(), n, 0.02) for n in (8, 64)],
        "episodes": [bench_scale.episodes_row(n) for n in (1000, 3000)],
    }
    assert parts["episodes"][1]["peak_bytes"] < 1.5 * parts["episodes"][0]["peak_bytes"]
    result = {"parts": parts, "exponents": bench_scale.exponents(parts)}
    bench_scale.plot(result, tmp_path / "scale.png")
    with Image.open(tmp_path / "scale.png") as image:
        assert np.ptp(np.asarray(image.convert("L"))) > 100
    assert len(bench_scale.catalog_of(119).classes) == 119
    assert len(bench_scale.catalog_of(40).classes) == 40


def test_bytes_that_are_kept_for_the_backward_pass() -> None:
    """Of y = w relu(x) with 1,000 floats, relu keeps its result, which the product keeps, too; w is a parameter."""
    layer = torch.nn.Linear(1000, 1, bias=False)
    x = torch.randn(1, 1000, requires_grad=True)
    assert kept_bytes(lambda: layer(x.relu()).sum(), layer) == 4000
