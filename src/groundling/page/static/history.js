// What was said, with its outcome: each line can be replayed and linked; and the running score.

import { h, roving } from "./dom.js";

/** @typedef {import("./types").HistoryEntry} HistoryEntry */

const SYMBOLS = { correct: "✓", wrong: "✗", none: "–" };

export class History {
  /**
   * @param {HTMLElement} element
   * @param {{ replay: (entry: HistoryEntry) => void, link: (entry: HistoryEntry) => void, clear: () => void }} actions
   */
  constructor(element, actions) {
    this.actions = actions;
    this.score = h("p", { class: "score" });
    this.list = h("ol", { class: "history" });
    this.clear = h("button", { type: "button", text: "Clear", onclick: actions.clear });
    const buttons = h("div", {}, this.list, this.clear);
    element.append(this.score, buttons);
    this.refresh = roving(buttons, "button");
    /** @type {HistoryEntry[]} */
    this.shown = [];
  }

  /** @param {HistoryEntry[]} history */
  show(history) {
    if (history === this.shown && this.score.textContent) return;
    this.shown = history;
    const judged = history.filter(({ outcome }) => outcome !== "none");
    const right = judged.filter(({ outcome }) => outcome === "correct").length;
    this.score.textContent = judged.length ? `${right} of ${judged.length} right` : "Nothing was said yet.";
    this.clear.hidden = !history.length;
    this.list.replaceChildren(...history.map((entry) => this.#line(entry)).reverse());
    this.refresh();
  }

  /** @param {HistoryEntry} entry */
  #line(entry) {
    const { sentence, outcome, text } = entry;
    return h(
      "li",
      { class: `said ${outcome}` },
      h("span", { class: "said-sentence" }, h("span", { class: "symbol", text: SYMBOLS[outcome] }), ` ${sentence}`),
      h("span", { class: "said-outcome", text }),
      h(
        "span",
        { class: "said-actions" },
        h("button", {
          type: "button",
          class: "link",
          text: "Replay",
          "aria-label": `Replay: ${sentence}`,
          onclick: () => this.actions.replay(entry),
        }),
        h("button", {
          type: "button",
          class: "link",
          text: "Link",
          "aria-label": `Copy a link: ${sentence}`,
          onclick: () => this.actions.link(entry),
        }),
      ),
    );
  }
}
