// The page: what is said, who hears it, and what came of it. The server keeps nothing that this page does not know.

import { h, plain } from "./dom.js";
import { Editor } from "./editor.js";
import { Lessons } from "./lessons.js";
import { Pane } from "./pane.js";
import { Player, listenForKeys } from "./player.js";
import { bytesOf, fromFragment, nameOf, placeOf, things, toFile, toFragment } from "./scene.js";
import { Sentence } from "./sentence.js";
import { Talk } from "./talk.js";

const byId = (id) => document.getElementById(id);
const SEEDS = 2 ** 31;
const LOOK_PAUSE = 120;
const CELLS = { floor: 1, wall: 2, agent: 3 };

const page = {
  agents: [],
  size: 7,
  steps: 28,
  scene: null,
  panes: [],
  sight: new Map(), // what was asked about words and cells of the shown frames

  /** Every icon that can be put down. */
  kinds() {
    const drawn = Object.keys(page.scene?.drawings ?? {}).map((name) => ({ name, color: null, icon: 0 }));
    const known = page.classes.flatMap(({ name, colors }) => colors.map((color, icon) => ({ name, color, icon })));
    return [...drawn, ...known];
  },

  /** Give an element the picture of a cell: from the sheet, or as the user drew it. */
  paint(element, key) {
    const [name, icon] = key.split("/");
    const drawn = page.scene?.drawings?.[name];
    if (drawn) {
      Object.assign(element.style, {
        backgroundImage: `url("data:image/png;base64,${drawn}")`,
        backgroundSize: "100% 100%",
        backgroundPosition: "0 0",
      });
      return;
    }
    const number = CELLS[key] ?? page.firsts.get(name) + Number(icon);
    const { columns, rows } = page.sheet;
    const [x, y] = [(number % columns) / (columns - 1), Math.floor(number / columns) / (rows - 1)];
    Object.assign(element.style, {
      backgroundImage: 'url("/icons.png")',
      backgroundSize: `${100 * columns}% ${100 * rows}%`,
      backgroundPosition: `${100 * x}% ${100 * y}%`,
    });
  },

  /** Say something to the person, for a screen reader too. */
  say(text, isError = false) {
    const toast = byId("message");
    toast.textContent = text ? text[0].toUpperCase() + text.slice(1) : "";
    toast.classList.toggle("error", isError);
  },

  /** Take a scene as the world, with nothing said. */
  setScene(scene) {
    page.scene = scene;
    player.reset(0);
    for (const pane of page.panes) pane.rest(scene);
  },

  /** Where the agent is shown to stand becomes where it stands; side by side, both go back to their start. */
  settle() {
    const [pane] = page.panes;
    if (page.panes.length === 1 && pane.frames.length) page.scene = { ...page.scene, agent: pane.shown.at };
  },

  /** An edit: the world changes under the agent's feet, where it stands now. */
  change(scene) {
    page.say("");
    page.setScene(scene);
    lessons.refresh();
    sentence.mark();
  },

  addDrawing(name, png) {
    page.change({ ...page.scene, drawings: { ...page.scene.drawings, [name]: png } });
    editor.fill();
  },

  /** An agent's words after lessons. */
  learnt(agent, { words }) {
    page.agents[agent] = { ...page.agents[agent], words };
    page.sight.clear();
    sentence.mark();
  },

  async newWorld(seed = Math.floor(Math.random() * 10000)) {
    const world = await attempt(() => talk.request("world", { seed }));
    if (!world) return;
    byId("seed").value = seed;
    page.setScene({ ...world.scene, drawings: page.scene?.drawings });
    sentence.text = world.command;
    page.say("");
  },

  async tell(text) {
    sentence.text = text;
    await begin();
  },

  get talk() {
    return talk;
  },
};

/** Let every agent hear the sentence; commands are walked at once. */
async function begin() {
  page.say("");
  const text = sentence.text;
  if (!text) return page.say("Write a command or a question first.", true);
  page.settle();
  const { scene } = page;
  player.reset(0);
  const run = player.run;
  const firsts = await attempt(() => Promise.all(page.panes.map((_, agent) => think(agent, scene, scene.agent, text))));
  if (!firsts || run !== player.run) return;
  page.told = { text, start: scene.agent };
  firsts.forEach(({ reading, ...frame }, k) => page.panes[k].begin(scene, reading, frame));
  player.reset(1);
  if (firsts[0].move === null) player.step(); // an answer is all there is to see
  else player.play();
}

async function think(agent, scene, at, text) {
  const now = toFile({ ...scene, agent: at });
  const thought = await talk.request("think", { agent, scene: now, sentence: text, from: scene.agent });
  return { at, ...thought };
}

/** One more frame for every agent that still walks; see Player. */
async function more() {
  const walking = page.panes.filter((pane) => pane.last.move !== null);
  if (!walking.length) return "none";
  const { text } = page.told;
  const made = await attempt(() => Promise.all(walking.map((pane) => nextFrame(pane, text))));
  if (!made) return "failed";
  walking.forEach((pane, k) => pane.frames.push(made[k]));
  return made.every((frame) => frame.move === null) ? "last" : "more";
}

async function nextFrame(pane, text) {
  const { last } = pane;
  const { to, ended } = last.move;
  if (ended || pane.frames.length >= page.steps) {
    return { at: to, inside: last.inside, move: null, done: ended ? "ended" : "time" };
  }
  const { reading: _reading, ...frame } = await think(page.panes.indexOf(pane), pane.scene, to, text);
  return frame;
}

/** Run what may fail; a failure is told, and gives undefined. */
async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    page.say(error.message, true);
    return undefined;
  }
}

/** Take a scenario of a file or a link, once the server has found it sound. */
async function load(file) {
  const { scene } = await talk.request("load", { scene: file });
  const { sentence: said, ...rest } = scene;
  page.setScene(rest);
  sentence.text = said ?? "";
  lessons.refresh();
  editor.fill();
}

async function suggest(kind) {
  page.settle();
  const seed = Math.floor(Math.random() * SEEDS);
  const said = await attempt(() => talk.request("say", { agent: 0, kind, seed, scene: toFile(page.scene) }));
  if (said) await page.tell(said.sentence);
}

/** What the agent sees of a word or in a cell of the shown frame; asked once, then remembered. */
async function look(agent, what, fields) {
  const pane = page.panes[agent];
  const at = pane.shown?.at ?? page.scene.agent;
  const scene = toFile({ ...page.scene, agent: at });
  const key = JSON.stringify([agent, what, fields, scene]);
  if (!page.sight.has(key)) {
    if (page.sight.size > 500) page.sight.clear();
    page.sight.set(key, talk.request(what, { agent, scene, ...fields }).catch(() => null));
  }
  const found = await page.sight.get(key);
  if (found === null) page.sight.delete(key);
  return found;
}

function watchCells(pane, agent) {
  let timer;
  const point = (event) => {
    clearTimeout(timer);
    const place = pane.board.placeAt(event.target);
    if (place >= 0) timer = setTimeout(() => tellCell(pane, agent, place), LOOK_PAUSE);
  };
  pane.board.element.addEventListener("mouseover", point);
  pane.board.element.addEventListener("focusin", point);
  pane.board.element.addEventListener("mouseleave", () => {
    clearTimeout(timer);
    pane.readout.textContent = "";
  });
}

async function tellCell(pane, agent, place) {
  const at = [Math.floor(place / page.size), place % page.size];
  const isAgent = place === placeOf(pane.shown?.at ?? page.scene.agent, page.size);
  const name = isAgent ? "the agent" : nameOf(things(page.scene, page.size)[place]);
  const found = await look(agent, "seen", { at });
  const seen = (found?.words ?? []).filter(({ share }) => share >= 0.01);
  const words = seen.map(({ word, share }) => `${word} ${plain(share)}`).join(", ") || "no word";
  const number = pane.board.numbers ? ` (${pane.board.numbers[place]})` : "";
  pane.readout.textContent = name + number + (found ? ` — seen here: ${words}` : "");
}

function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function save() {
  page.settle();
  const file = toFile(page.scene, sentence.text);
  download("world.json", new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
}

async function loadFile(event) {
  const [file] = event.target.files;
  event.target.value = "";
  await attempt(async () => {
    let record;
    try {
      record = JSON.parse(await file.text());
    } catch {
      throw new Error(`The file ${file.name}: it is not JSON, so it is no scenario`);
    }
    try {
      await load(record);
    } catch (error) {
      throw new Error(`The file ${file.name}: ${error.message}`);
    }
    page.say(`The file ${file.name} is loaded.`);
  });
}

async function share() {
  page.settle();
  history.replaceState(null, "", toFragment(toFile(page.scene, sentence.text)));
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  page.say(`The ${copied ? "link is copied: it" : "address of this page"} holds the whole world.`);
}

async function exportWalk(format) {
  const [pane] = page.panes;
  if (!pane.frames.length) return page.say("Say something first: there is no walk yet.", true);
  page.say("Writing …");
  const { text } = page.told;
  const path = pane.frames.map((frame) => frame.at);
  const walk = { agent: 0, scene: toFile(pane.scene), sentence: text, path };
  const made = await attempt(() => talk.request("export", { ...walk, format }));
  if (!made) return;
  download(made.name, new Blob([bytesOf(made.base64)], { type: format === "gif" ? "image/gif" : "text/html" }));
  page.say(`${made.name} is written.`);
}

async function hello(greeting) {
  const isFirst = page.scene === null;
  Object.assign(page, { size: greeting.size, steps: greeting.steps, sheet: greeting.sheet, classes: greeting.classes });
  page.firsts = new Map(greeting.classes.map(({ name, first }) => [name, first]));
  page.agents = greeting.agents;
  page.sight.clear();
  if (!isFirst) {
    if (lessons.lessons.length) await attempt(() => lessons.teach(lessons.lessons));
    return page.say("Connected again.");
  }
  page.panes = page.agents.map(({ name, method }, agent) => {
    const title = ["ours", name].includes(method) ? name : `${name} (${method})`;
    const where = async (word) => (await look(agent, "where", { word }))?.map ?? null;
    const pane = new Pane(title, page.size, page.paint, where);
    editor.attach(pane.board);
    watchCells(pane, agent);
    return pane;
  });
  byId("panes").replaceChildren(...page.panes.map((pane) => pane.element));
  byId("panes").classList.toggle("two", page.panes.length > 1);
  (page.panes.length > 1 ? byId("player") : page.panes[0].slot).append(player.element);
  await open();
  editor.fill();
  lessons.refresh();
  document.body.dataset.ready = "yes";
}

/** The world of the link, or a new one. */
async function open() {
  let failure = null;
  try {
    const file = fromFragment(location.hash);
    if (file) return await load(file);
  } catch (error) {
    failure = `The world in this link cannot be read: ${error.message}`;
  }
  await page.newWorld();
  if (failure) page.say(failure, true);
}

const player = new Player((index) => page.panes.forEach((pane) => pane.show(index)), more);
const sentence = new Sentence(byId("sentence"), byId("completions"), byId("marks"),
  () => page.agents[0]?.words ?? [],
  (text) => talk.request("read", { agent: 0, scene: toFile(page.scene), sentence: text }));
const editor = new Editor(byId("editor"), page);
const lessons = new Lessons(byId("lessons"), page);
const talk = new Talk(hello, (state) => {
  byId("connection").textContent = state === "connected" ? "" : state;
  document.body.dataset.connected = String(state === "connected");
});

byId("say").addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
byId("ask-command").addEventListener("click", () => suggest("command"));
byId("ask-question").addEventListener("click", () => suggest("question"));
byId("new-world").addEventListener("click", () => page.newWorld());
byId("seed-form").addEventListener("submit", (event) => {
  event.preventDefault();
  page.newWorld(Number(byId("seed").value));
});
byId("save").addEventListener("click", save);
byId("load").addEventListener("change", loadFile);
byId("share").addEventListener("click", share);
byId("gif").addEventListener("click", () => exportWalk("gif"));
byId("html").addEventListener("click", () => exportWalk("html"));
window.addEventListener("hashchange", () => open());
listenForKeys(player);
