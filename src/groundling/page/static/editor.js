// Changing the world: things are dragged, or picked up and put down with the keyboard; tools add and remove.

import { h } from "./dom.js";
import { cleared, nameOf, things, withAgent, withThing, atOf, placeOf } from "./scene.js";

const TOOLS = [["move", "Move"], ["add", "Add"], ["wall", "Wall"], ["remove", "Remove"]];
const HOW =
  "Drag things and the agent. On a touch screen, or with Enter on the keyboard, pick up first, then put down.";
const DRAG_PIXELS = 6;

export class Editor {
  /** `page`: see main.js. */
  constructor(element, page) {
    this.page = page;
    this.tool = "move";
    this.held = null;
    this.search = h("input", {
      type: "search",
      placeholder: "Search 119 objects",
      "aria-label": "Search objects",
      oninput: () => this.fill(),
    });
    this.palette = h("div", { class: "palette", role: "listbox", "aria-label": "Objects to add" });
    this.buttons = TOOLS.map(([name, text]) =>
      h("button", { type: "button", text, "aria-pressed": "false", onclick: () => this.choose(name) }),
    );
    element.append(
      h("div", { class: "tools", role: "group", "aria-label": "Tool" }, ...this.buttons),
      h("p", { class: "note", text: HOW }),
      this.search,
      this.palette,
    );
    this.choose("move");
  }

  choose(tool) {
    this.tool = tool;
    this.#hold(null);
    this.buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(TOOLS[k][0] === tool)));
  }

  /** The palette: every icon whose name fits the search. */
  fill() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.page.kinds().filter((kind) => nameOf(kind).includes(wanted));
    this.palette.replaceChildren(...found.map((kind) => this.#kind(kind)));
    if (!found.length) this.palette.append(h("p", { class: "note", text: "No object has that name." }));
  }

  #kind(kind) {
    const option = h("button", {
      type: "button",
      class: "kind",
      role: "option",
      title: nameOf(kind),
      "aria-label": nameOf(kind),
      "aria-selected": String(this.#isKind(kind)),
      onclick: () => {
        this.kind = kind;
        this.choose("add");
        for (const other of this.palette.children) other.setAttribute("aria-selected", String(other === option));
        this.page.say(`${nameOf(kind)} chosen: now choose a cell.`);
      },
    });
    this.page.paint(option, `${kind.name}/${kind.icon}`);
    return option;
  }

  #isKind(kind) {
    return this.kind?.name === kind.name && this.kind.icon === kind.icon;
  }

  /** Let a board be edited. */
  attach(board) {
    const element = board.element;
    element.addEventListener("pointerdown", (event) => this.#press(event, board));
    element.addEventListener("keydown", (event) => this.#key(event, board));
  }

  #press(event, board) {
    const place = board.placeAt(event.target);
    if (place < 0 || event.button !== 0) return;
    this.page.settle();
    const [x, y] = [event.clientX, event.clientY];
    let ghost = null;
    const grabbed = this.tool === "move" && event.pointerType === "mouse" && this.#canTake(place);
    if (grabbed) board.element.setPointerCapture(event.pointerId);
    const move = (moved) => {
      if (!grabbed || (!ghost && Math.hypot(moved.clientX - x, moved.clientY - y) < DRAG_PIXELS)) return;
      ghost ??= this.#ghost(place);
      ghost.style.translate = `${moved.clientX}px ${moved.clientY}px`;
    };
    const drop = (dropped) => {
      board.element.removeEventListener("pointermove", move);
      board.element.removeEventListener("pointerup", drop);
      board.element.removeEventListener("pointercancel", drop);
      const dragged = ghost !== null;
      ghost?.remove();
      if (dropped.type === "pointercancel") return;
      const target = board.placeAt(document.elementFromPoint(dropped.clientX, dropped.clientY));
      if (dragged && target >= 0) this.#move(place, target);
      else if (!dragged && (this.tool !== "move" || event.pointerType !== "mouse")) this.#act(place, board);
    };
    board.element.addEventListener("pointermove", move);
    board.element.addEventListener("pointerup", drop);
    board.element.addEventListener("pointercancel", drop);
  }

  #ghost(place) {
    const ghost = h("div", { class: "ghost" });
    const isAgent = place === placeOf(this.page.scene.agent, this.page.size);
    const thing = things(this.page.scene, this.page.size)[place];
    this.page.paint(ghost, isAgent ? "agent" : thing.wall ? "wall" : `${thing.name}/${thing.icon}`);
    document.body.append(ghost);
    return ghost;
  }

  #key(event, board) {
    const place = board.placeAt(event.target);
    if (place < 0) return;
    this.page.settle();
    if (event.key === "Enter") this.#act(place, board);
    else if (event.key === "Delete" || event.key === "Backspace") this.#remove(place);
    else if (event.key === "Escape") this.#hold(null);
    else return;
    event.preventDefault();
  }

  #canTake(place) {
    const { scene, size } = this.page;
    return place === placeOf(scene.agent, size) || things(scene, size)[place] !== null;
  }

  /** Use the tool on a cell; one that moves picks up first, then puts down. */
  #act(place, board) {
    if (this.tool !== "move") return this.#use(place);
    if (this.held === null) return this.#take(place, board);
    const from = this.held;
    this.#hold(null);
    this.#move(from, place);
  }

  #take(place, board) {
    if (!this.#canTake(place)) return;
    this.#hold(place, board);
    this.page.say("Picked up: choose the cell to put it down, or Escape to leave it.");
  }

  /** Remember what is picked up, and show it. */
  #hold(place, board = null) {
    document.querySelector(".cell.held")?.classList.remove("held");
    board?.cells[place].classList.add("held");
    this.held = place;
  }

  #use(place) {
    const { scene, size } = this.page;
    if (this.tool === "remove") return this.#remove(place);
    if (place === placeOf(scene.agent, size)) return this.page.say("The agent is there.");
    if (this.tool === "wall") {
      const isWall = things(scene, size)[place]?.wall;
      return this.page.change(isWall ? cleared(scene, place, size) : withThing(scene, { wall: true }, place, size));
    }
    if (!this.kind) return this.page.say("Choose an object from the list first.");
    this.page.change(withThing(scene, this.kind, place, size));
  }

  #remove(place) {
    const { scene, size } = this.page;
    this.page.change(cleared(scene, place, size));
  }

  #move(from, to) {
    const { scene, size } = this.page;
    if (from === to) return;
    const found = things(scene, size);
    if (from === placeOf(scene.agent, size)) {
      if (found[to]?.wall) return this.page.say("A wall is there.");
      return this.page.change(withAgent(scene, atOf(to, size)));
    }
    if (to === placeOf(scene.agent, size)) return this.page.say("The agent is there.");
    this.page.change(withThing(cleared(scene, from, size), found[from], to, size));
  }
}
