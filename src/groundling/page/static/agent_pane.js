// The pane of one agent: its board, the outcome of the sentence, and the explanation.

import { Board } from "./board.js";
import { decimal, h, normalized, percent } from "./dom.js";
import { Explanation } from "./explanation.js";

const NO_VERDICT = "This sentence is not valid in this world, so there is no correct outcome.";
const OVERLAYS = [["x_loc", "attention"], ["x_terr", "terrain"], ["value_map", "value"], ["none", "none"]];

export class AgentPane {
  /** `detect(word)` resolves to the detection map of a word in the shown frame, or null. */
  constructor(name, size, paint, detect = async () => null) {
    this.size = size;
    this.detect = detect;
    this.frames = [];
    this.index = 0;
    this.detection = null; // { word, map } of the word that is pointed at
    this.board = new Board(size, paint, { live: true, label: `The world of ${name}` });
    this.explanation = new Explanation(size, paint, (word) => this.#showDetection(word));
    this.explanation.element.hidden = true;
    this.verdict = h("p", { class: "verdict", role: "status" });
    this.readout = h("p", { class: "readout", "aria-live": "polite" });
    const options = OVERLAYS.map(([key, text]) => h("option", { value: key, text }));
    this.overlay = h("select", { "aria-label": "Overlay", onchange: () => this.#drawOverlay() }, ...options);
    this.caption = h("span", { class: "caption" });
    this.slot = h("div");
    const overlay = h("label", { class: "view" }, "overlay: ", this.overlay);
    const scale = [h("span", { text: "0" }), h("span", { class: "scale" }), h("span", { text: "1" })];
    const boardColumn = h(
      "div",
      { class: "board-column" },
      h("div", { class: "pane-head" }, h("h2", { text: name }), overlay),
      this.board.element,
      h("p", { class: "legend", "aria-hidden": "true" }, ...scale, this.caption),
      this.slot,
      this.verdict,
      this.readout,
    );
    this.element = h("section", { class: "pane", "aria-label": name }, boardColumn, this.explanation.element);
  }

  /** Show a scene without a sentence. */
  reset(scene) {
    this.scene = scene;
    this.frames = [];
    this.sentenceCheck = null;
    this.detection = null;
    this.verdict.replaceChildren();
    this.explanation.element.hidden = true;
    this.board.draw(scene, scene.agent);
    this.board.overlay(null);
    this.caption.textContent = "";
  }

  /** Start a walk with its first frame. */
  begin(scene, sentenceCheck, frame) {
    this.scene = scene;
    this.sentenceCheck = sentenceCheck;
    this.frames = [frame];
    this.explanation.element.hidden = false;
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
    this.board.draw(this.scene, frame.at, this.sentenceCheck.target);
    this.explanation.show(this.scene, frame.at, this.sentenceCheck, frame.explanation);
    this.#drawOverlay();
    this.verdict.replaceChildren(...verdict(this.sentenceCheck, this.frames, this.index));
  }

  #drawOverlay() {
    if (!this.frames.length) return;
    const map = this.detection?.map ?? this.shown.explanation[this.overlay.value] ?? null;
    const isValue = !this.detection && this.overlay.value === "value_map";
    this.caption.textContent = this.detection ? `detection of “${this.detection.word}”` : "";
    this.board.element.classList.toggle("detection", Boolean(this.detection));
    if (map !== null && isValue) this.board.overlay(normalized(map), map, decimal);
    else this.board.overlay(map);
  }

  async #showDetection(word) {
    this.requestedWord = word;
    const map = word === null ? null : await this.detect(word);
    if (this.requestedWord !== word) return; // another word was pointed at in the meantime
    this.detection = map === null ? null : { word, map };
    this.#drawOverlay();
  }
}

/** Lines about the outcome of a sentence up to a frame. */
function verdict(sentenceCheck, frames, index) {
  const frame = frames[index];
  if (sentenceCheck.kind === "question") return answerVerdict(sentenceCheck, frame.explanation.answers);
  const lines = [];
  if (sentenceCheck.kind === "free_form") {
    const [best] = frame.explanation.answers ?? [];
    const answer = best ? `Answer if read as a question: “${best.word}” (${percent(best.probability)}).` : "";
    lines.push(line("note", answer));
  } else if (sentenceCheck.target === null) {
    lines.push(line("note", NO_VERDICT));
  }
  if (!frame.end) return lines;
  const steps = `${index} ${index === 1 ? "step" : "steps"}`;
  const terminated = frame.end === "terminated";
  if (sentenceCheck.target === null) {
    const where = terminated ? " at the cell with the highest attention" : "";
    lines.push(line("", `Stopped${where} after ${steps}.`));
  } else if (terminated) {
    const { shortest_path: shortest } = sentenceCheck;
    lines.push(line("correct", `✓ Success: target reached in ${steps} (shortest path: ${shortest}).`));
  } else {
    lines.push(line("wrong", `✗ Failure: target not reached in ${steps}.`));
  }
  const wrong = frames.slice(0, index).filter(({ move }) => move?.wrong_object).length;
  if (wrong) lines.push(line("note", `Stepped on a wrong object ${wrong === 1 ? "once" : `${wrong} times`}.`));
  return lines;
}

function answerVerdict(sentenceCheck, answers) {
  if (!answers) return [line("note", "This agent has no answer head.")];
  const [{ word }] = answers;
  const lines = [h("strong", { class: "answer", text: `“${word}”` })];
  if (sentenceCheck.answer === null) lines.push(line("note", NO_VERDICT));
  else if (sentenceCheck.answer === word) lines.push(line("correct", "✓ Correct."));
  else lines.push(line("wrong", `✗ Wrong: the correct answer is “${sentenceCheck.answer}”.`));
  return lines;
}

function line(kind, text) {
  return h("span", { class: `line ${kind}`, text });
}
