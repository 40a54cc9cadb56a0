// What goes on inside an agent at one step: words, the three interpretation steps, maps, actions and answers.

import { Board } from "./board.js";
import { bar, h, percent, plain, scaled } from "./dom.js";

const ARROWS = { left: "←", right: "→", up: "↑", down: "↓" };
const MARKS = [".", "?"];
const READS = "A word is darker the more a step attends to it. Point at one to see where the agent sees it.";
const UNDERSTANDS =
  "Each step looks for a word and moves the map by it; the gate says how far the new map replaces the old.";

export class Inside {
  /** `onword(word or null)` is told which word is pointed at, by mouse, focus or touch. */
  constructor(size, paint, onword) {
    this.size = size;
    this.paint = paint;
    this.onword = onword;
    this.words = h("p", { class: "words", "aria-label": "The sentence; each word shows where the agent sees it" });
    this.steps = h("ol", { class: "steps" });
    this.maps = h("div", { class: "maps" });
    this.actions = h("ul", { class: "bars", "aria-label": "Probability of each action" });
    this.answers = h("ol", { class: "bars", "aria-label": "The five likeliest answers" });
    this.actionsPart = part("Where it would go", this.actions);
    this.answersPart = part("What it would answer", this.answers);
    this.element = h(
      "section",
      { class: "inside", "aria-label": "Inside the agent" },
      part("What it reads", this.words, READS),
      part("How it understands", this.steps, UNDERSTANDS),
      h("div", { class: "lower" }, this.maps, h("div", { class: "outcome" }, this.answersPart, this.actionsPart)),
    );
    this.boards = [];
  }

  show(scene, at, reading, inside) {
    this.#showWords(reading, inside);
    this.#showSteps(scene, at, reading, inside);
    this.#showMaps(scene, at, inside);
    const actions = Object.entries(inside.actions);
    this.actions.replaceChildren(...actions.map(([name, share]) => bar(`${ARROWS[name]} ${name}`, share)));
    this.actionsPart.hidden = reading.kind === "question";
    const answers = inside.answers ?? [];
    this.answers.replaceChildren(...answers.map(({ word, share, score }) => bar(word, share, `score ${score}`)));
    this.answersPart.hidden = reading.kind === "command" || !answers.length;
  }

  #showWords(reading, inside) {
    const key = reading.words.map((word) => word.text).join(" ");
    if (this.words.dataset.key !== key) {
      this.words.dataset.key = key;
      this.words.replaceChildren(...reading.words.map((word) => this.#word(word.text)));
    }
    [...this.words.children].forEach((button, k) => {
      const weights = (inside.attention ?? []).map((step) => step[k]);
      const most = Math.max(0, ...weights);
      button.style.setProperty("--weight", most.toFixed(3));
      button.classList.toggle("heavy", most > 0.55);
      const label = weights.length ? `${button.textContent}, attention ${percent(most)}` : button.textContent;
      button.setAttribute("aria-label", label);
      button.title = weights.map((weight, i) => `step ${i + 1}: ${percent(weight)}`).join("\n");
    });
  }

  #word(word) {
    const point = () => this.onword(word);
    const leave = () => this.onword(null);
    return h("button", {
      type: "button",
      class: MARKS.includes(word) ? "word mark" : "word",
      text: word,
      onmouseenter: point,
      onfocus: point,
      onclick: point,
      onmouseleave: leave,
      onblur: leave,
    });
  }

  #showSteps(scene, at, reading, inside) {
    const steps = inside.steps ?? (inside.x_loc ? [inside.x_loc] : []);
    this.steps.parentElement.hidden = !steps.length;
    if (this.boards.length !== steps.length) {
      this.boards = steps.map(() => new Board(this.size, this.paint));
      const step = (board) => h("li", {}, h("h4"), board.element, h("p", { class: "gate" }));
      this.steps.replaceChildren(...this.boards.map(step));
    }
    steps.forEach((map, i) => {
      const [title, , gate] = this.steps.children[i].children;
      const weights = inside.attention?.[i];
      title.replaceChildren(...(weights ? attended(reading, weights) : ["attention"]));
      gate.textContent = inside.gates ? `gate ${inside.gates[i].toFixed(2)}` : "";
      const most = Math.max(...map);
      this.boards[i].element.setAttribute("aria-label", `Map of step ${i + 1}: ${summary(map, this.size, most)}`);
      this.boards[i].draw(scene, at);
      this.boards[i].overlay(map);
    });
  }

  #showMaps(scene, at, inside) {
    const shown = [];
    const { terrain, value } = inside;
    if (terrain) shown.push(["Terrain", "what matters to one who walks", terrain, terrain, percent]);
    if (value) shown.push(["Value", "how good it is to be where", scaled(value), value, plain]);
    if (this.maps.children.length !== shown.length) {
      this.maps.replaceChildren(
        ...shown.map(([title, note]) => {
          const board = new Board(this.size, this.paint);
          const figure = h("figure", {}, h("figcaption", { text: title, title: note }), board.element);
          figure.board = board;
          return figure;
        }),
      );
    }
    shown.forEach(([title, note, map, numbers, told], k) => {
      const { board } = this.maps.children[k];
      board.element.setAttribute("aria-label", `${title}, ${note}; highest ${told(Math.max(...numbers))}`);
      board.draw(scene, at);
      board.overlay(map, numbers, told);
    });
  }
}

function part(title, element, note = "") {
  return h("div", { class: "part" }, h("h3", { text: title, title: note || null }), element);
}

/** The word that a step attends to most, with its share, then the next if it counts. */
function attended(reading, weights) {
  const ranked = weights.map((weight, k) => [weight, reading.words[k].text]).sort((a, b) => b[0] - a[0]);
  return ranked
    .filter(([weight], k) => k === 0 || (k === 1 && weight > 0.2))
    .map(([weight, word], k) => {
      const share = h("small", { text: ` ${percent(weight)} ` });
      return h("span", { class: k ? "also" : "most" }, word, share);
    });
}

function summary(map, size, most) {
  const place = map.indexOf(most);
  return `most, ${percent(most)}, at row ${Math.floor(place / size) + 1}, column ${(place % size) + 1}`;
}
