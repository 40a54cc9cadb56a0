// The explanation of one time step: word attention, interpretation steps, maps, action and answer probabilities.

import { Board } from "./board.js";
import { bar, decimal, h, normalized, percent } from "./dom.js";

const ARROWS = { left: "←", right: "→", up: "↑", down: "↓" };
const PUNCTUATION = [".", "?"];
const WORDS_NOTE = "Darker words get more attention. Point at a word to see its detection map.";
const STEPS_NOTE =
  "Each step attends to words and transforms the attention map; the gate is the fraction of the map that is replaced.";

export class Explanation {
  /** `onword(word or null)` is called with the word that is pointed at, by mouse, focus or touch. */
  constructor(size, paint, onword) {
    this.size = size;
    this.paint = paint;
    this.onword = onword;
    this.words = h("p", { class: "words", "aria-label": "The sentence; each word shows its detection map" });
    this.steps = h("ol", { class: "steps" });
    this.maps = h("div", { class: "maps" });
    this.actions = h("ul", { class: "bars", "aria-label": "Probability of each action" });
    this.answers = h("ol", { class: "bars", "aria-label": "The five most probable answers" });
    this.actionsPart = part("Action probabilities", this.actions);
    this.answersPart = part("Answer probabilities", this.answers);
    this.element = h(
      "section",
      { class: "explanation", "aria-label": "Explanation" },
      part("Word attention", this.words, WORDS_NOTE),
      part("Interpretation steps", this.steps, STEPS_NOTE),
      h("div", { class: "lower" }, this.maps, h("div", { class: "outcome" }, this.answersPart, this.actionsPart)),
    );
    this.stepBoards = [];
  }

  /** Show the explanation (the reply to the request "step") of the agent at [row, column]. */
  show(scene, at, sentenceCheck, explanation) {
    this.#showWords(sentenceCheck, explanation);
    this.#showSteps(scene, at, sentenceCheck, explanation);
    this.#showMaps(scene, at, explanation);
    const actions = Object.entries(explanation.action_probabilities);
    this.actions.replaceChildren(...actions.map(([name, probability]) => bar(`${ARROWS[name]} ${name}`, probability)));
    this.actionsPart.hidden = sentenceCheck.kind === "question";
    const answers = explanation.answers ?? [];
    this.answers.replaceChildren(
      ...answers.map(({ word, probability, score }) => bar(word, probability, `score ${score}`)),
    );
    this.answersPart.hidden = sentenceCheck.kind === "command" || !answers.length;
  }

  #showWords(sentenceCheck, explanation) {
    const key = sentenceCheck.words.map((word) => word.text).join(" ");
    if (this.words.dataset.key !== key) {
      this.words.dataset.key = key;
      this.words.replaceChildren(...sentenceCheck.words.map((word) => this.#word(word.text)));
    }
    [...this.words.children].forEach((button, k) => {
      const weights = (explanation.word_attention ?? []).map((step) => step[k]);
      const maximum = Math.max(0, ...weights);
      button.style.setProperty("--weight", maximum.toFixed(3));
      button.classList.toggle("heavy", maximum > 0.55);
      const label = weights.length ? `${button.textContent}, attention ${percent(maximum)}` : button.textContent;
      button.setAttribute("aria-label", label);
      button.title = weights.map((weight, i) => `step ${i + 1}: ${percent(weight)}`).join("\n");
    });
  }

  #word(word) {
    const point = () => this.onword(word);
    const leave = () => this.onword(null);
    return h("button", {
      type: "button",
      class: PUNCTUATION.includes(word) ? "word punctuation" : "word",
      text: word,
      onmouseenter: point,
      onfocus: point,
      onclick: point,
      onmouseleave: leave,
      onblur: leave,
    });
  }

  #showSteps(scene, at, sentenceCheck, explanation) {
    const steps = explanation.x_loc_steps ?? (explanation.x_loc ? [explanation.x_loc] : []);
    this.steps.parentElement.hidden = !steps.length;
    if (this.stepBoards.length !== steps.length) {
      this.stepBoards = steps.map(() => new Board(this.size, this.paint));
      const item = (board) => h("li", {}, h("h4"), board.element, h("p", { class: "gate" }));
      this.steps.replaceChildren(...this.stepBoards.map(item));
    }
    steps.forEach((map, i) => {
      const [title, , gate] = this.steps.children[i].children;
      const weights = explanation.word_attention?.[i];
      title.replaceChildren(...(weights ? attendedWords(sentenceCheck, weights) : ["attention"]));
      gate.textContent = explanation.gates ? `gate ${explanation.gates[i].toFixed(2)}` : "";
      const board = this.stepBoards[i];
      board.element.setAttribute("aria-label", `Map of step ${i + 1}: ${summary(map, this.size)}`);
      board.draw(scene, at);
      board.overlay(map);
    });
  }

  #showMaps(scene, at, explanation) {
    const shown = [];
    const { x_terr: terrain, value_map: value } = explanation;
    if (terrain) shown.push(["Terrain", "obstacle map, independent of the sentence", terrain, terrain, percent]);
    if (value) shown.push(["Value", "value of each cell", normalized(value), value, decimal]);
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
    shown.forEach(([title, note, map, numbers, format], k) => {
      const { board } = this.maps.children[k];
      board.element.setAttribute("aria-label", `${title}, ${note}; maximum ${format(Math.max(...numbers))}`);
      board.draw(scene, at);
      board.overlay(map, numbers, format);
    });
  }
}

function part(title, element, note = "") {
  return h("div", { class: "part" }, h("h3", { text: title, title: note || null }), element);
}

/** The word with the highest attention in a step, and the second if its attention is above 20 %. */
function attendedWords(sentenceCheck, weights) {
  const ranked = weights.map((weight, k) => [weight, sentenceCheck.words[k].text]).sort((a, b) => b[0] - a[0]);
  return ranked
    .filter(([weight], k) => k === 0 || (k === 1 && weight > 0.2))
    .map(([weight, word], k) => {
      const attention = h("small", { text: ` ${percent(weight)} ` });
      return h("span", { class: k ? "second" : "first" }, word, attention);
    });
}

function summary(map, size) {
  const maximum = Math.max(...map);
  const position = map.indexOf(maximum);
  const [row, column] = [Math.floor(position / size) + 1, (position % size) + 1];
  return `maximum ${percent(maximum)} at row ${row}, column ${column}`;
}
