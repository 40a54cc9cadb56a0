// The whole state of the page in the fragment of a link: the world, the sentence, the agent and the taught words.

import { fromBase64, toBase64, toFile } from "./scene.js";

/** @typedef {import("./types").State} State */
/** @typedef {import("./types").Scene} Scene */
/** @typedef {{ scene: Scene, agent: string | null, taught: import("./types").TaughtWord[] }} Linked */

const STATE = "#state=";
const WORLD = "#world="; // the world alone, as uncompressed JSON

/** Whether a fragment is one of this page's links; others, such as that of the skip link, mean nothing. */
export function isLink(/** @type {string} */ fragment) {
  return fragment.startsWith(STATE) || fragment.startsWith(WORLD);
}

/**
 * @param {Pick<State, "taught">} state
 * @param {Scene} world
 * @param {string} sentence
 * @param {string} agent
 */
export async function toFragment(state, world, sentence, agent) {
  const drawings = { ...world.drawings };
  const taught = state.taught.map(({ word, examples }) => ({
    word,
    examples: examples.map((example) => {
      const { drawings: drawn, ...scene } = example.scene;
      Object.assign(drawings, drawn);
      return { ...example, scene };
    }),
  }));
  const used = { ...toFile(world, sentence), drawings: undefined };
  const record = { scene: used, drawings, agent, taught };
  return STATE + toUrl(await pipe(new TextEncoder().encode(JSON.stringify(record)), new CompressionStream("deflate")));
}

/**
 * What a fragment contains. Throws an error in plain words if it cannot be read.
 * @param {string} fragment
 * @returns {Promise<Linked>}
 */
export async function fromFragment(fragment) {
  try {
    if (fragment.startsWith(WORLD)) {
      return { scene: parse(fromUrl(fragment.slice(WORLD.length))), agent: null, taught: [] };
    }
    const { scene, drawings, agent, taught } = parse(
      await pipe(fromUrl(fragment.slice(STATE.length)), new DecompressionStream("deflate")),
    );
    const drawn = Object.keys(drawings ?? {}).length ? { drawings } : {};
    return {
      scene: { ...scene, ...drawn },
      agent,
      taught: taught.map((/** @type {any} */ { word, examples }) => ({
        word,
        examples: examples.map((/** @type {any} */ example) => ({
          ...example,
          scene: toFile({ ...example.scene, ...drawn }),
        })),
      })),
    };
  } catch {
    throw new Error("it is incomplete or damaged; copy the whole link");
  }
}

/** @param {Uint8Array<ArrayBuffer>} bytes @param {CompressionStream | DecompressionStream} transform */
async function pipe(bytes, transform) {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {Uint8Array} bytes */
function parse(bytes) {
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** @param {Uint8Array} bytes */
function toUrl(bytes) {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} text */
function fromUrl(text) {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}
