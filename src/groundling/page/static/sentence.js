// The sentence being written: words are completed, and those that the agent does not know are marked.

import { h } from "./dom.js";

const MOST = 7;
const PAUSE = 180;
const FREE = "None of the teacher’s sentences, but all words are known: it is run all the same.";

export class Sentence {
  /** `words()` lists the known words; `read(text)` resolves to the server's reading of a text. */
  constructor(input, list, marks, words, read) {
    this.input = input;
    this.list = list;
    this.marks = marks;
    this.words = words;
    this.read = read;
    this.chosen = -1;
    input.addEventListener("input", () => this.#written());
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => this.#close());
  }

  get text() {
    return this.input.value.trim();
  }

  set text(text) {
    this.input.value = text;
    this.#close();
    this.mark();
  }

  /** The word under the caret, and where it begins. */
  #current() {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const word = /[a-zA-Z]*$/.exec(before)[0];
    return { word: word.toLowerCase(), start: before.length - word.length, end: before.length };
  }

  #written() {
    const { word } = this.#current();
    const fits = (known) => word.length > 1 && known.startsWith(word) && known !== word;
    const found = this.words().filter(fits).slice(0, MOST);
    this.list.replaceChildren(...found.map((known, k) => this.#option(known, k)));
    this.list.hidden = !found.length;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.#choose(-1);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.mark(), PAUSE);
  }

  #option(word, k) {
    return h("li", {
      role: "option",
      id: `completion-${k}`,
      text: word,
      onpointerdown: (event) => {
        event.preventDefault(); // or the input would lose the focus first
        this.#complete(word);
      },
    });
  }

  #choose(k) {
    this.chosen = k;
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
    this.mark();
  }

  #key(event) {
    const count = this.list.children.length;
    if (this.list.hidden || !count) return;
    if (event.key === "ArrowDown") this.#choose((this.chosen + 1) % count);
    else if (event.key === "ArrowUp") this.#choose((this.chosen <= 0 ? count : this.chosen) - 1);
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Tab" || (event.key === "Enter" && this.chosen >= 0)) {
      this.#complete(this.list.children[Math.max(0, this.chosen)].textContent);
    } else return;
    event.preventDefault();
  }

  #close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.#choose(-1);
  }

  /** Ask what the sentence is, and show it below. */
  async mark() {
    clearTimeout(this.timer);
    const text = this.text;
    if (!text) return this.marks.replaceChildren();
    let shown;
    try {
      shown = this.#marked(await this.read(text));
    } catch (error) {
      shown = [error.message];
    }
    if (text === this.text) this.marks.replaceChildren(...shown);
  }

  #marked(reading) {
    const odd = reading.words.filter(({ state }) => state !== "known");
    const unknown = odd.filter(({ state }) => state === "unknown");
    this.input.setAttribute("aria-invalid", String(unknown.length > 0));
    if (odd.length) return odd.map((word) => this.#oddity(word));
    if (reading.kind !== "free") return [`A ${reading.kind} of the teacher’s language (${reading.type}).`];
    return [h("span", { title: reading.complaint, text: FREE })];
  }

  #oddity({ text, state, nearest }) {
    if (state === "untaught") return h("span", {}, h("mark", { text }), " was never told to the agent. ");
    const said = [h("mark", { class: "unknown", text }), " is no word that it knows"];
    if (!nearest) return h("span", {}, ...said, ". ");
    const mend = () => this.#mend(text, nearest);
    const offer = h("button", { type: "button", class: "link", text: nearest, onclick: mend });
    return h("span", {}, ...said, "; did you mean ", offer, "? ");
  }

  #mend(wrong, right) {
    this.text = this.input.value.replace(new RegExp(`\\b${wrong}\\b`, "i"), right);
    this.input.focus();
  }
}
