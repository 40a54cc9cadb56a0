// A top view of the world: a grid of cells, the agent, and an overlay of numbers.

import { h, percent } from "./dom.js";
import { cellContents, describe, iconKey, positionOf } from "./scene.js";

// One hue with linearly increasing opacity: readable with any color vision, and the icons below stay visible.
const HUE = "37 99 200";
const MAX_OPACITY = 0.72;

/** The overlay color of a fraction from 0 to 1. */
export function overlayColor(fraction) {
  return `rgb(${HUE} / ${(MAX_OPACITY * Math.max(0, Math.min(1, fraction))).toFixed(3)})`;
}

export class Board {
  /**
   * `paint(element, key)` sets the icon of an element. A live board can be navigated with the arrow keys; a small one
   * is an image with a label.
   */
  constructor(size, paint, { live = false, label = "" } = {}) {
    this.size = size;
    this.paint = paint;
    this.live = live;
    this.focus = 0;
    this.descriptions = [];
    this.cells = Array.from({ length: size * size }, (_, position) => this.#cell(position));
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
      this.element.addEventListener("keydown", (event) => this.#moveFocus(event));
      this.element.addEventListener("focusin", (event) => this.#setFocus(this.positionAt(event.target)));
    }
  }

  #cell(position) {
    const cell = h("div", { class: "cell", "data-position": position, role: this.live ? "gridcell" : null });
    if (this.live) cell.tabIndex = position === 0 ? 0 : -1;
    cell.append(h("span", { class: "heat" }), h("span", { class: "cell-number", "aria-hidden": "true" }));
    return cell;
  }

  /** The position of an element within the board, or -1. */
  positionAt(target) {
    const cell = target?.closest?.(".cell");
    return cell && this.element.contains(cell) ? Number(cell.dataset.position) : -1;
  }

  draw(scene, at, target = null) {
    const contents = cellContents(scene, this.size);
    const agentPosition = positionOf(at, this.size);
    this.descriptions = contents.map((content, position) =>
      position === agentPosition ? `the agent${content ? `, on ${describe(content)}` : ""}` : describe(content),
    );
    const targetPosition = target === null ? -1 : positionOf(target, this.size);
    this.cells.forEach((cell, position) => {
      this.paint(cell, iconKey(contents[position]));
      cell.classList.toggle("target", position === targetPosition);
      cell.classList.toggle("wall", contents[position]?.wall === true);
    });
    const [row, column] = at;
    this.agent.style.transform = `translate(${100 * column}%, ${100 * row}%)`;
    this.#label();
  }

  /** Color the cells by a map of fractions, or clear them; `numbers` are the displayed values, if they differ. */
  overlay(map, numbers = map, format = percent) {
    this.cells.forEach((cell, position) => {
      const [heat, number] = cell.children;
      heat.style.backgroundColor = map === null ? "" : overlayColor(map[position]);
      number.textContent = this.live && map !== null && map[position] >= 0.1 ? format(numbers[position]) : "";
      cell.title = map === null ? "" : `${this.descriptions[position]}: ${format(numbers[position])}`;
    });
    this.numbers = map === null ? null : numbers.map(format);
    this.#label();
  }

  #label() {
    if (!this.live) return;
    this.cells.forEach((cell, position) => {
      const [row, column] = [Math.floor(position / this.size) + 1, (position % this.size) + 1];
      const number = this.numbers ? `, ${this.numbers[position]}` : "";
      cell.setAttribute("aria-label", `row ${row}, column ${column}: ${this.descriptions[position] ?? ""}${number}`);
    });
  }

  #setFocus(position) {
    if (position < 0) return;
    this.cells[this.focus].tabIndex = -1;
    this.cells[position].tabIndex = 0;
    this.focus = position;
  }

  #moveFocus(event) {
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
