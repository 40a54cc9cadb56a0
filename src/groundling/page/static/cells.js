// What the agent says about a cell that is pointed at, and where it detects a word; replies are cached.

import { decimal } from "./dom.js";
import { atOf, cellContents, describe, positionOf, toFile } from "./scene.js";
import { shownAgents, shownAt } from "./store.js";

/** @typedef {import("./agent_pane.js").AgentPane} AgentPane */

const HOVER_DELAY_MS = 120;
const MAX_CACHED_REPLIES = 500;

/**
 * @param {import("./store.js").Store} store
 * @param {import("./connection.js").Connection} connection
 * @param {number} pane
 */
export function describeCells(store, connection, pane) {
  /** @type {Map<string, Promise<any>>} */
  const cache = new Map();

  /** @param {string} name @param {Record<string, unknown>} fields */
  async function cached(name, fields) {
    const { state } = store;
    const at = shownAt(state, pane);
    if (!state.world || !at) return null;
    const agent = shownAgents(state)[pane];
    const scene = toFile({ ...state.world, agent: at });
    const key = JSON.stringify([agent, name, fields, scene, state.taught]);
    let reply = cache.get(key);
    if (!reply) {
      if (cache.size > MAX_CACHED_REPLIES) cache.clear();
      reply = connection.request(name, { agent, scene, ...fields }).catch(() => {
        cache.delete(key);
        return null;
      });
      cache.set(key, reply);
    }
    return reply;
  }

  /** @param {AgentPane} made @param {number} position */
  async function readOut(made, position) {
    const { world, hello } = store.state;
    const at = shownAt(store.state, pane);
    if (!world || !hello || !at) return;
    const isAgent = position === positionOf(at, hello.size);
    const content = isAgent ? "the agent" : describe(cellContents(world, hello.size)[position]);
    const number = made.board.numbers ? ` (${made.board.numbers[position]})` : "";
    const reply = isAgent ? null : await cached("describe_cell", { at: atOf(position, hello.size) });
    /** @type {{ word: string, probability: number }[]} */
    const likely = (reply?.words ?? []).filter((/** @type {any} */ { probability }) => probability >= 0.01);
    const words = likely.map(({ word, probability }) => `${word} ${decimal(probability)}`).join(", ") || "none";
    made.readout.textContent = content + number + (reply ? ` — it would say: ${words}` : "");
  }

  return {
    /** @param {string} word @returns {Promise<number[] | null>} */
    detect: async (word) => (await cached("detect", { word }))?.map ?? null,
    /** @param {AgentPane} made */
    attach(made) {
      let timer = 0;
      const point = (/** @type {Event} */ event) => {
        clearTimeout(timer);
        const position = made.board.positionAt(event.target);
        if (position >= 0) timer = setTimeout(() => readOut(made, position), HOVER_DELAY_MS);
      };
      made.board.element.addEventListener("mouseover", point);
      made.board.element.addEventListener("focusin", point);
      made.board.element.addEventListener("mouseleave", () => {
        clearTimeout(timer);
        made.readout.textContent = "";
      });
    },
  };
}
