// Controls to play a walk frame by frame. Frames may be computed when they are needed.

import { h } from "./dom.js";

const SPEEDS = [["slow", 1200], ["normal", 600], ["fast", 250]];

export class Player {
  /**
   * `show(index)` shows a frame. `addFrame()` computes the next frame and resolves to "added", to "last" if no frame
   * can follow it, to "none" if there is no next frame, or to "failed" if the request failed and can be repeated.
   */
  constructor(show, addFrame = async () => "none") {
    this.show = show;
    this.addFrame = addFrame;
    this.count = 0;
    this.index = 0;
    this.run = 0; // increases with each reset; a frame of an earlier run is discarded
    this.isPlaying = false;
    this.start = this.#button("|◀", "Back to the start", () => this.go(0));
    this.backward = this.#button("◀", "Step back", () => this.back());
    this.toggle = this.#button("▶", "Play", () => (this.isPlaying ? this.pause() : this.play()));
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

  #button(text, label, onclick) {
    return h("button", { type: "button", "aria-label": label, title: label, text, onclick });
  }

  /** Start with `count` frames and show the first. */
  reset(count) {
    this.run += 1;
    this.count = count;
    this.index = 0;
    this.isComplete = false;
    this.isPlaying = false;
    if (count) this.show(0);
    this.#refresh();
  }

  go(index) {
    this.pause();
    this.#goTo(index);
  }

  back() {
    if (this.index > 0) this.go(this.index - 1);
  }

  async step() {
    this.pause();
    await this.#next();
  }

  async play() {
    if (this.isPlaying || !this.count) return;
    if (this.isComplete && this.index === this.count - 1) this.#goTo(0);
    const run = this.run;
    this.isPlaying = true;
    this.#refresh();
    while (this.isPlaying && run === this.run) {
      await new Promise((done) => setTimeout(done, Number(this.speed.value)));
      if (!this.isPlaying || run !== this.run || !(await this.#next())) break;
    }
    if (run === this.run) this.pause();
  }

  pause() {
    this.isPlaying = false;
    this.#refresh();
  }

  /** Go to the next frame; false if there is none after it. */
  async #next() {
    const run = this.run;
    if (this.index === this.count - 1) {
      if (this.isComplete) return false;
      const added = await this.addFrame();
      if (run !== this.run || added === "failed") return false;
      this.isComplete = added !== "added";
      if (added === "none") {
        this.#refresh();
        return false;
      }
      this.count += 1;
    }
    this.#goTo(this.index + 1);
    return !this.isComplete || this.index < this.count - 1;
  }

  #goTo(index) {
    this.index = index;
    this.show(index);
    this.#refresh();
  }

  #refresh() {
    const isEmpty = this.count === 0;
    const isSingleFrame = this.isComplete && this.count === 1;
    this.start.disabled = this.backward.disabled = this.index === 0;
    this.forward.disabled = isEmpty || (this.isComplete && this.index === this.count - 1);
    this.toggle.disabled = isEmpty || isSingleFrame;
    this.toggle.textContent = this.isPlaying ? "❚❚" : "▶";
    this.toggle.setAttribute("aria-label", this.isPlaying ? "Pause" : "Play");
    this.toggle.title = this.isPlaying ? "Pause" : "Play";
    const total = this.isComplete ? ` of ${this.count - 1}` : "";
    this.counter.textContent = isEmpty || isSingleFrame ? "" : `step ${this.index}${total}`;
  }
}

/** Space plays and pauses and the arrow keys step, except where the focused element uses these keys. */
export function listenForKeys(player) {
  const actions = {
    " ": () => player.toggle.click(),
    ArrowRight: () => player.step(),
    ArrowLeft: () => player.back(),
  };
  document.addEventListener("keydown", (event) => {
    const board = event.key === " " ? "" : ", .board.live";
    if (event.altKey || event.ctrlKey || event.metaKey || !actions[event.key]) return;
    if (event.target.closest(`input, select, button, summary, a${board}`)) return;
    event.preventDefault();
    actions[event.key]();
  });
}
