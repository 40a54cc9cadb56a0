// The page: the scene, the sentence, and the walks of the agents. The server keeps no state except taught words.

import { AgentPane } from "./agent_pane.js";
import { Connection } from "./connection.js";
import { decimal, h } from "./dom.js";
import { Editor } from "./editor.js";
import { Player, listenForKeys } from "./player.js";
import { atOf, cellContents, describe, fromBase64, fromFragment, positionOf, toFile, toFragment } from "./scene.js";
import { SentenceInput } from "./sentence.js";
import { Teaching } from "./teaching.js";

const byId = (id) => document.getElementById(id);
const SEEDS = 2 ** 31;
const WORLD_SEEDS = 10000; // short numbers for the seed field
const HOVER_DELAY_MS = 120;
const MAX_CACHED_REPLIES = 500;

const page = {
  agents: [],
  size: 7,
  maxSteps: 28,
  maxExamples: 10,
  neighborQuestions: {},
  scene: null,
  panes: [],
  runningSentence: "",
  replyCache: new Map(), // replies about words and cells of shown frames

  /** Every object with an icon of its own that can be added: { name, color, icon }. */
  objectKinds() {
    const drawn = Object.keys(page.scene?.drawings ?? {}).map((name) => ({ name, color: null, icon: 0 }));
    const known = page.classes.flatMap(({ name, colors }) => colors.map((color, icon) => ({ name, color, icon })));
    return [...drawn, ...known];
  },

  /** Set the icon of an element: from the icon sheet, or the user's drawing. */
  paint(element, key) {
    const [name, icon] = key.split("/");
    const drawing = page.scene?.drawings?.[name];
    if (drawing) {
      Object.assign(element.style, {
        backgroundImage: `url("data:image/png;base64,${drawing}")`,
        backgroundSize: "100% 100%",
        backgroundPosition: "0 0",
      });
      return;
    }
    const cell = page.cells[key] ?? page.firstIcons.get(name) + Number(icon);
    const { columns, rows } = page.sheet;
    const [x, y] = [(cell % columns) / (columns - 1), Math.floor(cell / columns) / (rows - 1)];
    Object.assign(element.style, {
      backgroundImage: 'url("/icons.png")',
      backgroundSize: `${100 * columns}% ${100 * rows}%`,
      backgroundPosition: `${100 * x}% ${100 * y}%`,
    });
  },

  /** Show a message to the user; screen readers read it too. */
  notify(text, isError = false) {
    const message = byId("message");
    message.textContent = text ? text[0].toUpperCase() + text.slice(1) : "";
    message.classList.toggle("error", isError);
  },

  /** Show a scene without a walk. */
  setScene(scene) {
    page.scene = scene;
    player.reset(0);
    for (const pane of page.panes) pane.reset(scene);
  },

  /** Make the agent's position in the shown frame its position in the scene; with two agents, keep the start. */
  keepShownPosition() {
    const [pane] = page.panes;
    if (page.panes.length === 1 && pane.frames.length) page.scene = { ...page.scene, agent: pane.shown.at };
  },

  /** Replace the scene after an edit. */
  edit(scene) {
    page.notify("");
    page.setScene(scene);
    teaching.refresh();
    sentence.showFeedback();
  },

  addDrawing(name, png) {
    page.edit({ ...page.scene, drawings: { ...page.scene.drawings, [name]: png } });
    editor.fillPalette();
  },

  /** Set the words of an agent after teaching. */
  setLexicon(agent, lexicon) {
    page.agents[agent] = { ...page.agents[agent], lexicon };
    page.replyCache.clear();
    sentence.showFeedback();
  },

  async newWorld(seed = Math.floor(Math.random() * WORLD_SEEDS)) {
    const world = await orNotify(() => connection.request("new_world", { seed }));
    if (!world) return;
    byId("seed").value = seed;
    page.setScene({ ...world.scene, drawings: page.scene?.drawings });
    sentence.text = world.command;
    page.notify("");
  },

  async runSentence(text) {
    sentence.text = text;
    await startWalk();
  },

  get connection() {
    return connection;
  },
};

/** Run the sentence with every agent; for a command, play the walk. */
async function startWalk() {
  page.notify("");
  const { text } = sentence;
  if (!text) return page.notify("Enter a command or a question first.", true);
  page.keepShownPosition();
  const { scene } = page;
  player.reset(0);
  const run = player.run;
  const firstFrames = () => Promise.all(page.panes.map((_, agent) => requestStep(agent, scene, scene.agent, text)));
  const steps = await orNotify(firstFrames);
  if (!steps || run !== player.run) return;
  page.runningSentence = text;
  steps.forEach(({ sentence_check: check, ...frame }, k) => page.panes[k].begin(scene, check, frame));
  player.reset(1);
  if (steps[0].move === null) player.step(); // a question has one frame only
  else player.play();
}

async function requestStep(agent, scene, at, text) {
  const current = toFile({ ...scene, agent: at });
  const reply = await connection.request("step", { agent, scene: current, sentence: text, start: scene.agent });
  return { at, ...reply };
}

/** Add the next frame for every agent whose walk has not ended; see Player. */
async function addFrame() {
  const walking = page.panes.filter((pane) => pane.last.move !== null);
  if (!walking.length) return "none";
  const frames = await orNotify(() => Promise.all(walking.map((pane) => nextFrame(pane))));
  if (!frames) return "failed";
  walking.forEach((pane, k) => pane.frames.push(frames[k]));
  return frames.every((frame) => frame.move === null) ? "last" : "added";
}

async function nextFrame(pane) {
  const { last } = pane;
  const { to, terminated } = last.move;
  if (terminated || pane.frames.length >= page.maxSteps) {
    return { at: to, explanation: last.explanation, move: null, end: terminated ? "terminated" : "truncated" };
  }
  const step = await requestStep(page.panes.indexOf(pane), pane.scene, to, page.runningSentence);
  const { sentence_check: _check, ...frame } = step;
  return frame;
}

/** The result of an async function; if it fails, show the error and return undefined. */
async function orNotify(action) {
  try {
    return await action();
  } catch (error) {
    page.notify(error.message, true);
    return undefined;
  }
}

/** Load a scenario from a file or a link after the server has checked it. */
async function load(file) {
  const { scene } = await connection.request("load", { scene: file });
  const { sentence: text, ...rest } = scene;
  page.setScene(rest);
  sentence.text = text ?? "";
  teaching.refresh();
  editor.fillPalette();
}

/** Run a random sentence of the teacher. */
async function runSuggestion(kind) {
  page.keepShownPosition();
  const seed = Math.floor(Math.random() * SEEDS);
  const fields = { agent: 0, kind, seed, scene: toFile(page.scene) };
  const suggestion = await orNotify(() => connection.request("suggest_sentence", fields));
  if (suggestion) await page.runSentence(suggestion.sentence);
}

/** The reply to a request about a word or a cell of the shown frame, or null if it failed; replies are cached. */
async function cachedRequest(agent, name, fields) {
  const pane = page.panes[agent];
  const at = pane.shown?.at ?? page.scene.agent;
  const scene = toFile({ ...page.scene, agent: at });
  const key = JSON.stringify([agent, name, fields, scene]);
  if (!page.replyCache.has(key)) {
    if (page.replyCache.size > MAX_CACHED_REPLIES) page.replyCache.clear();
    page.replyCache.set(key, connection.request(name, { agent, scene, ...fields }).catch(() => null));
  }
  const reply = await page.replyCache.get(key);
  if (reply === null) page.replyCache.delete(key);
  return reply;
}

function describeCellsOnHover(pane, agent) {
  let timer;
  const point = (event) => {
    clearTimeout(timer);
    const position = pane.board.positionAt(event.target);
    if (position >= 0) timer = setTimeout(() => describeCell(pane, agent, position), HOVER_DELAY_MS);
  };
  pane.board.element.addEventListener("mouseover", point);
  pane.board.element.addEventListener("focusin", point);
  pane.board.element.addEventListener("mouseleave", () => {
    clearTimeout(timer);
    pane.readout.textContent = "";
  });
}

async function describeCell(pane, agent, position) {
  const isAgent = position === positionOf(pane.shown?.at ?? page.scene.agent, page.size);
  const content = isAgent ? "the agent" : describe(cellContents(page.scene, page.size)[position]);
  const reply = await cachedRequest(agent, "describe_cell", { at: atOf(position, page.size) });
  const likely = (reply?.words ?? []).filter(({ probability }) => probability >= 0.01);
  const words = likely.map(({ word, probability }) => `${word} ${decimal(probability)}`).join(", ") || "none";
  const number = pane.board.numbers ? ` (${pane.board.numbers[position]})` : "";
  pane.readout.textContent = content + number + (reply ? ` — predicted words: ${words}` : "");
}

function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function save() {
  page.keepShownPosition();
  const file = toFile(page.scene, sentence.text);
  download("world.json", new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
}

async function loadFile(event) {
  const [file] = event.target.files;
  event.target.value = "";
  await orNotify(async () => {
    let record;
    try {
      record = JSON.parse(await file.text());
    } catch {
      throw new Error(`File ${file.name}: scenario must be valid JSON`);
    }
    try {
      await load(record);
    } catch (error) {
      throw new Error(`File ${file.name}: ${error.message}`);
    }
    page.notify(`Loaded the file ${file.name}.`);
  });
}

async function share() {
  page.keepShownPosition();
  history.replaceState(null, "", toFragment(toFile(page.scene, sentence.text)));
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  page.notify(`${copied ? "Link copied. It" : "The address of this page"} contains the whole world.`);
}

async function exportWalk(format) {
  const [pane] = page.panes;
  if (!pane.frames.length) return page.notify("Run a sentence first; there is no walk to export.", true);
  page.notify("Exporting …");
  const path = pane.frames.map((frame) => frame.at);
  const fields = { agent: 0, scene: toFile(pane.scene), sentence: page.runningSentence, path, format };
  const file = await orNotify(() => connection.request("export", fields));
  if (!file) return;
  download(file.name, new Blob([fromBase64(file.base64)], { type: format === "gif" ? "image/gif" : "text/html" }));
  page.notify(`Saved ${file.name}.`);
}

async function onHello(hello) {
  const isFirst = page.scene === null;
  const { size, max_steps: maxSteps, max_examples: maxExamples, sheet, cells, classes, agents } = hello;
  const { neighbor_questions: neighborQuestions } = hello;
  Object.assign(page, { size, maxSteps, maxExamples, neighborQuestions, sheet, cells, classes, agents });
  page.firstIcons = new Map(classes.map(({ name, first }) => [name, first]));
  page.replyCache.clear();
  if (!isFirst) {
    if (teaching.taughtWords.length) await orNotify(() => teaching.teach(teaching.taughtWords));
    return page.notify("Reconnected.");
  }
  page.panes = agents.map(({ name, method }, agent) => {
    const title = ["ours", name].includes(method) ? name : `${name} (${method})`;
    const detect = async (word) => (await cachedRequest(agent, "detect", { word }))?.map ?? null;
    const pane = new AgentPane(title, size, page.paint, detect);
    editor.attach(pane.board);
    describeCellsOnHover(pane, agent);
    return pane;
  });
  byId("panes").replaceChildren(...page.panes.map((pane) => pane.element));
  byId("panes").classList.toggle("two", page.panes.length > 1);
  (page.panes.length > 1 ? byId("player") : page.panes[0].slot).append(player.element);
  await openWorld();
  editor.fillPalette();
  teaching.refresh();
  document.body.dataset.ready = "yes";
}

/** Show the world of the link, or a random one. */
async function openWorld() {
  let failure = null;
  try {
    const file = fromFragment(location.hash);
    if (file) return await load(file);
  } catch (error) {
    failure = `Cannot read the world in this link: ${error.message}`;
  }
  await page.newWorld();
  if (failure) page.notify(failure, true);
}

const player = new Player((index) => page.panes.forEach((pane) => pane.show(index)), addFrame);
const sentence = new SentenceInput(
  byId("sentence"),
  byId("completions"),
  byId("feedback"),
  () => page.agents[0]?.lexicon ?? [],
  (text) => connection.request("check_sentence", { agent: 0, scene: toFile(page.scene), sentence: text }),
);
const editor = new Editor(byId("editor"), page);
const teaching = new Teaching(byId("teaching"), page);
const connection = new Connection(onHello, (state) => {
  byId("connection").textContent = state === "connected" ? "" : state;
  document.body.dataset.connected = String(state === "connected");
});

byId("sentence-form").addEventListener("submit", (event) => {
  event.preventDefault();
  startWalk();
});
byId("suggest-command").addEventListener("click", () => runSuggestion("command"));
byId("suggest-question").addEventListener("click", () => runSuggestion("question"));
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
window.addEventListener("hashchange", () => openWorld());
listenForKeys(player);
