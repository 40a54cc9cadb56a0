// Few-shot teaching: an object without a known name is shown, the agent is asked about it, and its name is given.

import { h } from "./dom.js";
import { atOf, cellContents, positionOf, toBase64, toFile, withContent, withoutContent } from "./scene.js";

const DIRECTIONS = {
  north: [-1, 0],
  east: [0, 1],
  south: [1, 0],
  west: [0, -1],
  northeast: [-1, 1],
  southeast: [1, 1],
  southwest: [1, -1],
  northwest: [-1, -1],
};
const INSTRUCTIONS =
  "Choose an object whose name was not seen in training, or upload one. Show it with a question, then teach its " +
  "name; after about three examples, test it with a command.";
const RECOMMENDED_EXAMPLES = 3;

export class Teaching {
  /** `page`: see main.js. */
  constructor(element, page) {
    this.page = page;
    this.taughtWords = []; // { word, examples: [{ scene, sentence }, ...] }
    this.shown = null; // the next example: { word, scene, sentence }
    this.isBusy = false;
    this.object = h("select", { id: "teach-object", onchange: () => this.refresh() });
    this.name = h("input", { id: "teach-name", maxlength: "20", autocomplete: "off", spellcheck: "false" });
    this.file = h("input", { id: "teach-file", type: "file", accept: "image/png" });
    this.upload = h("form", { class: "upload", onsubmit: (event) => this.#upload(event) },
      field("Your own image (PNG)", this.file), field("Its name", this.name), h("button", { text: "Add image" }));
    this.showButton = this.#button("1. Show and ask", () => this.#show());
    this.teachButton = this.#button("", () => this.#teachShown());
    this.commandButton = this.#button("", () => this.#command());
    this.resetButton = this.#button("Reset", () => this.#reset());
    this.status = h("p", { class: "note", role: "status" });
    element.append(
      h("p", { class: "note", text: INSTRUCTIONS }),
      field("Object", this.object),
      h("div", { class: "tools" }, this.showButton, this.teachButton, this.commandButton, this.resetButton),
      this.status,
      this.upload,
    );
  }

  #button(text, action) {
    return h("button", { type: "button", text, onclick: () => this.#run(action) });
  }

  get word() {
    return this.object.value ? this.object.value.split("/")[0] : "";
  }

  /** List the objects that can be taught: those with novel names, and the user's drawings. */
  refresh() {
    const selected = this.object.value;
    const novel = new Set(this.page.agents.flatMap((agent) => agent.novel_words));
    const drawn = new Set(Object.keys(this.page.scene?.drawings ?? {}));
    const kinds = this.page.objectKinds().filter(({ name }) => novel.has(name) || drawn.has(name));
    const option = ({ name, icon }) =>
      h("option", { value: `${name}/${icon}`, text: icon ? `${name} ${icon + 1}` : name });
    this.object.replaceChildren(...kinds.map(option));
    if (!kinds.length) this.object.append(h("option", { value: "", text: "none yet: upload an image below" }));
    if ([...this.object.options].some(({ value }) => value === selected)) this.object.value = selected;
    const { word } = this;
    const count = this.#examples(word).length;
    this.showButton.disabled = this.isBusy || !word;
    this.teachButton.disabled = this.isBusy || !word || this.shown?.word !== word;
    this.commandButton.disabled = this.isBusy || !word || !count;
    this.resetButton.disabled = this.isBusy || !this.taughtWords.length;
    this.teachButton.textContent = `2. Teach “${word || "…"}”`;
    this.commandButton.textContent = `3. “Go to the ${word || "…"}.”`;
    const examples = count === 1 ? "1 example" : `${count} examples`;
    const hint = count < RECOMMENDED_EXAMPLES ? `; at least ${RECOMMENDED_EXAMPLES} recommended` : "";
    this.status.textContent = count ? `Taught with ${examples}${hint}.` : "";
  }

  #examples(word) {
    return this.taughtWords.find((taught) => taught.word === word)?.examples ?? [];
  }

  /** Run a slow action that may fail: all buttons are disabled meanwhile, and an error is shown. */
  async #run(action) {
    this.isBusy = true;
    this.refresh();
    try {
      await action();
    } catch (error) {
      this.page.notify(error.message, true);
    }
    this.isBusy = false;
    this.refresh();
  }

  async #upload(event) {
    event.preventDefault();
    await this.#run(async () => {
      const [file] = this.file.files;
      if (!file) throw new Error("choose a PNG file first");
      const name = this.name.value.trim().toLowerCase();
      if (!name) throw new Error("enter a name first, a new word of letters");
      const image = toBase64(new Uint8Array(await file.arrayBuffer()));
      const { png } = await this.page.connection.request("convert_drawing", { name, png: image });
      this.page.addDrawing(name, png);
      this.refresh();
      this.object.value = `${name}/0`;
      this.upload.reset();
      this.page.notify(`“${name}” can be shown now.`);
    });
  }

  /**
   * Put the object beside the agent, and ask what is there. Each example is in another random world, so that the other
   * objects serve as negative examples.
   */
  async #show() {
    const { size } = this.page;
    await this.page.newWorld();
    const [direction, position] = this.#adjacentCell();
    const unnamed = new Set([this.word, ...this.page.agents.flatMap((agent) => agent.novel_words)]);
    const scene = [...unnamed].reduce((rest, word) => this.#withoutObject(rest, word), this.page.scene);
    this.page.setScene(withContent(scene, this.#objectKind(), position, size));
    const question = this.page.neighborQuestions[direction];
    this.shown = { word: this.word, scene: toFile(this.page.scene), sentence: question };
    await this.page.runSentence(question);
  }

  #objectKind() {
    const [name, icon] = this.object.value.split("/");
    return this.page.objectKinds().find((kind) => kind.name === name && kind.icon === Number(icon));
  }

  #withoutObject(scene, word) {
    const { size } = this.page;
    const positions = scene.objects.filter(({ name }) => name === word).map(({ at }) => positionOf(at, size));
    return positions.reduce((rest, position) => withoutContent(rest, position, size), scene);
  }

  /** A cell beside the agent and its direction; another direction than the last time. */
  #adjacentCell() {
    const { scene, size } = this.page;
    const [row, column] = scene.agent;
    const cells = Object.entries(DIRECTIONS)
      .map(([name, [down, right]]) => [name, row + down, column + right])
      .filter(([name, r, c]) => r >= 0 && r < size && c >= 0 && c < size && name !== this.lastDirection);
    const [name, r, c] = cells[this.#examples(this.word).length % cells.length];
    this.lastDirection = name;
    return [name, r * size + c];
  }

  async #teachShown() {
    const { word, scene, sentence } = this.shown;
    this.status.textContent = "Learning …";
    const examples = [...this.#examples(word), { scene, sentence }].slice(-this.page.maxExamples);
    await this.teach([...this.taughtWords.filter((other) => other.word !== word), { word, examples }]);
    this.shown = null;
    await this.page.runSentence(sentence);
  }

  /** Move the object to the farthest reachable cell, and command the agent to go there. */
  async #command() {
    const { size } = this.page;
    this.page.keepShownPosition();
    const scene = this.#withoutObject(this.page.scene, this.word);
    const contents = cellContents(scene, size);
    const start = positionOf(scene.agent, size);
    const free = [...contents.keys()].filter((position) => contents[position] === null && position !== start);
    for (const position of free.sort((a, b) => distance(b, start, size) - distance(a, start, size))) {
      const moved = withContent(scene, this.#objectKind(), position, size);
      const sentence = `Go to the ${this.word}.`;
      const fields = { agent: 0, scene: toFile(moved), sentence };
      const { target } = await this.page.connection.request("check_sentence", fields);
      if (target === null) continue; // not reachable
      this.page.setScene(moved);
      return this.page.runSentence(sentence);
    }
    throw new Error("no free cell is reachable; remove some walls first");
  }

  #reset() {
    this.shown = null;
    return this.teach([]);
  }

  /** Teach every teachable agent these words; after a reconnection too, since the server keeps no taught words. */
  async teach(taughtWords) {
    for (const [agent, { teachable }] of this.page.agents.entries()) {
      if (!teachable) continue;
      const { lexicon } = await this.page.connection.request("teach", { agent, taught_words: taughtWords });
      this.page.setLexicon(agent, lexicon);
    }
    this.taughtWords = taughtWords;
    this.refresh();
  }
}

function distance(a, b, size) {
  const [[row, column], [otherRow, otherColumn]] = [atOf(a, size), atOf(b, size)];
  return Math.abs(row - otherRow) + Math.abs(column - otherColumn);
}

function field(label, input) {
  return h("label", { class: "field" }, h("span", { text: label }), input);
}
