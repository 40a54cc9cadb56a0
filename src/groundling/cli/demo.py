"""`groundling demo`: a session told in the terminal, a sheet of worlds and a moving picture."""

import textwrap
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from PIL import Image, ImageDraw, ImageFont

from groundling.cli.output import Seed
from groundling.teacher.session import Session, Teacher
from groundling.world.catalog import PERSON_PIXELS, Pixels
from groundling.world.oracle import best_actions
from groundling.world.simulation import ACTIONS
from groundling.world.view import ansi, draw, map_cells

SHEET_COLUMNS, SHEET_ROWS = 4, 3
CAPTION_PIXELS = 84


def demo(out: Annotated[Path, tyro.conf.arg(help="Folder for the pictures.")] = Path("out"), seed: Seed = 1) -> None:
    """Tell a session in the terminal and write a contact sheet and a GIF."""
    out.mkdir(parents=True, exist_ok=True)
    print("Compiling the simulator (the first time only) ...", flush=True)
    teacher = Teacher()
    sheet = contact_sheet(teacher, teacher.begin(seed, np.arange(SHEET_COLUMNS * SHEET_ROWS)))
    sheet.save(out / "worlds.png")
    frames = narrate(teacher, teacher.begin(seed, [0]))
    frames[0].save(
        out / "session.gif",
        save_all=True,
        append_images=frames[1:],
        duration=[1500] * (len(frames) - 1) + [3000],
        loop=0,
    )
    print(f"\nWritten: {out / 'worlds.png'}, {out / 'session.gif'}")


def narrate(teacher: Teacher, session: Session) -> list[Image.Image]:
    """Walk the oracle's way through a session, say what happens, and keep a picture of each step."""
    print(ansi(session.state, teacher.catalog)[0])
    print(f"\nTeacher: {teacher.text(session.command, 0)}")
    frames = []
    ended = False
    while not ended:
        lines = [f"Teacher: {teacher.text(session.command, 0)}"]
        if session.question.answer[0] >= 0:
            answer = teacher.lexicon.words[session.question.answer[0]]
            lines += [f"Teacher: {teacher.text(session.question, 0)}", f"Agent: {answer.capitalize()}."]
            print(f"Teacher: {lines[1][9:]:<60} Agent: {answer.capitalize()}.")
        frames.append(captioned(teacher, session, 0, lines))
        action, _ = best_actions(session.state)
        session, outcome = teacher.step(session, action)
        ended = bool(outcome.terminated[0] or outcome.truncated[0])
        print(f"  the agent goes {ACTIONS[action[0]]}: {outcome.reward[0]:+.1f}")
    print("Target reached." if outcome.terminated[0] else "Time is up.")
    return [
        *frames,
        captioned(teacher, session, 0, [f"Teacher: {teacher.text(session.command, 0)}", "Target reached."]),
    ]


def contact_sheet(teacher: Teacher, session: Session) -> Image.Image:
    """Many sessions at their beginning, each with its command and question."""
    tiles = []
    for b in range(len(session.index)):
        said = [teacher.text(session.command, b)]
        if session.question.answer[b] >= 0:
            answer = teacher.lexicon.words[session.question.answer[b]]
            said.append(f"{teacher.text(session.question, b)} ({answer})")
        tiles.append(captioned(teacher, session, b, said))
    width, height = tiles[0].size
    sheet = Image.new("RGB", (SHEET_COLUMNS * width, SHEET_ROWS * height), "white")
    for k, tile in enumerate(tiles):
        sheet.paste(tile, (k % SHEET_COLUMNS * width, k // SHEET_COLUMNS * height))
    return sheet.reduce(2)


def captioned(teacher: Teacher, session: Session, b: int, lines: list[str]) -> Image.Image:
    """The map of session b from above, with lines of text under it."""
    pixels: Pixels = draw(map_cells(session.state)[b : b + 1], teacher.catalog.pictures[PERSON_PIXELS])[0]
    side = pixels.shape[0]
    image = Image.new("RGB", (side + 16, side + CAPTION_PIXELS + 16), "white")
    image.paste(Image.fromarray(pixels), (8, 8))
    text = "\n".join(wrapped for line in lines for wrapped in textwrap.wrap(line, 52))
    ImageDraw.Draw(image).multiline_text((10, side + 12), text, "black", ImageFont.load_default(17), spacing=3)
    return image
