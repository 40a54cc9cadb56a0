"""Pictures of episodes: maps with what is said, where an agent attends, and how it walks."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from groundling.agent import Model
from groundling.learn.trained_agent import TrainedAgent
from groundling.teacher.episode_sampling import SentenceBatch
from groundling.teacher.teacher import EpisodeBatch, Teacher
from groundling.world.catalog import CELL_PIXELS, DISPLAY_PIXELS
from groundling.world.rendering import draw, map_cells, on_map, view_cells

CAPTION_PIXELS = 84
HEAT = np.array([230, 120, 0], np.float64)
"""The color of full attention, on icons that have every other."""


def captioned(
    teacher: Teacher, episode: EpisodeBatch, b: int, lines: Sequence[str], heat: NDArray[np.float32] | None = None
) -> Image.Image:
    """The map of episode b from above, colored by attention [N] if given, with lines of text under it."""
    pixels = draw(map_cells(episode.state)[b : b + 1], teacher.catalog.pictures[DISPLAY_PIXELS])[0]
    if heat is not None:
        pixels = warmed(pixels, on_map(heat, episode.state.size, int(episode.state.agent[b])))
    return over_text(pixels, lines)


def over_text(pixels: NDArray[np.uint8], lines: Sequence[str]) -> Image.Image:
    """A map's picture with lines of text under it."""
    side = pixels.shape[0]
    image = Image.new("RGB", (side + 16, side + CAPTION_PIXELS + 16), "white")
    image.paste(Image.fromarray(pixels), (8, 8))
    text = "\n".join(wrapped for line in lines for wrapped in textwrap.wrap(line, side // 10))
    ImageDraw.Draw(image).multiline_text((10, side + 12), text, "black", ImageFont.load_default(17), spacing=3)
    return image


def warmed(pixels: NDArray[np.uint8], heat: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A map's picture with each cell colored by its share of attention; a frame marks the warm ones."""
    warm = np.kron(heat, np.ones((DISPLAY_PIXELS, DISPLAY_PIXELS)))[..., None]
    mixed = pixels * (1 - 0.6 * warm) + HEAT * 0.6 * warm
    for row, column in np.argwhere(heat > 0.1):
        top, left = row * DISPLAY_PIXELS, column * DISPLAY_PIXELS
        cell = mixed[top : top + DISPLAY_PIXELS, left : left + DISPLAY_PIXELS]
        frame = np.ones(cell.shape[:2], np.bool_)
        frame[4:-4, 4:-4] = False
        cell[frame] = HEAT
    return np.asarray(np.clip(mixed, 0, 255), np.uint8)


def sheet(tiles: Sequence[Image.Image], columns: int) -> Image.Image:
    """Many pictures on one, at half their size."""
    width, height = tiles[0].size
    rows = -(-len(tiles) // columns)
    whole = Image.new("RGB", (columns * width, rows * height), "white")
    for k, tile in enumerate(tiles):
        whole.paste(tile, (k % columns * width, k // columns * height))
    return whole.reduce(2)


def save_gif(frames: Sequence[Image.Image], path: Path | BinaryIO, milliseconds: int = 1200) -> None:
    """A moving picture that rests on its last frame."""
    times = [milliseconds] * (len(frames) - 1) + [2 * milliseconds]
    frames[0].save(path, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)


class Thought(NamedTuple):
    """What an agent makes of one sentence in one episode."""

    x_loc: NDArray[np.float32]
    action: int
    answer: str
    emphasized: str
    """The sentence, with the words that the agent attends to in capitals."""


def explain_sentence(
    model: Model, teacher: Teacher, episode: EpisodeBatch, b: int, sentences: SentenceBatch
) -> tuple[dict[str, NDArray[np.float32]], list[str]]:
    """What `Model.explain` says of sentence b, and its words."""
    image = draw(view_cells(episode.state)[b : b + 1], teacher.catalog.pictures[CELL_PIXELS])[0]
    tokens = [token for token in sentences.tokens[b].tolist() if token != teacher.lexicon.pad]
    return model.explain(image, tokens), [teacher.lexicon.words[token] for token in tokens]


def think(agent: TrainedAgent, teacher: Teacher, episode: EpisodeBatch, b: int, sentences: SentenceBatch) -> Thought:
    """Ask an agent what it thinks of sentence b."""
    inside, words = explain_sentence(agent.model, teacher, episode, b, sentences)
    attended = inside["word_attention"].max(0) if "word_attention" in inside else np.zeros(len(words))
    emphasized = " ".join(w.upper() if a > 0.3 else w for w, a in zip(words, attended, strict=True))
    return Thought(
        inside["x_loc"],
        int(inside["action_probabilities"].argmax()),
        teacher.lexicon.words[int(inside["answer_scores"].argmax())],
        emphasized,
    )


def attention_sheet(agent: TrainedAgent, teacher: Teacher, episode: EpisodeBatch, columns: int = 4) -> Image.Image:
    """Where an agent attends: to the command in every other episode, and to the question in the rest."""
    tiles = []
    for b in range(len(episode.index)):
        asked = b % 2 == 1 and episode.question.type[b] >= 0
        thought = think(agent, teacher, episode, b, episode.question if asked else episode.command)
        lines = [thought.emphasized]
        if asked:
            true = teacher.lexicon.words[episode.question.answer[b]]
            lines.append(f"Agent: {thought.answer}." + ("" if thought.answer == true else f" (It is {true}.)"))
        tiles.append(captioned(teacher, episode, b, lines, thought.x_loc))
    return sheet(tiles, columns)


def walk(agent: TrainedAgent, teacher: Teacher, episode: EpisodeBatch) -> list[Image.Image]:
    """How an agent lives through one episode: its attention to the command, its answers and its steps."""
    frames = []
    over = False
    while not over:
        thought = think(agent, teacher, episode, 0, episode.command)
        lines = [f"Teacher: {teacher.text(episode.command, 0)}"]
        if episode.question.type[0] >= 0:
            answer = think(agent, teacher, episode, 0, episode.question).answer
            lines += [f"Teacher: {teacher.text(episode.question, 0)}", f"Agent: {answer.capitalize()}."]
        frames.append(captioned(teacher, episode, 0, lines, thought.x_loc))
        episode, outcome = teacher.step(episode, np.array([thought.action]))
        over = bool(outcome.terminated[0] or outcome.truncated[0])
    end = "Target reached." if outcome.terminated[0] else "Time is up."
    return [*frames, captioned(teacher, episode, 0, [f"Teacher: {teacher.text(episode.command, 0)}", end])]
