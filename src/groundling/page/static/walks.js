// Running sentences: every step of every shown agent is a request to the server; the store keeps the frames.

import { positionOf, toFile } from "./scene.js";
import { shownAgents, shownWorld } from "./store.js";
import { isComplete, verdictOf, verdictText } from "./verdict.js";

/** @typedef {import("./types").At} At */
/** @typedef {import("./types").Run} Run */
/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Frame} Frame */

const MAX_HISTORY = 100;
const PAUSE_BETWEEN_COMMANDS_MS = 700;

export class Walks {
  /** @param {import("./store.js").Store} store @param {import("./connection.js").Connection} connection */
  constructor(store, connection) {
    this.store = store;
    this.connection = connection;
    this.walk = 0; // increases with each new walk; a frame of an earlier one is discarded
  }

  /** Say what is in the input; a sentence with "then" is said in parts. @param {string} text */
  async say(text) {
    const { state } = this.store;
    const world = shownWorld(state);
    if (!state.hello || !world) return;
    this.stop();
    const sentence = text.trim();
    this.store.set({ draft: sentence, tour: state.tour });
    if (!sentence) return this.refuse("Type a command or a question first.");
    const walk = this.walk;
    const parts = await this.#parts(sentence, world);
    if (!parts || walk !== this.walk) return;
    if (parts.length > 1) this.store.notify(`The page splits this into ${parts.length} commands, done in turn.`);
    for (const [k, part] of parts.entries()) {
      if (k > 0) await new Promise((done) => setTimeout(done, PAUSE_BETWEEN_COMMANDS_MS));
      if (this.walk !== walk + k) return; // something else was said meanwhile
      if (!(await this.run(part, shownWorld(this.store.state) ?? world))) return;
    }
  }

  /** The commands of a sentence, or null if it cannot be said. @param {string} sentence @param {Scene} world */
  async #parts(sentence, world) {
    try {
      const check = await this.#check(sentence, world);
      const checks =
        check.parts.length > 1 ? await Promise.all(check.parts.map((part) => this.#check(part, world))) : [check];
      const bad = checks.flatMap(({ words }) => words).find(({ state }) => state !== "known");
      const taught = this.store.state.taught.map(({ word }) => word);
      if (!bad || taught.includes(bad.text)) return check.parts;
      const why = bad.state === "unseen" ? "was never seen in training; teach it first" : "is not a word of the agent";
      this.refuse(`Not said: “${bad.text}” ${why}.`);
    } catch (error) {
      this.refuse(String(/** @type {Error} */ (error).message));
    }
    return null;
  }

  /** @param {string} sentence @param {Scene} world @returns {Promise<import("./types").Check>} */
  #check(sentence, world) {
    return this.connection.request("check_sentence", { agent: this.store.state.agent, scene: toFile(world), sentence });
  }

  /** Show why a sentence was not said, instead of the result of the sentence before. @param {string} refusal */
  refuse(refusal) {
    const gone = { said: "", runs: [], index: 0, isPlaying: false, refusal };
    if (this.store.state.runs.length) this.store.commit({ ...gone, world: shownWorld(this.store.state) });
    else this.store.set(gone);
  }

  /**
   * Run a sentence in a world with every shown agent, and play it to its end; true if it came to an end.
   * @param {string} sentence
   * @param {Scene} world
   * @param {Partial<import("./types").State>} [change] made together with it
   */
  async run(sentence, world, change = {}) {
    this.stop();
    const walk = this.walk;
    const agents = shownAgents({ ...this.store.state, ...change });
    try {
      const steps = await Promise.all(agents.map((agent) => this.#step(agent, world, world.agent, sentence)));
      if (walk !== this.walk) return false;
      const runs = steps.map(({ sentence_check: check, ...frame }) => ({ check, frames: [frame] }));
      this.store.commit({ ...change, world, said: sentence, draft: sentence, runs, index: 0, refusal: "" });
      const [{ check }] = runs;
      if (runs.every(isComplete)) this.#remember();
      else if (check.kind !== "free_form" || check.words[check.words.length - 1].text !== "?") return await this.play();
      return true;
    } catch (error) {
      if (walk === this.walk) this.refuse(String(/** @type {Error} */ (error).message));
      return false;
    }
  }

  /** @param {number} agent @param {Scene} world @param {At} at @param {string} sentence */
  async #step(agent, world, at, sentence) {
    const scene = toFile({ ...world, agent: at });
    return { at, ...(await this.connection.request("step", { agent, scene, sentence, start: world.agent })) };
  }

  stop() {
    this.walk += 1;
    if (this.store.state.isPlaying) this.store.set({ isPlaying: false });
  }

  /** Play until the walk ends, or is paused; true if it ended. */
  async play() {
    const { runs, index } = this.store.state;
    if (!runs.length) return false;
    const walk = this.walk;
    const isAtEnd = runs.every(isComplete) && index === frameCount(runs) - 1;
    this.store.set({ isPlaying: true, index: isAtEnd ? 0 : index });
    while (this.store.state.isPlaying && walk === this.walk) {
      await new Promise((done) => setTimeout(done, this.store.state.speed));
      if (!this.store.state.isPlaying || walk !== this.walk || !(await this.#next())) break;
    }
    if (walk === this.walk) this.store.set({ isPlaying: false });
    return walk === this.walk && this.store.state.runs.every(isComplete);
  }

  async step() {
    this.store.set({ isPlaying: false });
    await this.#next();
  }

  toggle() {
    if (this.store.state.isPlaying) this.store.set({ isPlaying: false });
    else this.play();
  }

  /** @param {number} index */
  go(index) {
    this.store.set({ isPlaying: false, index: Math.max(0, Math.min(index, frameCount(this.store.state.runs) - 1)) });
  }

  /** Go to the next frame; false if there is none after it. */
  async #next() {
    const { runs, index, world, said } = this.store.state;
    if (!runs.length || !world) return false;
    if (index < frameCount(runs) - 1) {
      this.store.set({ index: index + 1 });
      return !runs.every(isComplete) || index + 1 < frameCount(runs) - 1;
    }
    if (runs.every(isComplete)) return false;
    const walk = this.walk;
    try {
      const longer = await Promise.all(runs.map((run, pane) => this.#longer(run, pane, world, said)));
      if (walk !== this.walk || this.store.state.runs !== runs) return false;
      this.store.set({ runs: longer, index: frameCount(longer) - 1 });
      if (!longer.every(isComplete)) return true;
      this.#remember();
    } catch (error) {
      this.store.notify(String(/** @type {Error} */ (error).message), true);
    }
    return false;
  }

  /**
   * A run with one more frame, unless it has ended. A greedy agent without memory that comes back to a cell goes around
   * forever, so its walk ends there. On arrival the agent computes nothing: the last frame has the explanation of the
   * move that led there. (It never acted on a target in training; what it would compute there says nothing.)
   * @param {Run} run
   * @param {number} pane
   * @param {Scene} world
   * @param {string} sentence
   * @returns {Promise<Run>}
   */
  async #longer(run, pane, world, sentence) {
    const last = run.frames[run.frames.length - 1];
    if (last.move === null) return run;
    const { to, terminated } = last.move;
    if (terminated) {
      const end = { at: to, explanation: last.explanation, move: null, end: /** @type {const} */ ("terminated") };
      return { ...run, frames: [...run.frames, end] };
    }
    const agent = shownAgents(this.store.state)[pane];
    const { sentence_check: _check, ...frame } = await this.#step(agent, world, to, sentence);
    const maxSteps = this.store.state.hello?.max_steps ?? 0;
    const key = positionOf(to, 100);
    const isStuck = run.frames.some(({ at }) => positionOf(at, 100) === key);
    const end = isStuck ? "stuck" : run.frames.length >= maxSteps ? "truncated" : null;
    return { ...run, frames: [...run.frames, end ? { ...frame, move: null, end } : frame] };
  }

  /** Add what was said and its outcome to the history. */
  #remember() {
    const { hello, world, said, runs, history, agent } = this.store.state;
    if (!hello || !world) return;
    const [run] = runs;
    const { name, held_out_words: heldOut } = hello.agents[agent];
    const verdict = verdictOf(run, run.frames.length - 1, heldOut);
    const outcome = verdict.outcome === "running" ? "none" : verdict.outcome;
    const entry = { sentence: said, world, agent: name, outcome, text: verdictText(verdict) };
    this.store.set({ history: [...history, entry].slice(-MAX_HISTORY) });
  }
}

/** @param {Run[]} runs */
export function frameCount(runs) {
  return Math.max(0, ...runs.map(({ frames }) => frames.length));
}
