// The state of the page. Views are functions of it; nothing else keeps what a user made.

/** @typedef {import("./types").State} State */
/** @typedef {import("./types").Document} Document */

const MAX_UNDO = 50;
const KEY = "groundling-state-1";
const SAVE_DELAY_MS = 150;
/** @type {(keyof Document)[]} */
const DOCUMENT = ["world", "seed", "draft", "said", "runs", "index", "taught", "agent", "before", "after"];
/** @type {(keyof State)[]} What a reload brings back. */
const SAVED = [...DOCUMENT, "refusal", "speed", "history", "trials", "tour"];

/** @returns {State} */
export function emptyState() {
  return {
    world: null,
    said: "",
    runs: [],
    index: 0,
    taught: [],
    agent: 0,
    hello: null,
    connection: "Connecting …",
    draft: "",
    seed: null,
    refusal: "",
    isPlaying: false,
    speed: 600,
    history: [],
    trials: { isRunning: false, tried: 0, judged: 0, failures: [] },
    tour: null,
    notice: { text: "", isError: false },
    before: null,
    after: null,
  };
}

export class Store {
  /** @param {Storage | null} storage where the state survives a reload */
  constructor(storage) {
    this.storage = storage;
    this.state = emptyState();
    /** @type {Document[]} */
    this.past = [];
    /** @type {Document[]} */
    this.future = [];
    /** @type {((state: State, before: State) => void)[]} */
    this.views = [];
    this.timer = 0;
  }

  /** Call a view with the state now and after every change. @param {(state: State, before: State) => void} view */
  show(view) {
    this.views.push(view);
    view(this.state, this.state);
  }

  /** Change the state; undo does not stop here. @param {Partial<State>} change */
  set(change) {
    const before = this.state;
    this.state = { ...before, ...change };
    for (const view of this.views) view(this.state, before);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), SAVE_DELAY_MS);
  }

  /** Change the state in a way that undo takes back. @param {Partial<State>} change */
  commit(change) {
    this.past = [...this.past, this.#document()].slice(-MAX_UNDO);
    this.future = [];
    this.set(change);
  }

  undo() {
    this.#travel(this.past, this.future);
  }

  redo() {
    this.#travel(this.future, this.past);
  }

  /** @param {Document[]} from @param {Document[]} to */
  #travel(from, to) {
    const document = from.pop();
    if (!document) return;
    to.push(this.#document());
    this.set({ ...document, refusal: "", isPlaying: false });
  }

  /** @returns {Document} */
  #document() {
    const { world, seed, draft, said, runs, index, taught, agent, before, after } = this.state;
    return { world, seed, draft, said, runs, index, taught, agent, before, after };
  }

  notify(text = "", isError = false) {
    this.set({ notice: { text: text && text[0].toUpperCase() + text.slice(1), isError } });
  }

  /** Write the state so that a reload brings it back, together with the address that it was opened with. */
  save() {
    const { hello, world } = this.state;
    if (!this.storage || !hello || !world) return;
    const saved = Object.fromEntries(SAVED.map((name) => [name, this.state[name]]));
    const record = { ...saved, agents: agentNames(this.state), opened: location.hash };
    try {
      this.storage.setItem(KEY, JSON.stringify(record));
    } catch {
      this.storage.removeItem(KEY); // too large: a reload starts anew rather than with an older state
    }
  }

  /**
   * The state before a reload, or null if there is none, or if the address now is another link.
   * @returns {Partial<State> | null}
   */
  saved() {
    try {
      const record = JSON.parse(this.storage?.getItem(KEY) ?? "null");
      if (!record || record.opened !== location.hash) return null;
      const { opened: _opened, agents, ...state } = record;
      const isSame = JSON.stringify(agents) === JSON.stringify(agentNames(this.state));
      const trials = { ...state.trials, isRunning: false };
      return isSame ? { ...state, trials } : { ...state, trials, runs: [], said: "", index: 0, agent: 0 };
    } catch {
      return null;
    }
  }
}

/** @param {State} state */
function agentNames(state) {
  return state.hello?.agents.map(({ name }) => name) ?? [];
}

/**
 * The agents that are shown: the chosen one, and the one that it is compared with.
 * @param {State} state
 * @returns {number[]}
 */
export function shownAgents({ hello, agent }) {
  if (!hello) return [];
  const compared = [...hello.agents.keys()].filter((k) => k > 0 && hello.agents[k].age_seconds === null);
  return [agent, ...compared];
}

/**
 * Where the agent of a pane is now.
 * @param {State} state
 * @param {number} pane
 * @returns {import("./types").At | null}
 */
export function shownAt({ world, runs, index }, pane = 0) {
  const frames = runs[pane]?.frames;
  return frames ? frames[Math.min(index, frames.length - 1)].at : (world?.agent ?? null);
}

/**
 * The world as it is shown: after a walk of one agent, the agent stands where it went; with two, at the start.
 * @param {State} state
 */
export function shownWorld(state) {
  const { world, runs } = state;
  if (!world || runs.length !== 1) return world;
  return { ...world, agent: shownAt(state) ?? world.agent };
}
