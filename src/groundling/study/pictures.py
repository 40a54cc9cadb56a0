"""Images of episodes: maps with captions, attention overlays, and animations of a walk."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from groundling.agent import Model
from groundling.episodes import play_to_end
from groundling.learn.trained_agent import TrainedAgent
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import EpisodeBatch, SentenceBatch
from groundling.world.catalog import CELL_PIXELS, DISPLAY_PIXELS
from groundling.world.rendering import draw, map_cells, on_map, view_cells

CAPTION_PIXELS = 104
ATTENTION_COLOR = np.array([37, 99, 200], np.float64)
"""The blue of attention, as in the figures and on the page."""
OPACITY = 0.6
FRAME_ABOVE = 0.1
"""Cells with more attention than this get a frame."""
EMPHASIZE_ABOVE = 0.3
"""Words with more attention than this are written in capitals."""


def captioned(
    teacher: Teacher, episode: EpisodeBatch, b: int, lines: Sequence[str], heat: NDArray[np.float32] | None = None
) -> Image.Image:
    """The map of episode b from above, with an attention map [N] if given, and lines of text under it."""
    pixels = draw(map_cells(episode.state)[b : b + 1], teacher.catalog.pictures[DISPLAY_PIXELS])[0]
    if heat is not None:
        pixels = overlay_attention(pixels, on_map(heat, episode.state.size, int(episode.state.agent[b])))
    return with_caption(pixels, lines)


def with_caption(pixels: NDArray[np.uint8], lines: Sequence[str]) -> Image.Image:
    """An image of a map with lines of text under it."""
    side = pixels.shape[0]
    image = Image.new("RGB", (side + 16, side + CAPTION_PIXELS + 16), "white")
    image.paste(Image.fromarray(pixels), (8, 8))
    text = "\n".join(wrapped for line in lines for wrapped in textwrap.wrap(line, side // 10))
    ImageDraw.Draw(image).multiline_text((10, side + 12), text, "black", ImageFont.load_default(17), spacing=3)
    return image


def overlay_attention(pixels: NDArray[np.uint8], heat: NDArray[np.float32]) -> NDArray[np.uint8]:
    """An image of a map with each cell colored by its attention; cells above FRAME_ABOVE get a frame."""
    weight = OPACITY * np.kron(heat, np.ones((DISPLAY_PIXELS, DISPLAY_PIXELS)))[..., None]
    mixed = pixels * (1 - weight) + ATTENTION_COLOR * weight
    for row, column in np.argwhere(heat > FRAME_ABOVE):
        top, left = row * DISPLAY_PIXELS, column * DISPLAY_PIXELS
        cell = mixed[top : top + DISPLAY_PIXELS, left : left + DISPLAY_PIXELS]
        frame = np.ones(cell.shape[:2], np.bool_)
        frame[4:-4, 4:-4] = False
        cell[frame] = ATTENTION_COLOR
    return np.asarray(np.clip(mixed, 0, 255), np.uint8)


def sheet(tiles: Sequence[Image.Image], columns: int) -> Image.Image:
    """Many images on one, at half their size."""
    width, height = tiles[0].size
    rows = -(-len(tiles) // columns)
    whole = Image.new("RGB", (columns * width, rows * height), "white")
    for k, tile in enumerate(tiles):
        whole.paste(tile, (k % columns * width, k // columns * height))
    return whole.reduce(2)


def save_gif(frames: Sequence[Image.Image], path: Path | BinaryIO, milliseconds: int = 1200) -> None:
    """Write an animated GIF that stays longer on its last frame."""
    times = [milliseconds] * (len(frames) - 1) + [2 * milliseconds]
    frames[0].save(path, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)


class Response(NamedTuple):
    """An agent's response to one sentence in one episode."""

    x_loc: NDArray[np.float32]
    action: int
    answer: str
    emphasized: str
    """The sentence, with the attended words in capitals."""


def explain_sentence(
    model: Model, teacher: Teacher, episode: EpisodeBatch, b: int, sentences: SentenceBatch
) -> tuple[dict[str, NDArray[np.float32]], list[str]]:
    """The intermediate values for sentence b of a batch, and its words."""
    image = draw(view_cells(episode.state)[b : b + 1], teacher.catalog.pictures[CELL_PIXELS])[0]
    tokens = [token for token in sentences.tokens[b].tolist() if token != teacher.lexicon.pad]
    return model.explain(image, tokens), [teacher.lexicon.words[token] for token in tokens]


def respond(agent: TrainedAgent, teacher: Teacher, episode: EpisodeBatch, b: int, sentences: SentenceBatch) -> Response:
    """The response of an agent to sentence b of a batch."""
    values, words = explain_sentence(agent.model, teacher, episode, b, sentences)
    attended = values["word_attention"].max(0) if "word_attention" in values else np.zeros(len(words))
    emphasized = " ".join(w.upper() if a > EMPHASIZE_ABOVE else w for w, a in zip(words, attended, strict=True))
    return Response(
        values["x_loc"],
        int(values["action_probabilities"].argmax()),
        teacher.lexicon.words[int(values["answer_scores"].argmax())],
        emphasized,
    )


def attention_sheet(agent: TrainedAgent, teacher: Teacher, episode: EpisodeBatch, columns: int = 4) -> Image.Image:
    """Attention maps of some episodes, alternately for the command and for the question."""
    tiles = []
    for b in range(len(episode.index)):
        asked = b % 2 == 1 and episode.question.type[b] >= 0
        response = respond(agent, teacher, episode, b, episode.question if asked else episode.command)
        lines = [response.emphasized]
        if asked:
            true = teacher.lexicon.words[episode.question.answer[b]]
            lines.append(f"Agent: {response.answer}." + ("" if response.answer == true else f" (It is {true}.)"))
        tiles.append(captioned(teacher, episode, b, lines, response.x_loc))
    return sheet(tiles, columns)


def walk(agent: TrainedAgent, teacher: Teacher, episode: EpisodeBatch) -> list[Image.Image]:
    """The frames of one episode: attention to the command, questions, answers and steps."""
    frames = []

    def act(now: EpisodeBatch, _: NDArray[np.int64]) -> NDArray[np.int64]:
        response = respond(agent, teacher, now, 0, now.command)
        lines = [f"Teacher: {teacher.text(now.command, 0)}"]
        if now.question.type[0] >= 0:
            answer = respond(agent, teacher, now, 0, now.question).answer
            lines += [f"Teacher: {teacher.text(now.question, 0)}", f"Agent: {answer.capitalize()}."]
        frames.append(captioned(teacher, now, 0, lines, response.x_loc))
        return np.array([response.action])

    *_, (_, last) = play_to_end(teacher, episode, act)
    end = "Target reached." if last.terminated[0] else "Step limit reached."
    return [*frames, captioned(teacher, last.after, 0, [f"Teacher: {teacher.text(episode.command, 0)}", end])]
