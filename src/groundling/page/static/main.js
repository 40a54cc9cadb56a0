// The page: connects the store, the server and the views. The server keeps no state except taught words.

import { AgentPane } from "./agent_pane.js";
import { Ages, LiveRun } from "./ages.js";
import { BreakIt } from "./break_it.js";
import { describeCells } from "./cells.js";
import { Chips } from "./chips.js";
import { Connection } from "./connection.js";
import { byId, h, roving } from "./dom.js";
import { Editor } from "./editor.js";
import { History } from "./history.js";
import { loadIcons, painter } from "./icons.js";
import { fromFragment, isLink } from "./link.js";
import { Player, listenForKeys } from "./player.js";
import { toFile } from "./scene.js";
import { SentenceInput } from "./sentence.js";
import { Result } from "./result.js";
import { Share } from "./share.js";
import { Store, shownAgents, shownWorld } from "./store.js";
import { Teach } from "./teach.js";
import { Tour, claimOf } from "./tour.js";
import { isComplete } from "./verdict.js";
import { Walks, frameCount } from "./walks.js";

/** @typedef {import("./types").State} State */
/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Hello} Hello */

const WORLD_SEEDS = 10000; // short numbers for the field
const NOTICE_MS = 8000;
const TOURED = "groundling-toured";

const store = new Store(window.sessionStorage);
/** @type {AgentPane[]} */
let panes = [];
let panesKey = "";
let isOpen = false;

const connection = new Connection(onHello, (state) => {
  store.set({ connection: state === "connected" ? "" : state });
});
const walks = new Walks(store, connection);
const share = new Share(store, connection);
const player = new Player({
  go: (index) => walks.go(index),
  step: () => walks.step(),
  toggle: () => walks.toggle(),
  speed: (milliseconds) => store.set({ speed: milliseconds }),
});
const sentenceField = /** @type {HTMLInputElement} */ (byId("sentence"));
const sentence = new SentenceInput(
  sentenceField,
  byId("completions"),
  byId("feedback"),
  {
    words: () => currentAgent()?.lexicon ?? [],
    heldOut: () => currentAgent()?.held_out_words ?? [],
    check: (text) => {
      const { world, agent } = store.state;
      if (!world) throw new Error("connecting …");
      return connection.request("check_sentence", {
        agent,
        scene: toFile(shownWorld(store.state) ?? world),
        sentence: text,
      });
    },
  },
  (text) => store.set({ draft: text }),
);
const result = new Result(byId("result"), () => walks.play());
const editor = new Editor(byId("editor"), {
  world: () => shownWorld(store.state),
  edit: (world) => setWorld(world),
  notify: (text) => store.notify(text),
  kinds: objectKinds,
  limits: () => ({ size: store.state.hello?.size ?? 7, maxObjects: store.state.hello?.max_objects ?? 16 }),
  paint: (element, key) => paint(element, key),
});
const teach = new Teach(byId("teaching"), store, connection, walks);
const chips = new Chips(byId("chips"), connection, { say: (text) => walks.say(text), teach: goToTeaching });
const historyList = new History(byId("history"), {
  replay: (entry) => walks.run(entry.sentence, entry.world, chosenAgent(entry.agent)),
  link: (entry) => share.link(entry),
  clear: () => store.set({ history: [] }),
});
const breakIt = new BreakIt(byId("break-it"), store, connection, {
  replay: (text, world) => walks.run(text, world),
  link: (text, world) => share.link({ sentence: text, world, agent: currentAgent()?.name ?? "" }),
});
const ages = new Ages(byId("ages"), (agent) => {
  const { world, said } = store.state;
  if (world && said) walks.run(said, world, { agent });
  else store.commit({ agent });
});
const live = new LiveRun(byId("live"), connection, () => {
  const { world, said, isPlaying } = store.state;
  if (world && said && !isPlaying) walks.run(said, world);
});
const tour = new Tour(byId("tour"), {
  go: (step) => {
    store.set({ tour: step });
    if (step !== null) return;
    localStorage.setItem(TOURED, "yes");
    byId("start-tour").focus({ preventScroll: true }); // the focused button is gone
  },
  start: (world, text) => {
    setWorld(world);
    const form = byId("sentence-form");
    if (window.matchMedia("(max-width: 900px)").matches) window.scrollTo({ top: form.offsetTop }); // board and tour
    if (text) walks.run(text, world);
  },
  teach: goToTeaching,
});
/** @type {import("./types").Paint} */
let paint = () => {};

function currentAgent() {
  return store.state.hello?.agents[store.state.agent];
}

/** Every object with an icon of its own that can be added. @returns {import("./types").Content[]} */
function objectKinds() {
  const { world, hello } = store.state;
  const drawn = Object.keys(world?.drawings ?? {}).map((name) => ({ name, icon: 0 }));
  const known =
    hello?.classes.flatMap(({ name, colors }) => colors.map((color, icon) => ({ name, color, icon }))) ?? [];
  return [...drawn, ...known];
}

/** @param {string | null} name @returns {Partial<State>} */
function chosenAgent(name) {
  const agent = store.state.hello?.agents.findIndex((other) => other.name === name) ?? -1;
  return agent >= 0 ? { agent } : {};
}

/** Show a world without a walk. @param {Scene} world @param {Partial<State>} [change] */
function setWorld(world, change = {}) {
  walks.stop();
  store.commit({ world, said: "", runs: [], index: 0, refusal: "", ...change });
}

/** @param {number} [seed] */
async function newWorld(seed = Math.floor(Math.random() * WORLD_SEEDS)) {
  try {
    const { scene, command } = await connection.request("new_world", { seed });
    const drawings = store.state.world?.drawings;
    setWorld(drawings ? { ...scene, drawings } : scene, { seed, draft: command });
  } catch (error) {
    store.notify(String(/** @type {Error} */ (error).message), true);
  }
}

function goToTeaching() {
  byId("teach").scrollIntoView({ block: "start" });
  byId("teach").focus({ preventScroll: true });
}

/** Show a world from a file or a link after the server has checked it, and run its sentence if it is from a link. */
async function open(
  /** @type {unknown} */ file,
  /** @type {Partial<State>} */ change,
  /** @type {boolean} */ isLinked,
) {
  const { scene } = await connection.request("load", { scene: file });
  const { sentence: text, ...world } = scene;
  setWorld(world, { draft: text ?? "", seed: null, ...change });
  if (change.taught) await teach.restore(change.taught);
  if (isLinked && text) walks.say(text);
}

/** Open the link in the address; false if there is none, or it cannot be read. */
async function openLink() {
  if (!isLink(location.hash)) return false;
  try {
    const { scene, agent, taught } = await fromFragment(location.hash);
    const change = chosenAgent(agent);
    await open(scene, { ...change, taught }, true);
    if (agent && change.agent === undefined) {
      store.notify(`This link was made with the agent “${agent}”, which this server does not have.`, true);
    }
    return true;
  } catch (error) {
    store.notify(`Cannot open this link: ${/** @type {Error} */ (error).message}`, true);
    return false;
  }
}

/** @param {Event} event */
async function loadFile(event) {
  const input = /** @type {HTMLInputElement} */ (event.target);
  const [file] = input.files ?? [];
  if (!file) return;
  try {
    let record;
    try {
      record = JSON.parse(await file.text());
    } catch {
      throw new Error("scenario must be valid JSON");
    }
    await open(record, {}, false);
    store.notify(`Loaded the file ${file.name}.`);
  } catch (error) {
    store.notify(`File ${file.name}: ${/** @type {Error} */ (error).message}`, true);
  }
  input.value = "";
}

/** @param {Hello} hello */
async function onHello(hello) {
  const before = store.state.hello?.agents.map(({ name }) => name).join();
  const isOther = before !== undefined && before !== hello.agents.map(({ name }) => name).join();
  walks.stop();
  teach.synced = [];
  store.set({ hello, ...(isOther ? { agent: 0, said: "", runs: [], index: 0 } : {}) });
  makePanes(hello);
  if (isOpen) {
    await teach.restore(store.state.taught).catch((error) => store.notify(error.message, true));
    return store.notify(isOther ? "Reconnected. The server has other agents now." : "Reconnected.");
  }
  isOpen = true;
  await loadIcons();
  const saved = store.saved();
  if (saved) {
    store.set(saved);
    await teach.restore(store.state.taught).catch((error) => store.notify(error.message, true));
  } else if (!(await openLink())) {
    await newWorld();
    if (!localStorage.getItem(TOURED) && !isLink(location.hash)) store.set({ tour: 0 });
  }
  store.past = [];
  editor.fillPalette();
  byId("main").removeAttribute("inert");
  document.body.dataset.ready = "yes";
  store.set({});
}

/** Make a pane for each shown agent. @param {Hello} hello */
function makePanes(hello) {
  const key = hello.agents.map(({ name, method, age_seconds: age }) => `${name} ${method} ${age}`).join();
  if (key === panesKey) return;
  panesKey = key;
  paint = painter(hello, () => store.state.world?.drawings);
  const shown = shownAgents(store.state);
  panes = shown.map((agent, pane) => {
    const { name, method } = hello.agents[agent];
    const model = method === "ours" ? "this project's model" : `other model: ${method}`;
    const title = shown.length === 1 ? name : `${name} (${model})`;
    const cells = describeCells(store, connection, pane);
    const made = new AgentPane(title, hello.size, paint, cells.detect);
    editor.attach(made.board);
    cells.attach(made);
    return made;
  });
  const label = h("p", { class: "note compared", text: "Comparison: two agents, the same world, the same sentence." });
  byId("panes").replaceChildren(...panes.map((pane) => pane.element));
  byId("panes").classList.toggle("two", panes.length > 1);
  byId("player").replaceChildren(...(panes.length > 1 ? [label, player.element] : []));
  if (panes.length === 1) {
    panes[0].slot.append(player.element);
    panes[0].side.prepend(tour.element, live.element);
  } else byId("panes").before(tour.element, live.element);
}

/**
 * Call a view when one of some parts of the state has changed.
 * @param {(keyof State)[]} names
 * @param {(state: State) => void} show
 */
function view(names, show) {
  store.show((state, before) => {
    if (state === before || names.some((name) => state[name] !== before[name])) show(state);
  });
}

view(["hello", "runs", "index", "refusal", "agent"], (state) => result.show(state));
view(["runs", "index", "isPlaying", "speed"], ({ runs, index, isPlaying, speed }) =>
  player.show({
    count: frameCount(runs),
    index,
    isComplete: runs.length > 0 && runs.every(isComplete),
    isPlaying,
    speed,
  }),
);
view(["world", "runs", "index", "hello"], ({ world, runs, index }) => {
  if (world) panes.forEach((pane, k) => pane.show(world, runs[k] ?? null, index));
});
view(["draft"], ({ draft }) => sentence.show(draft));
view(["hello", "world"], ({ world }) => {
  if (world) sentence.showFeedback();
});
view(["history"], ({ history }) => historyList.show(history));
view(["trials", "hello"], ({ trials, hello }) => breakIt.show(trials, hello !== null));
view(["hello", "agent"], (state) => ages.show(state));
view(["hello"], ({ hello }) => live.show(hello));
view(["hello"], ({ hello }) => {
  byId("claim").textContent = claimOf(hello);
});
view(["tour", "hello"], (state) => tour.show(state.tour, state.hello));
view(["hello", "world", "taught", "before", "after"], () => teach.show());
view(["hello", "world", "agent", "isPlaying", "runs", "index", "taught"], (state) => {
  const world = shownWorld(state);
  if (!world || !state.hello || state.isPlaying) return;
  if (!teach.isSynced) return chips.wait();
  const { name, lexicon } = state.hello.agents[state.agent];
  chips.load(world, state.agent, [name, ...lexicon, ...teach.synced.map(({ word }) => word)].join(" "));
});
view(["seed"], ({ seed }) => {
  /** @type {HTMLInputElement} */ (byId("seed")).value = seed === null ? "" : String(seed);
});
view(["connection"], ({ connection: text }) => {
  byId("connection").textContent = text;
  document.body.dataset.connected = String(text === "");
});
view(["taught", "connection", "hello"], ({ taught, connection: text, hello }) => {
  if (isOpen && hello && text === "" && !teach.isSynced && !teach.isBusy) {
    teach.sync(taught).catch((error) => store.notify(error.message, true));
  }
});
let drawn = "";
view(["world"], ({ world }) => {
  const names = Object.keys(world?.drawings ?? {}).join();
  if (names !== drawn && isOpen) editor.fillPalette();
  drawn = names;
});
store.show(() => {
  /** @type {HTMLButtonElement} */ (byId("undo")).disabled = !store.past.length;
  /** @type {HTMLButtonElement} */ (byId("redo")).disabled = !store.future.length;
});
let noticeTimer = 0;
view(["notice"], ({ notice: { text, isError } }) => {
  byId("notice").textContent = isError ? "" : text;
  byId("message").textContent = isError ? text : "";
  clearTimeout(noticeTimer);
  if (text) noticeTimer = setTimeout(() => store.notify(), NOTICE_MS);
});

/** @param {string} id @param {string} event @param {(event: Event) => void} action */
function on(id, event, action) {
  byId(id).addEventListener(event, action);
}

on("sentence-form", "submit", (event) => {
  event.preventDefault();
  walks.say(sentenceField.value);
});
on("skip", "click", (event) => {
  event.preventDefault();
  sentenceField.focus();
});
on("start-tour", "click", () => tour.begin(0));
on("undo", "click", () => travel(() => store.undo()));
on("redo", "click", () => travel(() => store.redo()));
on("new-world", "click", () => newWorld());
on("seed-form", "submit", (event) => {
  event.preventDefault();
  newWorld(Number(/** @type {HTMLInputElement} */ (byId("seed")).value));
});
on("save", "click", () => share.save());
on("load", "change", loadFile);
on("share", "click", () => share.link());
on("gif", "click", () => share.export("gif"));
on("html", "click", () => share.export("html"));
window.addEventListener("hashchange", () => openLink());
window.addEventListener("pagehide", () => store.save());
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  if (event.target instanceof HTMLInputElement) return;
  const isUndo = event.key === "z" && !event.shiftKey;
  if (!isUndo && event.key !== "y" && !(event.key.toLowerCase() === "z" && event.shiftKey)) return;
  event.preventDefault();
  travel(() => (isUndo ? store.undo() : store.redo()));
});
listenForKeys(player);
roving(byId("sharing"), "button, input");

/** Undo or redo; a walk on its way ends. @param {() => void} action */
function travel(action) {
  walks.stop();
  action();
}
