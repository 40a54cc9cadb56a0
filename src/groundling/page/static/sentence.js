// The sentence input: words are completed, and words that the agent does not know are marked.

import { h } from "./dom.js";

/** @typedef {import("./types").Check} Check */

const MAX_COMPLETIONS = 7;
const CHECK_DELAY_MS = 180;
const FREE_FORM = "Not a sentence of the teacher, but all words are known: the agent can run it.";

export class SentenceInput {
  /**
   * `words()` lists the known words; `check(text)` resolves to the server's check of a sentence; `heldOut()` lists the
   * words that no command and no question of the training had; `onchange(text)` is called when the user types.
   * @param {HTMLInputElement} input
   * @param {HTMLElement} list
   * @param {HTMLElement} feedback
   * @param {{ words: () => string[], heldOut: () => string[], check: (text: string) => Promise<Check> }} language
   * @param {(text: string) => void} onchange
   */
  constructor(input, list, feedback, language, onchange) {
    this.input = input;
    this.list = list;
    this.feedback = feedback;
    this.language = language;
    this.onchange = onchange;
    this.selected = -1;
    this.timer = 0;
    input.addEventListener("input", () => this.#changed());
    input.addEventListener("keydown", (event) => this.#keyDown(event));
    input.addEventListener("blur", () => this.#close());
  }

  /** Show a text that was not typed. @param {string} text */
  show(text) {
    if (this.input.value === text) return;
    this.input.value = text;
    this.#close();
    this.showFeedback();
  }

  /** The word before the caret, and where it starts and ends. */
  #current() {
    const before = this.input.value.slice(0, this.input.selectionStart ?? 0);
    const word = /[a-zA-Z]*$/.exec(before)?.[0] ?? "";
    return { word: word.toLowerCase(), start: before.length - word.length, end: before.length };
  }

  #changed() {
    this.onchange(this.input.value);
    const { word } = this.#current();
    const isCompletion = (/** @type {string} */ known) => word.length > 1 && known.startsWith(word) && known !== word;
    const found = this.language.words().filter(isCompletion).slice(0, MAX_COMPLETIONS);
    this.list.replaceChildren(...found.map((known, k) => this.#option(known, k)));
    this.list.hidden = !found.length;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.#select(-1);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.showFeedback(), CHECK_DELAY_MS);
  }

  /** @param {string} word @param {number} k */
  #option(word, k) {
    return h("li", {
      role: "option",
      id: `completion-${k}`,
      "aria-selected": "false",
      text: word,
      onpointerdown: (/** @type {Event} */ event) => {
        event.preventDefault(); // otherwise the input would lose the focus first
        this.#complete(word);
      },
    });
  }

  /** @param {number} k */
  #select(k) {
    this.selected = k;
    [...this.list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === k)));
    if (k < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `completion-${k}`);
  }

  /** @param {string} word */
  #complete(word) {
    const { start, end } = this.#current();
    const rest = this.input.value.slice(end);
    this.input.value = `${this.input.value.slice(0, start)}${word}${rest || " "}`;
    const caret = start + word.length + (rest ? 0 : 1);
    this.input.setSelectionRange(caret, caret);
    this.onchange(this.input.value);
    this.#close();
    this.showFeedback();
  }

  /** @param {KeyboardEvent} event */
  #keyDown(event) {
    const count = this.list.children.length;
    if (this.list.hidden || !count) return;
    if (event.key === "ArrowDown") this.#select((this.selected + 1) % count);
    else if (event.key === "ArrowUp") this.#select((this.selected <= 0 ? count : this.selected) - 1);
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Tab" || (event.key === "Enter" && this.selected >= 0)) {
      this.#complete(this.list.children[Math.max(0, this.selected)].textContent ?? "");
    } else return;
    event.preventDefault();
  }

  #close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.#select(-1);
  }

  /** Check the sentence, and show the result below the input. */
  async showFeedback() {
    clearTimeout(this.timer);
    const text = this.input.value;
    if (!text.trim()) return this.feedback.replaceChildren();
    let shown;
    try {
      shown = this.#describeCheck(await this.language.check(text));
    } catch (error) {
      shown = [String(/** @type {Error} */ (error).message)];
    }
    if (text === this.input.value) this.feedback.replaceChildren(...shown);
  }

  /** @param {Check} check @returns {(string | HTMLElement)[]} */
  #describeCheck(check) {
    const typed = this.list.hidden ? "" : this.#current().word; // the word that is still being typed
    const isThen = check.parts.length > 1;
    const notKnown = check.words.filter(
      ({ text, state }) => state !== "known" && text !== typed && !(isThen && text === "then"),
    );
    this.input.setAttribute("aria-invalid", String(notKnown.some(({ state }) => state === "unknown")));
    if (notKnown.length) return notKnown.map((word) => this.#describeWord(word));
    if (isThen) return [`The page will say these in turn: ${check.parts.join("; ")}.`];
    const heldOut = check.words.filter(({ text }) => this.language.heldOut().includes(text));
    if (heldOut.length) {
      const [{ text }] = heldOut;
      return [
        h("span", {}, h("span", { class: "unheard", text }), " never occurred in a command or question to this agent."),
      ];
    }
    return [check.kind === "free_form" ? FREE_FORM : `A ${check.kind} of the teacher.`];
  }

  /** @param {import("./types").CheckedWord} word */
  #describeWord({ text, state, suggestion, why, repaired }) {
    if (state === "unseen") return h("span", {}, h("mark", { text }), " was never seen in training: teach it below. ");
    const message = [h("mark", { class: "unknown", text }), " is not a word of the agent"];
    if (!suggestion || !repaired) return h("span", {}, ...message, ". ");
    const replace = () => {
      this.input.value = repaired;
      this.onchange(repaired);
      this.showFeedback();
      this.input.focus();
    };
    const button = h("button", { type: "button", class: "link", text: suggestion, onclick: replace });
    return h(
      "span",
      {},
      ...message,
      why === "typo" ? "; did you mean " : "; it knows ",
      button,
      why === "typo" ? "? " : ". ",
    );
  }
}
