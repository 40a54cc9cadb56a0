// One agent's side of the page: its board, what came of the sentence, and its insides.

import { Board } from "./board.js";
import { h, percent, plain, scaled } from "./dom.js";
import { Inside } from "./inside.js";

const NO_VERDICT = "The teacher would not say this here, so there is no right or wrong.";
const VIEWS = [["x_loc", "attention"], ["terrain", "terrain"], ["value", "value"], ["none", "nothing"]];

export class Pane {
  /** `where(word)` resolves to the map of where the agent sees a word in the shown frame, or null. */
  constructor(name, size, paint, where = async () => null) {
    this.size = size;
    this.where = where;
    this.frames = [];
    this.index = 0;
    this.pointed = null;
    this.board = new Board(size, paint, { live: true, label: `The world of ${name}` });
    this.inside = new Inside(size, paint, (word) => this.#point(word));
    this.inside.element.hidden = true;
    this.verdict = h("p", { class: "verdict", role: "status" });
    this.readout = h("p", { class: "readout", "aria-live": "polite" });
    const views = VIEWS.map(([key, text]) => h("option", { value: key, text }));
    this.view = h("select", { "aria-label": "Show over the world", onchange: () => this.#overlay() }, ...views);
    this.caption = h("span", { class: "caption" });
    this.slot = h("div");
    const view = h("label", { class: "view" }, "over the world: ", this.view);
    const scale = [h("span", { text: "0" }), h("span", { class: "scale" }), h("span", { text: "1" })];
    const stage = h(
      "div",
      { class: "stage" },
      h("div", { class: "stage-head" }, h("h2", { text: name }), view),
      this.board.element,
      h("p", { class: "legend", "aria-hidden": "true" }, ...scale, this.caption),
      this.slot,
      this.verdict,
      this.readout,
    );
    this.element = h("section", { class: "pane", "aria-label": name }, stage, this.inside.element);
  }

  /** The world as it stands, with nothing said. */
  rest(scene) {
    this.scene = scene;
    this.frames = [];
    this.reading = null;
    this.pointed = null;
    this.verdict.replaceChildren();
    this.inside.element.hidden = true;
    this.board.draw(scene, scene.agent);
    this.board.overlay(null);
    this.caption.textContent = "";
  }

  /** Begin with the first frame of what a sentence led to. */
  begin(scene, reading, frame) {
    this.scene = scene;
    this.reading = reading;
    this.frames = [frame];
    this.inside.element.hidden = false;
  }

  get last() {
    return this.frames[this.frames.length - 1];
  }

  get shown() {
    return this.frames[this.index];
  }

  show(index) {
    if (!this.frames.length) return;
    this.index = Math.min(index, this.frames.length - 1);
    const frame = this.shown;
    this.board.draw(this.scene, frame.at, this.reading.target);
    this.inside.show(this.scene, frame.at, this.reading, frame.inside);
    this.#overlay();
    this.verdict.replaceChildren(...judge(this.reading, this.frames, this.index));
  }

  #overlay() {
    if (!this.frames.length) return;
    const map = this.pointed?.map ?? this.shown.inside[this.view.value] ?? null;
    const isValue = !this.pointed && this.view.value === "value";
    this.caption.textContent = this.pointed ? `where it sees “${this.pointed.word}”` : "";
    this.board.element.classList.toggle("pointed", Boolean(this.pointed));
    if (map !== null && isValue) this.board.overlay(scaled(map), map, plain);
    else this.board.overlay(map);
  }

  async #point(word) {
    this.wanted = word;
    const map = word === null ? null : await this.where(word);
    if (this.wanted !== word) return;
    this.pointed = map === null ? null : { word, map };
    this.#overlay();
  }
}

/** What is to be said of a sentence at a frame. */
function judge(reading, frames, index) {
  const frame = frames[index];
  if (reading.kind === "question") return judgeAnswer(reading, frame.inside.answers);
  const said = [];
  if (reading.kind === "free") {
    const [best] = frame.inside.answers ?? [];
    said.push(line("note", best ? `As a question it would answer “${best.word}” (${percent(best.share)}).` : ""));
  } else if (reading.target === null) {
    said.push(line("note", NO_VERDICT));
  }
  if (!frame.done) return said;
  const steps = `${index} ${index === 1 ? "step" : "steps"}`;
  if (reading.target === null) {
    said.push(line("", frame.done === "ended" ? `It went where it looked, in ${steps}.` : `It went on for ${steps}.`));
  } else if (frame.done === "ended") {
    said.push(line("right", `✓ Right: it reached the target in ${steps}; a shortest way has ${reading.shortest}.`));
  } else {
    said.push(line("wrong", `✗ Wrong: it did not reach the target in ${steps}.`));
  }
  const wrong = frames.slice(0, index).filter(({ move }) => move?.wrong).length;
  if (wrong) said.push(line("note", `It stepped on another object ${wrong === 1 ? "once" : `${wrong} times`}.`));
  return said;
}

function judgeAnswer(reading, answers) {
  if (!answers) return [line("note", "This agent answers no questions.")];
  const [{ word }] = answers;
  const said = [h("strong", { class: "answer", text: `“${word}”` })];
  if (reading.answer === null) said.push(line("note", NO_VERDICT));
  else if (reading.answer === word) said.push(line("right", "✓ Right."));
  else said.push(line("wrong", `✗ Wrong: the answer is “${reading.answer}”.`));
  return said;
}

function line(kind, text) {
  return h("span", { class: `line ${kind}`, text });
}
