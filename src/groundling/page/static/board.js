// A world drawn from above: a grid of cells, the agent on it, and a map of numbers over it.

import { h, percent } from "./dom.js";
import { nameOf, pictureKey, placeOf, things } from "./scene.js";

// One hue that grows denser evenly, so that it reads the same to every eye; what it covers stays visible.
const HUE = "37 99 200";
const DENSEST = 0.72;

/** The colour of a share from 0 to 1. */
export function colour(share) {
  return `rgb(${HUE} / ${(DENSEST * Math.max(0, Math.min(1, share))).toFixed(3)})`;
}

export class Board {
  /**
   * `paint(element, key)` gives an element the picture of a thing. A live board can be walked with the arrow keys; a
   * small one is a picture with a label.
   */
  constructor(size, paint, { live = false, label = "" } = {}) {
    this.size = size;
    this.paint = paint;
    this.live = live;
    this.focus = 0;
    this.names = [];
    this.cells = Array.from({ length: size * size }, (_, place) => this.#cell(place));
    this.agent = h("div", { class: "agent", "aria-hidden": "true" });
    paint(this.agent, "agent");
    const rows = Array.from({ length: size }, (_, row) =>
      h("div", { class: "row", role: live ? "row" : null }, ...this.cells.slice(row * size, (row + 1) * size)),
    );
    this.element = h(
      "div",
      { class: live ? "board live" : "board small", role: live ? "grid" : "img", "aria-label": label },
      ...rows,
      this.agent,
    );
    this.element.style.setProperty("--size", size);
    if (live) {
      this.element.addEventListener("keydown", (event) => this.#walk(event));
      this.element.addEventListener("focusin", (event) => this.#rove(this.placeAt(event.target)));
    }
  }

  #cell(place) {
    const cell = h("div", { class: "cell", "data-place": place, role: this.live ? "gridcell" : null });
    if (this.live) cell.tabIndex = place === 0 ? 0 : -1;
    cell.append(h("span", { class: "heat" }), h("span", { class: "share", "aria-hidden": "true" }));
    return cell;
  }

  /** The place of an element inside the board, or -1. */
  placeAt(target) {
    const cell = target?.closest?.(".cell");
    return cell && this.element.contains(cell) ? Number(cell.dataset.place) : -1;
  }

  draw(scene, at, target = null) {
    const found = things(scene, this.size);
    this.agentPlace = placeOf(at, this.size);
    this.names = found.map((thing, place) =>
      place === this.agentPlace ? `the agent${thing ? `, on ${nameOf(thing)}` : ""}` : nameOf(thing),
    );
    const targetPlace = target === null ? -1 : placeOf(target, this.size);
    this.cells.forEach((cell, place) => {
      this.paint(cell, pictureKey(found[place]));
      cell.classList.toggle("target", place === targetPlace);
      cell.classList.toggle("wall", found[place]?.wall === true);
    });
    const [row, column] = at;
    this.agent.style.transform = `translate(${100 * column}%, ${100 * row}%)`;
    this.#label();
  }

  /** Lay numbers from 0 to 1 over the cells; `numbers` are those to be read, where they differ. */
  overlay(map, numbers = map, told = percent) {
    this.cells.forEach((cell, place) => {
      const [heat, share] = cell.children;
      heat.style.backgroundColor = map === null ? "" : colour(map[place]);
      share.textContent = this.live && map !== null && map[place] >= 0.1 ? told(numbers[place]) : "";
      cell.title = map === null ? "" : `${this.names[place]}: ${told(numbers[place])}`;
    });
    this.numbers = map === null ? null : numbers.map(told);
    this.#label();
  }

  #label() {
    if (!this.live) return;
    this.cells.forEach((cell, place) => {
      const [row, column] = [Math.floor(place / this.size) + 1, (place % this.size) + 1];
      const number = this.numbers ? `, ${this.numbers[place]}` : "";
      cell.setAttribute("aria-label", `row ${row}, column ${column}: ${this.names[place] ?? ""}${number}`);
    });
  }

  #rove(place) {
    if (place < 0) return;
    this.cells[this.focus].tabIndex = -1;
    this.cells[place].tabIndex = 0;
    this.focus = place;
  }

  #walk(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const step = steps[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = Math.floor(this.focus / this.size) + step[0];
    const column = (this.focus % this.size) + step[1];
    event.preventDefault();
    event.stopPropagation();
    if (row >= 0 && row < this.size && column >= 0 && column < this.size) this.cells[row * this.size + column].focus();
  }
}
