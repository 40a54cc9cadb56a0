// Controls to play a walk frame by frame.

import { h } from "./dom.js";

/** @typedef {{ count: number, index: number, isComplete: boolean, isPlaying: boolean, speed: number }} Playing */

const SPEEDS = [
  ["slow", 1200],
  ["normal", 600],
  ["fast", 250],
];

export class Player {
  /**
   * The controls call `go(index)`, `step()` and `toggle()`, which change what `show` is called with next.
   * @param {{ go: (index: number) => void, step: () => void, toggle: () => void, speed: (ms: number) => void }} actions
   */
  constructor(actions) {
    this.actions = actions;
    this.index = 0;
    this.start = this.#button("|◀", "Back to the start", () => actions.go(0));
    this.backward = this.#button("◀", "Step back", () => this.back());
    this.toggle = this.#button("▶", "Play", () => actions.toggle());
    this.toggle.classList.add("toggle");
    this.forward = this.#button("▶|", "Step", () => actions.step());
    this.counter = h("span", { class: "counter" });
    const speeds = SPEEDS.map(([name, milliseconds]) => h("option", { value: milliseconds, text: name }));
    this.speed = h(
      "select",
      { "aria-label": "Speed", onchange: () => actions.speed(Number(this.speed.value)) },
      ...speeds,
    );
    this.element = h(
      "div",
      { class: "player", role: "group", "aria-label": "Walk" },
      this.start,
      this.backward,
      this.toggle,
      this.forward,
      this.speed,
      this.counter,
    );
  }

  /** @param {string} text @param {string} label @param {() => void} onclick */
  #button(text, label, onclick) {
    return h("button", { type: "button", "aria-label": label, title: label, text, onclick });
  }

  back() {
    if (this.index > 0) this.actions.go(this.index - 1);
  }

  /** @param {Playing} playing */
  show({ count, index, isComplete, isPlaying, speed }) {
    this.index = index;
    const isEmpty = count === 0;
    const isSingleFrame = isComplete && count === 1;
    this.start.disabled = this.backward.disabled = isEmpty || index === 0;
    this.forward.disabled = isEmpty || (isComplete && index === count - 1);
    this.toggle.disabled = isEmpty || isSingleFrame;
    this.toggle.textContent = isPlaying ? "❚❚" : "▶";
    this.toggle.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    this.toggle.title = isPlaying ? "Pause" : "Play";
    this.speed.value = String(speed);
    const total = isComplete ? ` of ${count - 1}` : "";
    this.counter.textContent = isEmpty || isSingleFrame ? "" : `step ${index}${total}`;
  }
}

/**
 * Space plays and pauses and the arrow keys step, except where the focused element uses these keys.
 * @param {Player} player
 */
export function listenForKeys(player) {
  /** @type {Record<string, () => void>} */
  const actions = {
    " ": () => player.toggle.click(),
    ArrowRight: () => player.forward.click(),
    ArrowLeft: () => player.backward.click(),
  };
  document.addEventListener("keydown", (event) => {
    const board = event.key === " " ? "" : ", .board.live";
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented || !actions[event.key]) return;
    if (
      event.target instanceof Element &&
      event.target.closest(`input, select, button, summary, a, [role=option]${board}`)
    )
      return;
    event.preventDefault();
    actions[event.key]();
  });
}
