// A top view of the world: a grid of cells, the agent, and an overlay of numbers.

import { h, percent } from "./dom.js";
import { cellContents, describe, iconKey, positionOf } from "./scene.js";

/** @typedef {import("./types").At} At */

// One hue whose opacity grows with the square root of the fraction, so that diffuse maps are visible too: readable with
// any color vision, and the icons below stay visible.
const MAX_OPACITY = 0.75;
const SHOW_NUMBER_ABOVE = 0.1;

/** The scale of maps that are not attention. @param {number} fraction */
export const linear = (fraction) => fraction;

export class Board {
  /**
   * `paint(element, key)` sets the icon of an element. A live board can be navigated with the arrow keys; a small one
   * is an image with a label.
   * @param {number} size
   * @param {import("./types").Paint} paint
   * @param {{ live?: boolean, label?: string }} [options]
   */
  constructor(size, paint, { live = false, label = "" } = {}) {
    this.size = size;
    this.paint = paint;
    this.live = live;
    this.focus = 0;
    /** @type {string[]} */
    this.descriptions = [];
    /** @type {string[] | null} */
    this.numbers = null;
    this.cells = Array.from({ length: size * size }, (_, position) => this.#cell(position));
    this.agent = h("div", { class: "agent", "aria-hidden": "true" }, h("span", { class: "robot" }));
    paint(/** @type {HTMLElement} */ (this.agent.firstElementChild), "agent");
    const rows = Array.from({ length: size }, (_, row) =>
      h("div", { class: "row", role: live ? "row" : null }, ...this.cells.slice(row * size, (row + 1) * size)),
    );
    this.element = h(
      "div",
      { class: live ? "board live" : "board small", role: live ? "grid" : "img", "aria-label": label },
      ...rows,
      this.agent,
    );
    this.element.style.setProperty("--size", String(size));
    if (live) {
      this.element.addEventListener("keydown", (event) => this.#moveFocus(event));
      this.element.addEventListener("focusin", (event) => this.#setFocus(this.positionAt(event.target)));
    }
  }

  /** @param {number} position */
  #cell(position) {
    const cell = h("div", { class: "cell", "data-position": position, role: this.live ? "gridcell" : null });
    if (this.live) cell.tabIndex = position === 0 ? 0 : -1;
    cell.append(
      h("span", { class: "heat" }),
      h("span", { class: "icon" }),
      h("span", { class: "cell-number", "aria-hidden": "true" }),
    );
    return cell;
  }

  /** The position of an element within the board, or -1. @param {EventTarget | null} target */
  positionAt(target) {
    const cell = target instanceof Element ? target.closest(".cell") : null;
    return cell && this.element.contains(cell) ? Number(/** @type {HTMLElement} */ (cell).dataset.position) : -1;
  }

  /** @param {import("./types").Scene} scene @param {At} at @param {At | null} [target] */
  draw(scene, at, target = null) {
    const contents = cellContents(scene, this.size);
    const agentPosition = positionOf(at, this.size);
    this.descriptions = contents.map((content, position) =>
      position === agentPosition ? `the agent${content ? `, on ${describe(content)}` : ""}` : describe(content),
    );
    const targetPosition = target === null ? -1 : positionOf(target, this.size);
    this.cells.forEach((cell, position) => {
      this.paint(/** @type {HTMLElement} */ (cell.children[1]), iconKey(contents[position]));
      cell.classList.toggle("target", position === targetPosition);
      cell.classList.toggle("wall", contents[position]?.wall === true);
    });
    const [row, column] = at;
    this.agent.style.transform = `translate(${100 * column}%, ${100 * row}%)`;
    this.agent.classList.toggle("on-object", contents[agentPosition] !== null);
    this.#label();
  }

  /**
   * Color the cells by a map of fractions, or clear them; `numbers` are the displayed values, if they differ.
   * @param {number[] | null} map
   * @param {number[] | null} [numbers]
   * @param {(number: number) => string} [format]
   * @param {(fraction: number) => number} [scale] from fractions to opacity
   */
  overlay(map, numbers = map, format = percent, scale = Math.sqrt) {
    this.cells.forEach((cell, position) => {
      const [heat, , number] = /** @type {HTMLElement[]} */ ([...cell.children]);
      const fraction = map === null ? 0 : Math.max(0, Math.min(1, map[position]));
      heat.style.opacity = (MAX_OPACITY * scale(fraction)).toFixed(3);
      const text = numbers === null ? "" : format(numbers[position]);
      number.textContent = this.live && fraction >= SHOW_NUMBER_ABOVE ? text : "";
    });
    this.numbers = numbers === null ? null : numbers.map(format);
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

  /** @param {number} position */
  #setFocus(position) {
    if (position < 0) return;
    this.cells[this.focus].tabIndex = -1;
    this.cells[position].tabIndex = 0;
    this.focus = position;
  }

  /** @param {KeyboardEvent} event */
  #moveFocus(event) {
    /** @type {Record<string, At>} */
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
