// Editing the world: drag objects from the palette and on the board, or pick them up and put them down by keyboard.

import { h, roving } from "./dom.js";
import { atOf, cellContents, describe, iconKey, positionOf, withContent, withoutContent } from "./scene.js";

/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Content} Content */
/** @typedef {import("./board.js").Board} Board */

const TOOLS = [
  ["move", "Move"],
  ["wall", "Wall"],
  ["remove", "Remove"],
];
const WALL = { name: "wall", icon: 0, wall: true };
const DRAG_PIXELS = 6;

/**
 * What the editor needs from the page.
 * @typedef {object} Host
 * @property {() => Scene | null} world the world as it is shown
 * @property {(world: Scene) => void} edit replaces the world
 * @property {(text: string) => void} notify
 * @property {() => Content[]} kinds every object with an icon of its own
 * @property {() => { size: number, maxObjects: number }} limits
 * @property {import("./types").Paint} paint
 */

export class Editor {
  /** @param {HTMLElement} element @param {Host} host */
  constructor(element, host) {
    this.host = host;
    this.tool = "move";
    /** @type {number | null} */
    this.pickedUp = null;
    /** @type {Content | null} the object that is added by selecting a cell */
    this.kind = null;
    this.search = h("input", {
      type: "search",
      placeholder: "Search objects",
      "aria-label": "Search objects",
      oninput: () => this.fillPalette(),
    });
    this.palette = h("div", { class: "palette", role: "listbox", "aria-label": "Objects to add" });
    this.refreshPalette = roving(this.palette, "[role=option]");
    this.buttons = TOOLS.map(([name, text]) =>
      h("button", { type: "button", text, "aria-pressed": "false", onclick: () => this.selectTool(name) }),
    );
    this.tools = h("div", { class: "tools", role: "toolbar", "aria-label": "Tool" }, ...this.buttons);
    roving(this.tools, "button");
    element.append(this.tools, this.search, this.palette);
    this.selectTool("move");
  }

  /** @param {string} tool */
  selectTool(tool) {
    this.tool = tool;
    this.#setPickedUp(null);
    if (tool !== "add") this.#setKind(null);
    this.buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(TOOLS[k][0] === tool)));
  }

  /** Show every object kind whose description matches the search. */
  fillPalette() {
    const query = this.search.value.trim().toLowerCase();
    const kinds = this.host.kinds();
    const found = kinds.filter((kind) => describe(kind).includes(query));
    const isShared = (/** @type {Content} */ kind) =>
      kinds.filter((other) => describe(other) === describe(kind)).length > 1;
    const label = (/** @type {Content} */ kind) =>
      describe(kind) + (isShared(kind) ? `, picture ${kind.icon + 1}` : "");
    this.palette.replaceChildren(...found.map((kind) => this.#paletteOption(kind, label(kind))));
    if (!found.length)
      this.palette.append(
        h("div", {
          role: "option",
          class: "note",
          "aria-selected": "false",
          "aria-disabled": "true",
          text: "No object has that name.",
        }),
      );
    this.refreshPalette();
  }

  /** @param {Content} kind @param {string} label */
  #paletteOption(kind, label) {
    const select = () => {
      this.#setKind(kind);
      this.selectTool("add");
      this.host.notify(`${label} selected; now select a cell, or drag it there.`);
    };
    const option = h("div", {
      class: "object-kind",
      role: "option",
      tabindex: "-1",
      title: label,
      "aria-label": label,
      "aria-selected": String(this.kind === kind),
      "data-key": iconKey(kind),
      onclick: select,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        select();
      },
      onpointerdown: (/** @type {PointerEvent} */ event) => this.#dragKind(event, kind),
    });
    this.host.paint(option, iconKey(kind));
    return option;
  }

  /** @param {Content | null} kind */
  #setKind(kind) {
    this.kind = kind;
    for (const option of this.palette.querySelectorAll("[data-key]")) {
      const isKind = kind !== null && /** @type {HTMLElement} */ (option).dataset.key === iconKey(kind);
      option.setAttribute("aria-selected", String(isKind));
    }
  }

  /** Drag a new object from the palette to a cell. @param {PointerEvent} event @param {Content} kind */
  #dragKind(event, kind) {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    event.preventDefault(); // no text selection
    /** @type {HTMLElement} */ (event.currentTarget).focus();
    this.#drag(event, iconKey(kind), (x, y) => {
      const cell = document.elementFromPoint(x, y)?.closest(".board.live .cell");
      if (cell) this.#put(kind, Number(/** @type {HTMLElement} */ (cell).dataset.position));
    });
  }

  /**
   * Follow the pointer with a preview; call `drop(x, y)` if it was dragged, else `click()`.
   * @param {PointerEvent} event
   * @param {string} key of the icon
   * @param {(x: number, y: number) => void} drop
   * @param {() => void} [click]
   */
  #drag(event, key, drop, click) {
    const [x, y] = [event.clientX, event.clientY];
    /** @type {HTMLElement | null} */
    let preview = null;
    const move = (/** @type {PointerEvent} */ moved) => {
      if (!preview && Math.hypot(moved.clientX - x, moved.clientY - y) < DRAG_PIXELS) return;
      if (!preview) {
        preview = h("div", { class: "drag-preview" });
        this.host.paint(preview, key);
        document.body.append(preview);
      }
      preview.style.translate = `${moved.clientX}px ${moved.clientY}px`;
    };
    const end = (/** @type {PointerEvent} */ ended) => {
      document.removeEventListener("pointermove", move);
      document.removeEventListener("pointerup", end);
      document.removeEventListener("pointercancel", end);
      const wasDragged = preview !== null;
      preview?.remove();
      if (ended.type === "pointercancel") return;
      if (wasDragged) drop(ended.clientX, ended.clientY);
      else click?.();
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", end);
    document.addEventListener("pointercancel", end);
  }

  /** Make a board editable. @param {Board} board */
  attach(board) {
    board.element.addEventListener("pointerdown", (event) => this.#pointerDown(event, board));
    board.element.addEventListener("keydown", (event) => this.#keyDown(event, board));
  }

  /** @param {PointerEvent} event @param {Board} board */
  #pointerDown(event, board) {
    const position = board.positionAt(event.target);
    const world = this.host.world();
    if (position < 0 || event.button !== 0 || !world) return;
    const { size } = this.host.limits();
    const isMouse = event.pointerType === "mouse";
    if (this.tool === "move" && isMouse && this.#isMovable(world, position)) {
      const isAgent = position === positionOf(world.agent, size);
      this.#drag(event, isAgent ? "agent" : iconKey(cellContents(world, size)[position]), (x, y) => {
        const target = board.positionAt(document.elementFromPoint(x, y));
        if (target >= 0) this.#move(position, target);
      });
    } else if (!isMouse || this.tool !== "move") {
      const click = (/** @type {PointerEvent} */ ended) => {
        document.removeEventListener("pointerup", click);
        document.removeEventListener("pointercancel", click);
        const isSameCell = board.positionAt(document.elementFromPoint(ended.clientX, ended.clientY)) === position;
        if (ended.type === "pointerup" && isSameCell) this.#useTool(position, board);
      };
      document.addEventListener("pointerup", click);
      document.addEventListener("pointercancel", click);
    }
  }

  /** @param {KeyboardEvent} event @param {Board} board */
  #keyDown(event, board) {
    const position = board.positionAt(event.target);
    if (position < 0) return;
    if (event.key === "Enter") this.#useTool(position, board);
    else if (event.key === "Delete" || event.key === "Backspace") this.#remove(position);
    else if (event.key === "Escape") this.selectTool("move");
    else return;
    event.preventDefault();
  }

  /** @param {Scene} world @param {number} position */
  #isMovable(world, position) {
    const { size } = this.host.limits();
    return position === positionOf(world.agent, size) || cellContents(world, size)[position] !== null;
  }

  /**
   * Use the tool on a cell; the tool "move" picks up first, then puts down.
   * @param {number} position
   * @param {Board} board
   */
  #useTool(position, board) {
    if (this.tool === "remove") return this.#remove(position);
    if (this.tool === "wall") return this.#toggleWall(position);
    if (this.tool === "add") return this.kind ? this.#put(this.kind, position) : undefined;
    if (this.pickedUp === null) return this.#pickUp(position, board);
    const from = this.pickedUp;
    this.#setPickedUp(null);
    this.#move(from, position);
  }

  /** @param {number} position @param {Board} board */
  #pickUp(position, board) {
    const world = this.host.world();
    if (!world || !this.#isMovable(world, position)) return;
    this.#setPickedUp(position, board);
    this.host.notify("Picked up: select the cell to put it down, or press Escape to cancel.");
  }

  /**
   * Remember and mark the position of what is picked up.
   * @param {number | null} position
   * @param {Board | null} [board]
   */
  #setPickedUp(position, board = null) {
    document.querySelector(".cell.picked-up")?.classList.remove("picked-up");
    if (position !== null) board?.cells[position].classList.add("picked-up");
    this.pickedUp = position;
  }

  /** @param {Content} content @param {number} position */
  #put(content, position) {
    const world = this.host.world();
    const { size, maxObjects } = this.host.limits();
    if (!world) return;
    if (position === positionOf(world.agent, size)) return this.host.notify("The agent is in this cell.");
    const edited = withContent(world, content, position, size);
    if (edited.objects.length > maxObjects) {
      return this.host.notify(`A world holds at most ${maxObjects} objects; remove one first.`);
    }
    this.host.edit(edited);
  }

  /** @param {number} position */
  #toggleWall(position) {
    const world = this.host.world();
    const { size } = this.host.limits();
    if (!world) return;
    if (!cellContents(world, size)[position]?.wall) return this.#put(WALL, position);
    this.host.edit(withoutContent(world, position, size));
  }

  /** @param {number} position */
  #remove(position) {
    const world = this.host.world();
    const { size } = this.host.limits();
    if (world && cellContents(world, size)[position]) this.host.edit(withoutContent(world, position, size));
  }

  /** Move the agent or a content; two contents change places. @param {number} from @param {number} to */
  #move(from, to) {
    const world = this.host.world();
    const { size } = this.host.limits();
    if (!world || from === to) return;
    const contents = cellContents(world, size);
    if (from === positionOf(world.agent, size)) {
      if (contents[to]?.wall) return this.host.notify("A wall is in this cell.");
      return this.host.edit({ ...world, agent: atOf(to, size) });
    }
    const moved = contents[from];
    const other = contents[to];
    if (!moved) return;
    if (to === positionOf(world.agent, size)) return this.host.notify("The agent is in this cell.");
    const edited = withContent(withoutContent(world, from, size), moved, to, size);
    this.host.edit(other ? withContent(edited, other, from, size) : edited);
  }
}
