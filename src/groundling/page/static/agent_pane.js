// The pane of one agent: its board, with an overlay that can be chosen, and the explanation of the shown step.

import { Board, linear } from "./board.js";
import { decimal, h, normalized } from "./dom.js";
import { Explanation } from "./explanation.js";

/** @typedef {import("./types").Run} Run */
/** @typedef {import("./types").Scene} Scene */

const OVERLAYS = [
  ["x_loc", "attention"],
  ["x_terr", "terrain"],
  ["value_map", "value"],
  ["none", "none"],
];
const LAST = "where it looked last"; // on arrival
const OVERLAY_TEXT = {
  x_loc: "where it looks",
  x_terr: "obstacles it sees",
  value_map: "value of each cell",
  none: "",
};

export class AgentPane {
  /**
   * `detect(word)` resolves to the detection map of a word in the shown frame, or null.
   * @param {string} name
   * @param {number} size
   * @param {import("./types").Paint} paint
   * @param {(word: string) => Promise<number[] | null>} [detect]
   */
  constructor(name, size, paint, detect = async () => null) {
    this.size = size;
    this.detect = detect;
    /** @type {{ scene: Scene, run: Run | null, index: number } | null} */
    this.shown = null;
    /** @type {{ word: string, map: number[] } | null} */
    this.detection = null;
    /** @type {string | null} */
    this.requestedWord = null;
    this.board = new Board(size, paint, { live: true, label: `The world of ${name}` });
    this.explanation = new Explanation(name, size, paint, (word) => this.#showDetection(word));
    this.readout = h("p", { class: "readout" });
    const options = OVERLAYS.map(([key, text]) => h("option", { value: key, text }));
    this.overlay = h("select", { "aria-label": `Overlay of ${name}`, onchange: () => this.#drawOverlay() }, ...options);
    this.caption = h("span", { class: "caption" });
    this.title = h("h2", { text: name });
    const scale = [h("span", { text: "0" }), h("span", { class: "scale" }), h("span", { text: "100 %" })];
    this.slot = h("div", { class: "slot" });
    this.column = h(
      "div",
      { class: "board-column" },
      h("div", { class: "pane-head" }, this.title, h("label", { class: "view" }, "show ", this.overlay)),
      this.board.element,
      h("p", { class: "legend", "aria-hidden": "true" }, ...scale, this.caption),
      this.slot,
      this.readout,
    );
    this.side = h("div", { class: "side" }, this.explanation.element);
    this.element = h("section", { class: "pane", "aria-label": name }, this.column, this.side);
  }

  /**
   * Show frame `index` of a run, or the scene alone.
   * @param {Scene} scene
   * @param {Run | null} run
   * @param {number} index
   */
  show(scene, run, index) {
    const frame = run && run.frames[Math.min(index, run.frames.length - 1)];
    this.shown = { scene, run, index };
    this.explanation.element.hidden = !frame;
    if (!run) this.detection = null;
    this.board.draw(scene, frame ? frame.at : scene.agent, run?.check.target ?? null);
    if (run && frame) this.explanation.show(scene, run.check, frame);
    this.#drawOverlay();
  }

  #drawOverlay() {
    const { run, index } = this.shown ?? {};
    if (!run || index === undefined) {
      this.caption.textContent = "";
      return this.board.overlay(null);
    }
    const name = /** @type {keyof typeof OVERLAY_TEXT} */ (this.overlay.value);
    const { explanation, end } = run.frames[Math.min(index, run.frames.length - 1)];
    const map = this.detection?.map ?? (name === "none" ? null : explanation[name]);
    const isValue = !this.detection && name === "value_map";
    const found = this.detection && Math.max(...this.detection.map) < 0.05 ? "not found here" : "detection";
    const text = end === "terminated" && name === "x_loc" ? LAST : OVERLAY_TEXT[name];
    this.caption.textContent = this.detection ? `${found}: “${this.detection.word}”` : text;
    if (map !== null && isValue) this.board.overlay(normalized(map), map, decimal, linear);
    else this.board.overlay(map, map, undefined, name === "x_terr" && !this.detection ? linear : Math.sqrt);
  }

  /** @param {string | null} word */
  async #showDetection(word) {
    this.requestedWord = word;
    const map = word === null ? null : await this.detect(word);
    if (this.requestedWord !== word) return; // another word was pointed at in the meantime
    this.detection = word === null || map === null ? null : { word, map };
    this.#drawOverlay();
  }
}
