// Teaching: an object without a name is shown, the agent is asked what it is, and is told.

import { h } from "./dom.js";
import { atOf, base64, cleared, placeOf, things, toFile, withThing } from "./scene.js";

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
const LESSON =
  "Choose an object that the agent was never told the name of, or bring one. Show it, ask what it is, tell the name; " +
  "after three times or so, command the agent to it.";
const GOOD = 3;
const MOST = 10;

export class Lessons {
  /** `page`: see main.js. */
  constructor(element, page) {
    this.page = page;
    this.lessons = [];
    this.shown = null;
    this.busy = false;
    this.what = h("select", { id: "pupil-object", onchange: () => this.refresh() });
    this.name = h("input", { id: "pupil-name", maxlength: "20", autocomplete: "off", spellcheck: "false" });
    this.file = h("input", { id: "pupil-file", type: "file", accept: "image/png" });
    this.upload = h("form", { class: "upload", onsubmit: (event) => this.#upload(event) },
      field("A picture of your own (PNG)", this.file), field("Its name", this.name), h("button", { text: "Add it" }));
    this.show = this.#button("1. Show it and ask", () => this.#show());
    this.tell = this.#button("", () => this.#tell());
    this.command = this.#button("", () => this.#command());
    this.reset = this.#button("Forget all", () => this.#forget());
    this.told = h("p", { class: "note", role: "status" });
    element.append(
      h("p", { class: "note", text: LESSON }),
      field("Object", this.what),
      h("div", { class: "tools" }, this.show, this.tell, this.command, this.reset),
      this.told,
      this.upload,
    );
  }

  #button(text, act) {
    return h("button", { type: "button", text, onclick: () => this.#run(act) });
  }

  get word() {
    return this.what.value ? this.what.value.split("/")[0] : "";
  }

  /** List the objects that there are to teach: novel ones, then the user's own. */
  refresh() {
    const chosen = this.what.value;
    const novel = new Set(this.page.agents.flatMap((agent) => agent.novel));
    const drawn = new Set(Object.keys(this.page.scene?.drawings ?? {}));
    const options = this.page.kinds().filter((kind) => novel.has(kind.name) || drawn.has(kind.name));
    const option = ({ name, icon }) =>
      h("option", { value: `${name}/${icon}`, text: icon ? `${name} ${icon + 1}` : name });
    this.what.replaceChildren(...options.map(option));
    if (!options.length) this.what.append(h("option", { value: "", text: "none yet: bring a picture below" }));
    if ([...this.what.options].some(({ value }) => value === chosen)) this.what.value = chosen;
    const { word } = this;
    const count = this.#count(word);
    this.show.disabled = this.busy || !word;
    this.tell.disabled = this.busy || !word || this.shown?.word !== word;
    this.command.disabled = this.busy || !word || !count;
    this.reset.disabled = this.busy || !this.lessons.length;
    this.tell.textContent = `2. Tell it: “${word || "…"}”`;
    this.command.textContent = `3. “Go to the ${word || "…"}.”`;
    const times = count === 1 ? "once" : `${count} times`;
    this.told.textContent = count ? `Told ${times}${count < GOOD ? "; more is better" : ""}.` : "";
  }

  #count(word) {
    return this.lessons.find((lesson) => lesson.word === word)?.examples.length ?? 0;
  }

  /** Run what takes a while and may fail: no other button can be pressed meanwhile, and a failure is told. */
  async #run(act) {
    this.busy = true;
    this.refresh();
    try {
      await act();
    } catch (error) {
      this.page.say(error.message, true);
    }
    this.busy = false;
    this.refresh();
  }

  async #upload(event) {
    event.preventDefault();
    await this.#run(async () => {
      const [file] = this.file.files;
      if (!file) throw new Error("choose a PNG file first");
      const name = this.name.value.trim().toLowerCase();
      if (!name) throw new Error("give it a name first, one new word of letters");
      const picture = base64(new Uint8Array(await file.arrayBuffer()));
      const { png } = await this.page.talk.request("drawing", { name, png: picture });
      this.page.addDrawing(name, png);
      this.refresh();
      this.what.value = `${name}/0`;
      this.upload.reset();
      this.page.say(`“${name}” can be shown now.`);
    });
  }

  /**
   * Put the object next to the agent, and ask what is there. Each time it is another world: what a thing is shows best
   * among things that it is not.
   */
  async #show() {
    const { size } = this.page;
    await this.page.newWorld();
    const [direction, place] = this.#side();
    const unnamed = new Set([this.word, ...this.page.agents.flatMap((agent) => agent.novel)]);
    const scene = [...unnamed].reduce((rest, word) => this.#without(rest, word), this.page.scene);
    this.page.setScene(withThing(scene, this.#kind(), place, size));
    const question = `What is in the ${direction}?`;
    this.shown = { word: this.word, scene: toFile(this.page.scene), sentence: question };
    await this.page.tell(question);
  }

  #kind() {
    const [name, icon] = this.what.value.split("/");
    return this.page.kinds().find((kind) => kind.name === name && kind.icon === Number(icon));
  }

  #without(scene, word) {
    const { size } = this.page;
    const places = scene.objects.filter(({ name }) => name === word).map(({ at }) => placeOf(at, size));
    return places.reduce((rest, place) => cleared(rest, place, size), scene);
  }

  #side() {
    const { scene, size } = this.page;
    const [row, column] = scene.agent;
    const sides = Object.entries(DIRECTIONS)
      .map(([name, [down, right]]) => [name, row + down, column + right])
      .filter(([name, r, c]) => r >= 0 && r < size && c >= 0 && c < size && name !== this.side);
    const [name, r, c] = sides[this.#count(this.word) % sides.length];
    this.side = name;
    return [name, r * size + c];
  }

  async #tell() {
    const { word, scene, sentence } = this.shown;
    this.told.textContent = "It learns …";
    const before = this.lessons.find((lesson) => lesson.word === word)?.examples ?? [];
    const lesson = { word, examples: [...before, { scene, sentence }].slice(-MOST) };
    await this.teach([...this.lessons.filter((other) => other.word !== word), lesson]);
    this.shown = null;
    await this.page.tell(sentence);
  }

  /** Move the object as far off as can be, and send the agent there. */
  async #command() {
    const { size } = this.page;
    this.page.settle();
    const scene = this.#without(this.page.scene, this.word);
    const found = things(scene, size);
    const start = placeOf(scene.agent, size);
    const free = [...found.keys()].filter((place) => found[place] === null && place !== start);
    for (const place of free.sort((a, b) => distance(b, start, size) - distance(a, start, size))) {
      const moved = withThing(scene, this.#kind(), place, size);
      const sentence = `Go to the ${this.word}.`;
      const { target } = await this.page.talk.request("read", { agent: 0, scene: toFile(moved), sentence });
      if (target === null) continue; // no way leads there
      this.page.setScene(moved);
      return this.page.tell(sentence);
    }
    throw new Error("no free cell can be reached: remove some walls first");
  }

  #forget() {
    this.shown = null;
    return this.teach([]);
  }

  /** Teach every agent that can learn all these lessons; also after a new connection, which knows of none. */
  async teach(lessons) {
    for (const [agent, { teachable }] of this.page.agents.entries()) {
      if (teachable) this.page.learnt(agent, await this.page.talk.request("teach", { agent, lessons }));
    }
    this.lessons = lessons;
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
