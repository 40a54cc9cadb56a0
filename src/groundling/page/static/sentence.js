// The sentence input: words are completed, and words that the agent does not know are marked.

import { h } from "./dom.js";

const MAX_COMPLETIONS = 7;
const CHECK_DELAY_MS = 180;
const FREE_FORM = "Not a sentence of the teacher’s grammar, but all words are known; the agent can run it.";

export class SentenceInput {
  /** `words()` lists the known words; `check(text)` resolves to the server's check of a sentence. */
  constructor(input, list, feedback, words, check) {
    this.input = input;
    this.list = list;
    this.feedback = feedback;
    this.words = words;
    this.check = check;
    this.selected = -1;
    input.addEventListener("input", () => this.#changed());
    input.addEventListener("keydown", (event) => this.#keyDown(event));
    input.addEventListener("blur", () => this.#close());
  }

  get text() {
    return this.input.value.trim();
  }

  set text(text) {
    this.input.value = text;
    this.#close();
    this.showFeedback();
  }

  /** The word before the caret, and where it starts and ends. */
  #current() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const word = /[a-zA-Z]*$/.exec(before)[0];
    return { word: word.toLowerCase(), start: before.length - word.length, end: before.length };
  }

  #changed() {
    const { word } = this.#current();
    const isCompletion = (known) => word.length > 1 && known.startsWith(word) && known !== word;
    const found = this.words().filter(isCompletion).slice(0, MAX_COMPLETIONS);
    this.list.replaceChildren(...found.map((known, k) => this.#option(known, k)));
    this.list.hidden = !found.length;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.#select(-1);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.showFeedback(), CHECK_DELAY_MS);
  }

  #option(word, k) {
    return h("li", {
      role: "option",
      id: `completion-${k}`,
      text: word,
      onpointerdown: (event) => {
        event.preventDefault(); // otherwise the input would lose the focus first
        this.#complete(word);
      },
    });
  }

  #select(k) {
    this.selected = k;
    [...this.list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === k)));
    if (k < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `completion-${k}`);
  }

  #complete(word) {
    const { start, end } = this.#current();
    const rest = this.input.value.slice(end);
    this.input.value = `${this.input.value.slice(0, start)}${word}${rest || " "}`;
    const caret = start + word.length + (rest ? 0 : 1);
    this.input.setSelectionRange(caret, caret);
    this.#close();
    this.showFeedback();
  }

  #keyDown(event) {
    const count = this.list.children.length;
    if (this.list.hidden || !count) return;
    if (event.key === "ArrowDown") this.#select((this.selected + 1) % count);
    else if (event.key === "ArrowUp") this.#select((this.selected <= 0 ? count : this.selected) - 1);
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Tab" || (event.key === "Enter" && this.selected >= 0)) {
      this.#complete(this.list.children[Math.max(0, this.selected)].textContent);
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
    const text = this.text;
    if (!text) return this.feedback.replaceChildren();
    let shown;
    try {
      shown = this.#describeCheck(await this.check(text));
    } catch (error) {
      shown = [error.message];
    }
    if (text === this.text) this.feedback.replaceChildren(...shown);
  }

  #describeCheck(check) {
    const notKnown = check.words.filter(({ state }) => state !== "known");
    this.input.setAttribute("aria-invalid", String(notKnown.some(({ state }) => state === "unknown")));
    if (notKnown.length) return notKnown.map((word) => this.#describeWord(word));
    if (check.kind !== "free_form") return [`A ${check.kind} of the teacher’s grammar (${check.type}).`];
    return [h("span", { title: check.parse_error, text: FREE_FORM })];
  }

  #describeWord({ text, state, suggestion }) {
    if (state === "unseen") return h("span", {}, h("mark", { text }), " was not seen in training. ");
    const message = [h("mark", { class: "unknown", text }), " is not in the agent’s lexicon"];
    if (!suggestion) return h("span", {}, ...message, ". ");
    const replace = () => this.#replaceWord(text, suggestion);
    const button = h("button", { type: "button", class: "link", text: suggestion, onclick: replace });
    return h("span", {}, ...message, "; did you mean ", button, "? ");
  }

  #replaceWord(word, replacement) {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const wholeWord = new RegExp(`(?<![a-z])${escaped}(?![a-z])`, "i");
    this.text = this.input.value.replace(wholeWord, replacement);
    this.input.focus();
  }
}
