// Saving and sharing: world files, links to the whole state, and exported walks.

import { h } from "./dom.js";
import { toFragment } from "./link.js";
import { fromBase64, toFile } from "./scene.js";
import { verdictOf, verdictText } from "./verdict.js";

/** @typedef {import("./types").Scene} Scene */

export class Share {
  /** @param {import("./store.js").Store} store @param {import("./connection.js").Connection} connection */
  constructor(store, connection) {
    this.store = store;
    this.connection = connection;
  }

  /** Save the world with the agent where the sentence was said. */
  save() {
    const { world, said, draft } = this.store.state;
    if (!world) return;
    const file = toFile(world, said || draft.trim());
    this.#download("world.json", new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
    this.store.notify("Saved world.json.");
  }

  /**
   * Copy a link to the state, or to what was said earlier.
   * @param {{ world: Scene, sentence: string, agent: string }} [entry]
   */
  async link(entry) {
    const { world, said, draft, hello, agent } = this.store.state;
    if (!world || !hello) return;
    const linked = entry ?? { world, sentence: said || draft.trim(), agent: hello.agents[agent].name };
    const fragment = await toFragment(this.store.state, linked.world, linked.sentence, linked.agent);
    const address = location.href.split("#")[0] + fragment;
    if (!entry) history.replaceState(null, "", fragment);
    this.store.save();
    const copied = await navigator.clipboard?.writeText(address).then(
      () => true,
      () => false,
    );
    if (entry && !copied) location.hash = fragment;
    const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
    const where = isLocal ? " It opens on this machine, while the server runs." : "";
    this.store.notify(
      `${copied ? "Link copied. It" : "The address of this page"} contains the world, the sentence, the agent and what was taught.${where}`,
    );
  }

  /** @param {"gif" | "html"} format */
  async export(format) {
    const { runs, world, said, hello, agent } = this.store.state;
    if (!runs.length || !world || !hello)
      return this.store.notify("Say a sentence first; there is no walk to export.", true);
    this.store.notify("Exporting …");
    const [run] = runs;
    const path = run.frames.map((frame) => frame.at);
    const verdict = verdictOf(run, run.frames.length - 1, hello.agents[agent].held_out_words);
    const text = verdict.outcome === "running" ? "" : verdictText(verdict).slice(0, 300);
    const fields = { agent, scene: toFile(world), sentence: said, path, format, verdict: text };
    try {
      const file = await this.connection.request("export", fields);
      this.#download(
        file.name,
        new Blob([fromBase64(file.base64)], { type: format === "gif" ? "image/gif" : "text/html" }),
      );
      const which = runs.length > 1 ? ` of ${hello.agents[agent].name}` : "";
      this.store.notify(`Saved ${file.name}${which}.`);
    } catch (error) {
      this.store.notify(String(/** @type {Error} */ (error).message), true);
    }
  }

  /** @param {string} name @param {Blob} blob */
  #download(name, blob) {
    const link = h("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
