"""Snapshots of a training run as ages of an agent, a run shown live, and the gallery."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from groundling.cli import main
from groundling.errors import InputError
from groundling.learn.snapshots import Snapshots, snapshot_paths
from groundling.learn.trained_agent import load_agent
from groundling.page.ages import load_ages
from groundling.page.app_state import AppState, ServedAgent
from groundling.page.gallery import write_gallery
from groundling.page.limits import Limits
from groundling.page.live_run import LiveRun
from tests.page.site import Site, expect_result, needs_chromium, new_page, run_sentence, wait_until_ready

SECONDS = ("0", "0.001", "0.002")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short training run with snapshots."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    short = ["--qa-pretraining.updates", "4", "--ppo.iterations", "1", "--ppo.num-envs", "8"]
    short += ["--ppo.envs-per-minibatch", "8", "--eval-episodes", "5"]
    main(["train", "smoke", "--out", str(folder), "--threads", "1", *short, "--snapshots", *SECONDS])
    return folder


def test_run_keeps_snapshots_in_half_precision(run: Path) -> None:
    paths = snapshot_paths(run / "snapshots")
    assert [seconds for seconds, _ in paths] == [0, 0.001, 0.002]
    assert all(path.stat().st_size < 0.6 * (run / "last.safetensors").stat().st_size for _, path in paths)
    trained = [load_agent(path).checkpoint.provenance["progress"]["seconds"] for _, path in paths]
    assert trained[0] == 0
    assert all(seconds >= wanted for seconds, wanted in zip(trained, (0, 0.001, 0.002), strict=True))


def test_invalid_snapshots_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="snapshots must be times of at least 0 s"):
        Snapshots(tmp_path, (-1.0,))
    with pytest.raises(InputError, match="must hold snapshots of a run"):
        load_ages(tmp_path)


@needs_chromium
def test_slider_shows_the_sentence_at_each_age(browser: Browser, run: Path) -> None:
    with Site(str(run), "--ages", str(run)) as site:
        page = new_page(browser)
        page.goto(site.address)
        wait_until_ready(page)
        page.get_by_label("Speed").select_option("fast")
        slider = page.get_by_label(re.compile("Age of the agent"))
        expect(slider).to_have_attribute("aria-valuetext", re.compile("the end"))
        run_sentence(page, page.get_by_label("Command or question").input_value())
        expect(page.locator("#history .said")).to_have_count(1)
        slider.fill("0")
        expect(slider).to_have_attribute("aria-valuetext", "0 s of training")
        expect(page.locator("#history .said")).to_have_count(2)
        page.get_by_role("button", name="Undo").click()
        expect(slider).to_have_attribute("aria-valuetext", re.compile("the end"))
        page.context.close()


@needs_chromium
def test_live_run_is_shown_while_it_learns(browser: Browser, run: Path) -> None:
    with Site("--train", str(run)) as site:
        page = new_page(browser)
        page.goto(site.address)
        wait_until_ready(page)
        live = page.get_by_role("region", name="Training")
        expect(live).to_contain_text(re.compile(r"\d+ s of training .*answers right \d+ %"))
        page.get_by_role("button", name="Skip the tour").click()
        run_sentence(page, "What is in the west?")
        expect_result(page, "“")
        count = page.locator("#history .said").count()
        path = run / "last.safetensors"
        path.write_bytes(path.read_bytes())  # as if the run had saved a later agent
        expect(page.locator("#history .said")).to_have_count(count + 1)
        page.context.close()


def test_live_run_replaces_the_agent_and_reads_metrics(run: Path) -> None:
    live = LiveRun(run)
    first = live.wait(60)
    assert first.is_live
    state = AppState([first], Limits(), live.metrics)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["seconds"] for line in state.metrics()] == [line["seconds"] for line in lines][-200:]
    state.replace_agent(0, ServedAgent("later", first.trained, is_live=True))
    assert state.versions == [1]
    assert json.loads(state.hello_text)["hello"]["agents"][0]["name"] == "later"
    with pytest.raises(InputError, match=re.escape("must get a file last.safetensors")):
        LiveRun(run / "nowhere").wait(0.1)


def test_gallery_has_an_index_and_walks_with_verdicts(served: ServedAgent, tmp_path: Path) -> None:
    entries = write_gallery(AppState([served], Limits()), tmp_path / "site", 3)
    index = (tmp_path / "site" / "index.html").read_text("utf-8")
    for entry in entries:
        html = (tmp_path / "site" / entry.name).read_text("utf-8")
        assert f'href="{entry.name}"' in index
        assert entry.verdict in index
        assert entry.verdict in html
        assert "http" not in html.split("<script", maxsplit=1)[0].replace("http-equiv", "")
    with pytest.raises(InputError, match="count must be"):
        write_gallery(AppState([served], Limits()), tmp_path, 0)
