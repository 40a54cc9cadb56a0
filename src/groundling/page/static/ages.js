// The age of the agent: snapshots of one training run, and a run that is shown while it learns.

import { byId, h, percent } from "./dom.js";

/** @typedef {import("./types").State} State */
/** @typedef {import("./types").Agent} Agent */
/** @typedef {Record<string, number | string>} Metrics */

const POLL_MS = 2000;
const [WIDTH, HEIGHT] = [240, 48];
const SERIES = [
  ["success_rate", "success"],
  ["qa_accuracy", "answers right"],
];

/** @param {number} seconds */
function duration(seconds) {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${(seconds / 60).toFixed(1)} min`;
}

export class Ages {
  /** @param {HTMLElement} element @param {(agent: number) => void} onchoose */
  constructor(element, onchoose) {
    this.element = element;
    this.slider = h("input", { type: "range", id: "age", min: "0", step: "1" });
    this.text = h("output", { for: "age" });
    /** @type {number[]} agents by age; the last one is the trained agent */
    this.order = [];
    element.append(h("label", { class: "age", for: "age" }, "Age of the agent: ", this.text), this.slider);
    this.slider.addEventListener("input", () => this.#describe(null));
    this.slider.addEventListener("change", () => onchoose(this.order[Number(this.slider.value)]));
  }

  /** @param {State} state */
  show({ hello, agent }) {
    const agents = hello?.agents ?? [];
    const aged = [...agents.keys()].filter((k) => agents[k].age_seconds !== null);
    this.element.hidden = !aged.length;
    if (!aged.length) return;
    aged.sort((a, b) => (agents[a].age_seconds ?? 0) - (agents[b].age_seconds ?? 0));
    this.order = [...aged, 0];
    this.agents = agents;
    this.slider.max = String(this.order.length - 1);
    if (document.activeElement !== this.slider || this.chosen !== agent)
      this.slider.value = String(this.order.indexOf(agent));
    this.chosen = agent;
    this.#describe(agent);
  }

  /** @param {number | null} _agent */
  #describe(_agent) {
    const { age_seconds: age, training_seconds: whole } =
      (this.agents ?? [])[this.order[Number(this.slider.value)]] ?? {};
    const text =
      age === null || age === undefined
        ? `${whole ? duration(whole) : "fully"} of training (the end)`
        : `${duration(age)} of training`;
    this.text.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }
}

export class LiveRun {
  /**
   * @param {HTMLElement} element
   * @param {import("./connection.js").Connection} connection
   * @param {() => void} onlearned is called when the server has a later agent
   */
  constructor(element, connection, onlearned) {
    this.element = element;
    this.connection = connection;
    this.onlearned = onlearned;
    this.version = 0;
    this.timer = 0;
  }

  /** @param {import("./types").Hello | null} hello */
  show(hello) {
    const isLive = hello?.agents.some(({ is_live: live }) => live) ?? false;
    this.element.hidden = !isLive;
    if (isLive && !this.timer) this.timer = setInterval(() => this.#poll(), POLL_MS);
  }

  async #poll() {
    const reply = await this.connection.request("progress").catch(() => null);
    if (!reply) return;
    this.#draw(reply.metrics);
    const [version] = reply.versions;
    if (version !== this.version) {
      this.version = version;
      this.onlearned();
    }
  }

  /** @param {Metrics[]} metrics */
  #draw(metrics) {
    const last = metrics[metrics.length - 1];
    if (!last) return;
    const parts = [`${duration(Number(last.seconds))} of training (${String(last.stage).replace("_", " ")})`];
    const chart = byId("live-chart");
    for (const [k, [key, text]] of SERIES.entries()) {
      const lines = metrics.filter((line) => key in line);
      const value = lines[lines.length - 1]?.[key];
      if (value !== undefined) parts.push(`${text} ${percent(Number(value))}`);
      const points = lines.map((line) => {
        const x = (Number(line.seconds) / (Number(last.seconds) || 1)) * WIDTH;
        return `${x.toFixed(1)},${(HEIGHT - Number(line[key]) * HEIGHT).toFixed(1)}`;
      });
      chart.children[k].setAttribute("points", points.join(" "));
    }
    byId("live-text").textContent = parts.join(", ");
    chart.setAttribute("aria-label", parts.join(", "));
  }
}
