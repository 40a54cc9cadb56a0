// Few-shot teaching: a picture is named, put beside the agent, and the agent is asked about it before and after.

import { bar, h, plural } from "./dom.js";
import { Picture } from "./picture.js";
import { atOf, cellContents, positionOf, toFile, withContent, withoutContent } from "./scene.js";
import { shownWorld } from "./store.js";

/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Content} Content */
/** @typedef {import("./types").TaughtWord} TaughtWord */
/** @typedef {import("./types").Answer} Answer */

/** @type {Record<string, [number, number]>} */
const DIRECTIONS = {
  west: [0, -1],
  east: [0, 1],
  north: [-1, 0],
  south: [1, 0],
  northeast: [-1, 1],
  southeast: [1, 1],
  southwest: [1, -1],
  northwest: [-1, -1],
};
const WORLD_SEEDS = 10000;

export class Teach {
  /**
   * @param {HTMLElement} element
   * @param {import("./store.js").Store} store
   * @param {import("./connection.js").Connection} connection
   * @param {import("./walks.js").Walks} walks
   */
  constructor(element, store, connection, walks) {
    this.store = store;
    this.connection = connection;
    this.walks = walks;
    this.isBusy = false;
    this.picture = new Picture(
      () => this.show(),
      (text) => this.store.notify(text, true),
    );
    this.object = h("select", { id: "teach-object", onchange: () => this.show() });
    this.name = h("input", {
      id: "teach-name",
      maxlength: "20",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.show(),
    });
    this.teachButton = h("button", { class: "primary", text: "Teach it" });
    this.moreButton = h("button", {
      type: "button",
      text: "Another example",
      onclick: () => this.#run(() => this.#teach(false)),
    });
    this.goButton = h("button", { type: "button", onclick: () => this.#run(() => this.#command()) });
    this.forgetButton = h("button", { type: "button", text: "Forget all", onclick: () => this.#forget() });
    this.status = h("p", { class: "note", role: "status" });
    this.beforeAfter = h("div", { class: "before-after" });
    this.objectField = field("An object whose name it never heard", this.object);
    const form = h(
      "form",
      {
        class: "tools",
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          this.#run(() => this.#teach(true));
        },
      },
      field("Its name", this.name),
      this.teachButton,
      this.moreButton,
      this.goButton,
      this.forgetButton,
    );
    element.append(this.picture.element, this.objectField, form, this.status, this.beforeAfter);
  }

  /** The word that is being taught. */
  get word() {
    return this.name.value.trim().toLowerCase();
  }

  /** Show what can be taught and what was. */
  show() {
    const { hello, world, taught, before, after } = this.store.state;
    const isReady = Boolean(hello && world) && !this.isBusy;
    const novel = new Set(hello?.agents.flatMap((agent) => agent.novel_words) ?? []);
    this.objectField.hidden = !novel.size;
    const wanted = hello?.classes.filter(({ name }) => novel.has(name)) ?? [];
    if (this.object.options.length !== wanted.length + 1) {
      this.object.replaceChildren(
        h("option", { value: "", text: "choose …" }),
        ...wanted.map(({ name }) => h("option", { value: name, text: name })),
      );
    }
    if (this.object.value) this.name.value = this.object.value;
    const { word } = this;
    const count = this.#examples(word).length;
    const isTeachable = hello?.agents.some(({ teachable }) => teachable) ?? false;
    const hasPicture = this.picture.png !== null || this.object.value !== "" || Boolean(world?.drawings?.[word]);
    this.teachButton.disabled = !isReady || !isTeachable || this.isBusy;
    this.moreButton.hidden = !count;
    this.moreButton.disabled = !isReady || !hasPicture;
    this.goButton.hidden = !count;
    this.goButton.disabled = !isReady;
    this.goButton.textContent = `“Go to the ${word}.”`;
    this.forgetButton.hidden = !taught.length;
    this.forgetButton.disabled = this.isBusy;
    if (!isTeachable && hello) this.status.textContent = "This agent cannot be taught.";
    else if (!this.isBusy) this.status.textContent = count ? `Taught “${word}” with ${plural(count, "example")}.` : "";
    this.#showBeforeAfter(before, after);
  }

  /** @param {Answer[] | null} before @param {Answer[] | null} after */
  #showBeforeAfter(before, after) {
    const list = (/** @type {string} */ title, /** @type {Answer[] | null} */ answers) =>
      answers
        ? [
            h(
              "div",
              {},
              h("h3", { text: title }),
              h("ol", { class: "bars" }, ...answers.slice(0, 3).map(({ word, probability }) => bar(word, probability))),
            ),
          ]
        : [];
    this.beforeAfter.replaceChildren(...list("Before: what is it?", before), ...list("After", after));
  }

  /** @param {string} word */
  #examples(word) {
    return this.store.state.taught.find((taught) => taught.word === word)?.examples ?? [];
  }

  /**
   * Run a slow action that may fail: all buttons are disabled meanwhile, and an error is shown.
   * @param {() => Promise<void>} action
   */
  async #run(action) {
    if (this.isBusy || !this.store.state.world) return;
    this.isBusy = true;
    this.show();
    try {
      await action();
    } catch (error) {
      this.store.notify(String(/** @type {Error} */ (error).message), true);
      if (!this.isSynced) await this.sync(this.store.state.taught).catch(() => {}); // taught, but not asked after it
    }
    this.isBusy = false;
    this.show();
  }

  /**
   * The object that has the name: drawn, uploaded, or one whose name was held out.
   * @returns {Promise<{ kind: Content, drawings: Record<string, string> }>}
   */
  async #object() {
    const { world } = this.store.state;
    const { word } = this;
    await this.picture.pending;
    if (this.object.value) return { kind: { name: this.object.value, icon: 0 }, drawings: { ...world?.drawings } };
    if (!word) throw new Error("give it a name: a new word of letters");
    const known = world?.drawings?.[word];
    if (!this.picture.png && !known) throw new Error("draw something, or choose a picture first");
    const reply = this.picture.png
      ? await this.connection.request("convert_drawing", { name: word, png: this.picture.png })
      : { png: known };
    return { kind: { name: word, icon: 0 }, drawings: { ...world?.drawings, [word]: reply.png } };
  }

  /**
   * Put the object beside the agent, ask, teach, and ask again.
   * @param {boolean} isHere whether in the shown world; otherwise in a random one
   */
  async #teach(isHere) {
    const { state } = this.store;
    const shown = shownWorld(state);
    if (!shown) return;
    this.walks.stop();
    const { kind, drawings } = await this.#object();
    const base = isHere
      ? shown
      : (await this.connection.request("new_world", { seed: Math.floor(Math.random() * WORLD_SEEDS) })).scene;
    const { scene, sentence } = this.#beside({ ...base, drawings }, kind);
    const agent = state.hello?.agents.findIndex(({ teachable }) => teachable) ?? 0;
    const before = await this.#ask(agent, scene, sentence);
    this.status.textContent = "Learning …";
    const { word } = this;
    const examples = [...this.#examples(word), { scene: toFile(scene), sentence }].slice(
      -(state.hello?.max_examples ?? 1),
    );
    const taught = [...state.taught.filter((other) => other.word !== word), { word, examples }];
    const started = performance.now();
    await this.sync(taught);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const after = await this.#ask(agent, scene, sentence);
    this.picture.png = null;
    const change = { taught, before, after };
    if (isHere) await this.walks.run(sentence, scene, change);
    else this.store.commit(change);
    this.beforeAfter.scrollIntoView({ block: "nearest" });
    this.store.notify(
      `Learned “${word}” from ${plural(examples.length, "example")} in ${seconds} s. Undo takes it back.`,
    );
  }

  /** @param {number} agent @param {Scene} scene @param {string} sentence @returns {Promise<Answer[]>} */
  async #ask(agent, scene, sentence) {
    const { explanation } = await this.connection.request("step", { agent, scene: toFile(scene), sentence });
    return explanation.answers ?? [];
  }

  /**
   * A scene with an object beside the agent and nothing else of its kind, and the question about it.
   * @param {Scene} base
   * @param {Content} kind
   */
  #beside(base, kind) {
    const { hello } = this.store.state;
    if (!hello) throw new Error("there is no connection to the server");
    const { size, neighbor_questions: questions } = hello;
    const start = { ...base, objects: base.objects.filter(({ name }) => name !== kind.name) };
    const contents = cellContents(start, size);
    const [row, column] = start.agent;
    const cells = Object.entries(DIRECTIONS)
      .filter(([name]) => questions[name])
      .map(([name, [down, right]]) => ({ name, r: row + down, c: column + right }))
      .filter(({ r, c }) => r >= 0 && r < size && c >= 0 && c < size)
      .map(({ name, r, c }) => ({ name, position: r * size + c, isFree: contents[r * size + c] === null }));
    const used = this.#examples(kind.name).length;
    const free = cells.filter(({ isFree }) => isFree);
    const choices = free.length ? free : cells;
    const { name, position } = choices[used % choices.length];
    let scene = start;
    if (scene.objects.length >= hello.max_objects)
      scene = withoutContent(scene, positionOf(scene.objects[0].at, size), size);
    return { scene: withContent(scene, kind, position, size), sentence: questions[name] };
  }

  /** Move the object to the farthest reachable cell, and command the agent to go there. */
  async #command() {
    const { hello } = this.store.state;
    const shown = shownWorld(this.store.state);
    if (!hello || !shown) return;
    const { size } = hello;
    const { word } = this;
    const scene = { ...shown, objects: shown.objects.filter(({ name }) => name !== word) };
    const contents = cellContents(scene, size);
    const start = positionOf(scene.agent, size);
    const free = [...contents.keys()].filter((position) => contents[position] === null && position !== start);
    const sentence = `Go to the ${word}.`;
    for (const position of free.sort((a, b) => distance(b, start, size) - distance(a, start, size))) {
      const moved = withContent(scene, { name: word, icon: 0 }, position, size);
      const fields = { agent: 0, scene: toFile(moved), sentence };
      const { target } = await this.connection.request("check_sentence", fields);
      if (target === null) continue; // not reachable
      this.walks.run(sentence, moved);
      return;
    }
    throw new Error("no free cell is reachable; remove some walls first");
  }

  #forget() {
    this.store.commit({ taught: [], before: null, after: null });
  }

  /**
   * Teach what was taught before, to a server that knows none of it; the name of the last word is filled in.
   * @param {TaughtWord[]} taught
   */
  async restore(taught) {
    if (taught.length) {
      this.name.value ||= taught[taught.length - 1].word;
      await this.sync(taught);
    } else this.synced = taught;
  }

  /**
   * Teach every teachable agent exactly these words; the server keeps them only as long as the connection.
   * @param {TaughtWord[]} taught
   */
  async sync(taught) {
    const { hello } = this.store.state;
    if (!hello) return;
    const agents = [...hello.agents];
    for (const [agent, { teachable }] of agents.entries()) {
      if (!teachable) continue;
      const { lexicon } = await this.connection.request("teach", { agent, taught_words: taught });
      agents[agent] = { ...agents[agent], lexicon };
    }
    this.synced = taught;
    this.store.set({ hello: { ...hello, agents } });
  }

  /** @type {TaughtWord[]} what the server was taught */
  synced = [];

  /** Whether the server was taught what the state says. */
  get isSynced() {
    const { taught } = this.store.state;
    return taught === this.synced || (!taught.length && !this.synced.length);
  }
}

/** @param {number} a @param {number} b @param {number} size */
function distance(a, b, size) {
  const [[row, column], [otherRow, otherColumn]] = [atOf(a, size), atOf(b, size)];
  return Math.abs(row - otherRow) + Math.abs(column - otherColumn);
}

/** @param {string} label @param {HTMLElement} input */
function field(label, input) {
  return h("label", { class: "field" }, h("span", { text: label }), input);
}
