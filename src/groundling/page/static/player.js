// Play, pause, step and back over the frames of a walk. Frames may be made as they are needed.

import { h } from "./dom.js";

const SPEEDS = [["slow", 1200], ["normal", 600], ["fast", 250]];

export class Player {
  /**
   * `show(index)` shows a frame; `more()` makes one more and resolves to "more", to "last" if none can follow it, to
   * "none" if there is none, or to "failed" if it may be tried again.
   */
  constructor(show, more = async () => "none") {
    this.show = show;
    this.more = more;
    this.count = 0;
    this.index = 0;
    this.run = 0;
    this.playing = false;
    this.start = this.#button("|◀", "Back to the start", () => this.go(0));
    this.backward = this.#button("◀", "Step back", () => this.back());
    this.toggle = this.#button("▶", "Play", () => (this.playing ? this.pause() : this.play()));
    this.toggle.classList.add("toggle");
    this.forward = this.#button("▶|", "Step", () => this.step());
    this.counter = h("output", { class: "counter" });
    const speeds = SPEEDS.map(([name, milliseconds]) => h("option", { value: milliseconds, text: name }));
    this.speed = h("select", { "aria-label": "Speed" }, ...speeds);
    this.speed.value = SPEEDS[1][1];
    this.element = h(
      "div",
      { class: "player", role: "group", "aria-label": "Walk" },
      this.start, this.backward, this.toggle, this.forward, this.speed, this.counter,
    );
    this.reset(0);
  }

  #button(text, label, act) {
    return h("button", { type: "button", "aria-label": label, title: label, text, onclick: act });
  }

  /** Begin with so many frames, of which the first is shown. */
  reset(count) {
    this.run += 1;
    this.count = count;
    this.index = 0;
    this.ended = false;
    this.#pausing();
    if (count) this.show(0);
    this.#refresh();
  }

  go(index) {
    this.pause();
    this.#to(index);
  }

  back() {
    if (this.index > 0) this.go(this.index - 1);
  }

  async step() {
    this.pause();
    await this.#next();
  }

  async play() {
    if (this.playing || !this.count) return;
    if (this.ended && this.index === this.count - 1) this.#to(0);
    const run = this.run;
    this.playing = true;
    this.#refresh();
    while (this.playing && run === this.run) {
      await new Promise((done) => setTimeout(done, Number(this.speed.value)));
      if (!this.playing || run !== this.run || !(await this.#next())) break;
    }
    if (run === this.run) this.pause();
  }

  pause() {
    this.#pausing();
    this.#refresh();
  }

  #pausing() {
    this.playing = false;
  }

  /** Go one frame on; false if none follows. */
  async #next() {
    const run = this.run;
    if (this.index === this.count - 1) {
      if (this.ended) return false;
      const added = await this.more();
      if (run !== this.run || added === "failed") return false;
      this.ended = added !== "more";
      if (added === "none") {
        this.#refresh();
        return false;
      }
      this.count += 1;
    }
    this.#to(this.index + 1);
    return !this.ended || this.index < this.count - 1;
  }

  #to(index) {
    this.index = index;
    this.show(index);
    this.#refresh();
  }

  #refresh() {
    const none = this.count === 0;
    this.start.disabled = this.backward.disabled = this.index === 0;
    this.forward.disabled = none || (this.ended && this.index === this.count - 1);
    this.toggle.disabled = none || (this.ended && this.count === 1);
    this.toggle.textContent = this.playing ? "❚❚" : "▶";
    this.toggle.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.toggle.title = this.playing ? "Pause" : "Play";
    const isWalk = !none && !(this.ended && this.count === 1);
    this.counter.textContent = isWalk ? `step ${this.index}${this.ended ? ` of ${this.count - 1}` : ""}` : "";
  }
}

/** Space plays and pauses, the arrow keys step, wherever the focus has no use for them. */
export function listenForKeys(player) {
  const acts = { " ": () => player.toggle.click(), ArrowRight: () => player.step(), ArrowLeft: () => player.back() };
  document.addEventListener("keydown", (event) => {
    const taken = event.key === " " ? "" : ", .board.live";
    if (event.altKey || event.ctrlKey || event.metaKey || !acts[event.key]) return;
    if (event.target.closest(`input, select, button, summary, a${taken}`)) return;
    event.preventDefault();
    acts[event.key]();
  });
}
