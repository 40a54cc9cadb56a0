// The result beside the sentence: what each agent answered or did, and whether that was right.

import { h } from "./dom.js";
import { shownAgents } from "./store.js";
import { isComplete, verdictOf } from "./verdict.js";

/** @typedef {import("./types").State} State */

export class Result {
  /**
   * @param {HTMLElement} element
   * @param {() => void} walk starts the walk of a sentence that was read as a question
   */
  constructor(element, walk) {
    this.element = element;
    this.walk = walk;
    this.key = "";
  }

  /** @param {State} state */
  show(state) {
    const lines = state.refusal ? [h("p", { class: "verdict refused" }, state.refusal)] : this.#verdicts(state);
    const key = lines.map((line) => line.outerHTML).join("");
    if (key === this.key) return; // otherwise screen readers would repeat it
    this.key = key;
    this.element.replaceChildren(...lines);
  }

  /** @param {State} state */
  #verdicts(state) {
    const { hello, runs, index } = state;
    if (!hello) return [h("p", { class: "note", text: "Connecting to the server …" })];
    if (!runs.length) return [h("p", { class: "note", text: "The answer, or how the walk ended, will be here." })];
    const agents = shownAgents(state).map((k) => hello.agents[k]);
    return runs.map((run, pane) => {
      const judged = isComplete(run) ? run.frames.length - 1 : index; // a result stays while its walk is looked at
      const { outcome, headline, notes, canWalk } = verdictOf(run, judged, agents[pane].held_out_words);
      const name = runs.length > 1 ? [h("span", { class: "verdict-agent", text: `${agents[pane].name}: ` })] : [];
      const walk = h("button", { type: "button", class: "link", text: "Walk it", onclick: this.walk });
      return h(
        "p",
        { class: `verdict ${outcome}` },
        ...name,
        h("strong", { class: "headline", text: headline }),
        ...notes.map((text) => h("span", { class: "line", text })),
        ...(canWalk ? [walk] : []),
      );
    });
  }
}
