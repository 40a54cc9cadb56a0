// Example sentences made from the current world, one per sentence type.

import { h, roving } from "./dom.js";
import { toFile } from "./scene.js";

/** @typedef {{ sentence: string, type: string, kind: string, held_out: string[] }} ExampleSentence */

const REFRESH_DELAY_MS = 250;
const SEEDS = 2 ** 31;

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
    this.request = 0;
  }

  /** @param {import("./types").Scene} world @param {number} agent */
  load(world, agent) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#load(world, agent), REFRESH_DELAY_MS);
  }

  /** @param {import("./types").Scene} world @param {number} agent */
  async #load(world, agent) {
    const request = ++this.request;
    const seed = Math.floor(Math.random() * SEEDS);
    const fields = { agent, scene: toFile(world), seed };
    const reply = await this.connection.request("examples", fields).catch(() => ({ examples: [] }));
    if (request === this.request) this.#show(reply.examples);
  }

  /** @param {ExampleSentence[]} examples */
  #show(examples) {
    const unheard = examples.find(({ held_out: heldOut }) => heldOut.length);
    const chips = examples.filter((example) => example !== unheard).map((example) => this.#chip(example, ""));
    const first = unheard ? [this.#chip(unheard, "a word it never heard: ")] : [];
    const teach = h("button", {
      type: "button",
      class: "chip special",
      text: "Teach it a word",
      onclick: this.actions.teach,
    });
    const focused = [...this.element.children].indexOf(/** @type {Element} */ (document.activeElement));
    this.element.replaceChildren(...first, teach, ...chips);
    this.refresh();
    const next = this.element.children[Math.min(focused, this.element.children.length - 1)];
    if (focused >= 0 && next instanceof HTMLElement) next.focus({ preventScroll: true });
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
