// Editing the world: drag objects, or pick them up and put them down with the keyboard; tools add and remove.

import { h } from "./dom.js";
import { atOf, cellContents, describe, iconKey, positionOf, withAgent, withContent, withoutContent } from "./scene.js";

const TOOLS = [["move", "Move"], ["add", "Add"], ["wall", "Wall"], ["remove", "Remove"]];
const INSTRUCTIONS =
  "Drag objects, walls and the agent. On a touch screen, or with Enter on the keyboard, pick up first, then put down.";
const DRAG_PIXELS = 6;

export class Editor {
  /** `page`: see main.js. */
  constructor(element, page) {
    this.page = page;
    this.tool = "move";
    this.pickedUp = null;
    this.objectKind = null; // the object that the tool "add" adds
    this.search = h("input", {
      type: "search",
      placeholder: "Search objects",
      "aria-label": "Search objects",
      oninput: () => this.fillPalette(),
    });
    this.palette = h("div", { class: "palette", role: "listbox", "aria-label": "Objects to add" });
    this.buttons = TOOLS.map(([name, text]) =>
      h("button", { type: "button", text, "aria-pressed": "false", onclick: () => this.selectTool(name) }),
    );
    element.append(
      h("div", { class: "tools", role: "group", "aria-label": "Tool" }, ...this.buttons),
      h("p", { class: "note", text: INSTRUCTIONS }),
      this.search,
      this.palette,
    );
    this.selectTool("move");
  }

  selectTool(tool) {
    this.tool = tool;
    this.#setPickedUp(null);
    this.buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(TOOLS[k][0] === tool)));
  }

  /** Show every object kind whose description matches the search. */
  fillPalette() {
    const query = this.search.value.trim().toLowerCase();
    const found = this.page.objectKinds().filter((kind) => describe(kind).includes(query));
    this.palette.replaceChildren(...found.map((kind) => this.#paletteOption(kind)));
    if (!found.length) this.palette.append(h("p", { class: "note", text: "No object has that name." }));
  }

  #paletteOption(kind) {
    const option = h("button", {
      type: "button",
      class: "object-kind",
      role: "option",
      title: describe(kind),
      "aria-label": describe(kind),
      "aria-selected": String(this.#isSelected(kind)),
      onclick: () => {
        this.objectKind = kind;
        this.selectTool("add");
        for (const other of this.palette.children) other.setAttribute("aria-selected", String(other === option));
        this.page.notify(`${describe(kind)} selected; now select a cell.`);
      },
    });
    this.page.paint(option, iconKey(kind));
    return option;
  }

  #isSelected(kind) {
    return this.objectKind?.name === kind.name && this.objectKind.icon === kind.icon;
  }

  /** Make a board editable. */
  attach(board) {
    const element = board.element;
    element.addEventListener("pointerdown", (event) => this.#pointerDown(event, board));
    element.addEventListener("keydown", (event) => this.#keyDown(event, board));
  }

  #pointerDown(event, board) {
    const position = board.positionAt(event.target);
    if (position < 0 || event.button !== 0) return;
    this.page.keepShownPosition();
    const [x, y] = [event.clientX, event.clientY];
    let preview = null;
    const isDraggable = this.tool === "move" && event.pointerType === "mouse" && this.#isMovable(position);
    if (isDraggable) board.element.setPointerCapture(event.pointerId);
    const move = (moved) => {
      if (!isDraggable || (!preview && Math.hypot(moved.clientX - x, moved.clientY - y) < DRAG_PIXELS)) return;
      preview ??= this.#dragPreview(position);
      preview.style.translate = `${moved.clientX}px ${moved.clientY}px`;
    };
    const drop = (dropped) => {
      board.element.removeEventListener("pointermove", move);
      board.element.removeEventListener("pointerup", drop);
      board.element.removeEventListener("pointercancel", drop);
      const wasDragged = preview !== null;
      preview?.remove();
      if (dropped.type === "pointercancel") return;
      const target = board.positionAt(document.elementFromPoint(dropped.clientX, dropped.clientY));
      if (wasDragged && target >= 0) this.#move(position, target);
      else if (!wasDragged && (this.tool !== "move" || event.pointerType !== "mouse")) this.#useTool(position, board);
    };
    board.element.addEventListener("pointermove", move);
    board.element.addEventListener("pointerup", drop);
    board.element.addEventListener("pointercancel", drop);
  }

  #dragPreview(position) {
    const preview = h("div", { class: "drag-preview" });
    const { scene, size } = this.page;
    const isAgent = position === positionOf(scene.agent, size);
    this.page.paint(preview, isAgent ? "agent" : iconKey(cellContents(scene, size)[position]));
    document.body.append(preview);
    return preview;
  }

  #keyDown(event, board) {
    const position = board.positionAt(event.target);
    if (position < 0) return;
    this.page.keepShownPosition();
    if (event.key === "Enter") this.#useTool(position, board);
    else if (event.key === "Delete" || event.key === "Backspace") this.#remove(position);
    else if (event.key === "Escape") this.#setPickedUp(null);
    else return;
    event.preventDefault();
  }

  #isMovable(position) {
    const { scene, size } = this.page;
    return position === positionOf(scene.agent, size) || cellContents(scene, size)[position] !== null;
  }

  /** Use the tool on a cell; the tool "move" picks up first, then puts down. */
  #useTool(position, board) {
    if (this.tool === "remove") return this.#remove(position);
    if (this.tool !== "move") return this.#add(position);
    if (this.pickedUp === null) return this.#pickUp(position, board);
    const from = this.pickedUp;
    this.#setPickedUp(null);
    this.#move(from, position);
  }

  #pickUp(position, board) {
    if (!this.#isMovable(position)) return;
    this.#setPickedUp(position, board);
    this.page.notify("Picked up: select the cell to put it down, or press Escape to cancel.");
  }

  /** Remember and mark the position of what is picked up. */
  #setPickedUp(position, board = null) {
    document.querySelector(".cell.picked-up")?.classList.remove("picked-up");
    board?.cells[position].classList.add("picked-up");
    this.pickedUp = position;
  }

  /** Add the selected object, or add or remove a wall. */
  #add(position) {
    const { scene, size } = this.page;
    if (position === positionOf(scene.agent, size)) return this.page.notify("The agent is in this cell.");
    if (this.tool === "wall") {
      const isWall = cellContents(scene, size)[position]?.wall;
      const edited = isWall
        ? withoutContent(scene, position, size)
        : withContent(scene, { wall: true }, position, size);
      return this.page.edit(edited);
    }
    if (!this.objectKind) return this.page.notify("Select an object from the list first.");
    this.page.edit(withContent(scene, this.objectKind, position, size));
  }

  #remove(position) {
    const { scene, size } = this.page;
    this.page.edit(withoutContent(scene, position, size));
  }

  #move(from, to) {
    const { scene, size } = this.page;
    if (from === to) return;
    const contents = cellContents(scene, size);
    if (from === positionOf(scene.agent, size)) {
      if (contents[to]?.wall) return this.page.notify("A wall is in this cell.");
      return this.page.edit(withAgent(scene, atOf(to, size)));
    }
    if (to === positionOf(scene.agent, size)) return this.page.notify("The agent is in this cell.");
    this.page.edit(withContent(withoutContent(scene, from, size), contents[from], to, size));
  }
}
