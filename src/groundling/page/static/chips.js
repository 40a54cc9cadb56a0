// Example sentences made from the current world, one per sentence type.

import { h, roving } from "./dom.js";
import { toFile } from "./scene.js";

/** @typedef {{ sentence: string, type: string, kind: string, held_out: string[] }} ExampleSentence */

const EDIT_DELAY_MS = 250;
const RETRY_MS = 1000;

export class Chips {
  /**
   * @param {HTMLElement} element
   * @param {import("./connection.js").Connection} connection
   * @param {{ say: (sentence: string) => void, teach: () => void }} actions
   */
  constructor(element, connection, actions) {
    this.element = element;
    this.connection = connection;
    this.actions = actions;
    this.refresh = roving(element, "button");
    this.timer = 0;
    this.key = ""; // what the examples are for: the same world has the same examples
    this.#show([]);
  }

  /** The next examples are not known yet: the element is marked as busy, and keeps those before. */
  wait() {
    clearTimeout(this.timer);
    this.key = "";
    this.element.setAttribute("aria-busy", "true");
  }

  /**
   * Show the examples for a world.
   * @param {import("./types").Scene} world
   * @param {number} agent
   * @param {string} lexicon identifies the agent and the words that it knows
   */
  load(world, agent, lexicon) {
    const scene = toFile(world);
    const key = JSON.stringify([agent, lexicon, scene]);
    if (key === this.key) return;
    const delay = this.key ? EDIT_DELAY_MS : 0;
    this.wait();
    this.key = key;
    this.timer = setTimeout(() => this.#load(key, { agent, scene }), delay);
  }

  /** @param {string} key @param {Record<string, unknown>} fields */
  async #load(key, fields) {
    let examples;
    try {
      ({ examples } = await this.connection.request("examples", fields));
    } catch {
      if (key === this.key) this.timer = setTimeout(() => this.#load(key, fields), RETRY_MS);
      return;
    }
    if (key !== this.key) return; // the world has changed meanwhile
    this.#show(examples);
    this.element.setAttribute("aria-busy", "false");
  }

  /** @param {ExampleSentence[]} examples */
  #show(examples) {
    const heldOut = examples.filter(({ held_out: words }) => words.length);
    const unheard = heldOut.find(({ kind }) => kind === "command") ?? heldOut[0];
    const chips = examples.filter((example) => example !== unheard).map((example) => this.#chip(example, ""));
    const first = unheard ? [this.#chip(unheard, "a word it never heard: ")] : [];
    const teach = h("button", {
      type: "button",
      class: "chip special",
      text: "Teach it a word",
      onclick: this.actions.teach,
    });
    const before = [...this.element.children];
    const focused = before.indexOf(/** @type {Element} */ (document.activeElement));
    const after = [...first, teach, ...chips];
    this.element.replaceChildren(...after);
    this.refresh();
    if (focused < 0) return;
    const same = after.find(({ textContent: text }) => text === before[focused].textContent);
    (same ?? after[Math.min(focused, after.length - 1)]).focus({ preventScroll: true });
  }

  /** @param {ExampleSentence} example @param {string} label */
  #chip({ sentence, kind }, label) {
    const onclick = () => this.actions.say(sentence);
    return h(
      "button",
      { type: "button", class: label ? "chip special" : `chip ${kind}`, onclick },
      ...(label ? [h("small", { text: label })] : []),
      sentence,
    );
  }
}
