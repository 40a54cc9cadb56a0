// Break it: the teacher says random sentences in random worlds at speed; failures are kept as links.

import { h, plural, roving } from "./dom.js";
import { toFile } from "./scene.js";

/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Trials} Trials */

const SEEDS = 2 ** 31;
const PAUSE_MS = 26; // below the message rate that the server allows
const MAX_FAILURES = 20;
/** @type {Trials} */
const NONE = { isRunning: false, tried: 0, judged: 0, failures: [] };

export class BreakIt {
  /**
   * @param {HTMLElement} element
   * @param {import("./store.js").Store} store
   * @param {import("./connection.js").Connection} connection
   * @param {{ replay: (sentence: string, world: Scene) => void, link: (sentence: string, world: Scene) => void }} actions
   */
  constructor(element, store, connection, actions) {
    this.store = store;
    this.connection = connection;
    this.actions = actions;
    this.toggle = h("button", { type: "button", onclick: () => (this.trials.isRunning ? this.stop() : this.start()) });
    this.clear = h("button", { type: "button", text: "Clear", onclick: () => this.store.set({ trials: NONE }) });
    this.counter = h("p", { class: "score", "data-tried": "0" });
    this.list = h("ol", { class: "history" });
    this.refresh = roving(this.list, "button");
    element.append(h("div", { class: "tools" }, this.toggle, this.clear), this.counter, this.list);
    /** @type {Trials | null} */
    this.shown = null;
  }

  get trials() {
    return this.store.state.trials;
  }

  /** @param {Trials} trials @param {boolean} isReady */
  show(trials, isReady) {
    this.toggle.disabled = !isReady;
    if (trials === this.shown) return;
    this.shown = trials;
    const { isRunning, judged, failures } = trials;
    this.toggle.textContent = isRunning ? "Stop" : "Break it";
    this.clear.disabled = isRunning || !judged;
    this.counter.dataset.tried = String(judged);
    this.counter.textContent = judged ? `${judged} tried, ${plural(failures.length, "failure")} found` : "";
    if (this.list.children.length !== failures.length) {
      this.list.replaceChildren(
        ...failures.map(({ sentence, world, text }) =>
          h(
            "li",
            { class: "said wrong" },
            h("span", { class: "said-sentence", text: `✗ ${sentence}` }),
            h("span", { class: "said-outcome", text }),
            h(
              "span",
              { class: "said-actions" },
              this.#button("Show", `Show: ${sentence}`, () => this.actions.replay(sentence, world)),
              this.#button("Link", `Copy a link to the failure: ${sentence}`, () => this.actions.link(sentence, world)),
            ),
          ),
        ),
      );
      this.refresh();
    }
  }

  /**
   * @param {string} text
   * @param {string} label
   * @param {() => void} onclick
   */
  #button(text, label, onclick) {
    return h("button", { type: "button", class: "link", text, "aria-label": label, onclick });
  }

  async start() {
    this.#change({ isRunning: true });
    while (this.trials.isRunning) {
      try {
        await this.#trial();
      } catch (error) {
        this.#change({ isRunning: false });
        this.store.notify(String(/** @type {Error} */ (error).message), true);
      }
    }
  }

  stop() {
    this.#change({ isRunning: false });
  }

  /** @param {Partial<Trials>} change */
  #change(change) {
    this.store.set({ trials: { ...this.trials, ...change } });
  }

  /** @param {string} name @param {Record<string, unknown>} fields */
  async #request(name, fields) {
    await new Promise((done) => setTimeout(done, PAUSE_MS));
    return this.connection.request(name, fields);
  }

  /** One random world with a command, or every other time a question. */
  async #trial() {
    const { agent, hello } = this.store.state;
    const { scene, command, question } = await this.#request("new_world", { seed: Math.floor(Math.random() * SEEDS) });
    const isCommand = this.trials.tried % 2 === 0 || !question;
    this.#change({ tried: this.trials.tried + 1 });
    const sentence = isCommand ? command : question;
    if (!sentence) return;
    const failure = isCommand
      ? await this.#walk(agent, scene, sentence, hello?.max_steps ?? 0)
      : await this.#ask(agent, scene, sentence);
    if (!this.trials.isRunning) return; // stopped before the end
    const { judged, failures } = this.trials;
    const found = failure ? [...failures, { sentence, world: scene, text: failure }].slice(-MAX_FAILURES) : failures;
    this.#change({ judged: judged + 1, failures: found });
  }

  /**
   * What is wrong with the answer, or an empty text.
   * @param {number} agent
   * @param {Scene} scene
   * @param {string} sentence
   */
  async #ask(agent, scene, sentence) {
    const { sentence_check: check, explanation } = await this.#request("step", {
      agent,
      scene: toFile(scene),
      sentence,
    });
    const word = explanation.answers?.[0]?.word;
    return check.answer === null || check.answer === word ? "" : `It answered “${word}” instead of “${check.answer}”.`;
  }

  /**
   * What is wrong with the walk, or an empty text.
   * @param {number} agent
   * @param {Scene} scene
   * @param {string} sentence
   * @param {number} maxSteps
   */
  async #walk(agent, scene, sentence, maxSteps) {
    let at = scene.agent;
    const visited = new Set([String(at)]);
    for (let k = 0; k < maxSteps && this.trials.isRunning; k += 1) {
      const fields = { agent, scene: toFile({ ...scene, agent: at }), sentence, start: scene.agent };
      const { move } = await this.#request("step", fields);
      at = move.to;
      if (move.terminated) return "";
      if (visited.has(String(at))) return "It goes in circles and never arrives.";
      visited.add(String(at));
    }
    return "It did not arrive in time.";
  }
}
