// The explanation of one time step: word attention, interpretation steps, maps, action and answer probabilities.

import { Board, linear } from "./board.js";
import { bar, decimal, h, normalized, percent, roving, spread, termNote } from "./dom.js";

/** @typedef {import("./types").Check} Check */
/** @typedef {import("./types").Explained} Explained */
/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").At} At */

/** @type {Record<string, string>} */
const ARROWS = { left: "←", right: "→", up: "↑", down: "↓" };
const PUNCTUATION = [".", "?"];
const WORDS_NOTE =
  "How much the agent attends to each word: darker words get more attention. Point at a word, or select it, to see on " +
  "the world where the agent detects it.";
const STEPS_NOTE =
  "The agent reads the sentence in steps. Each step attends to words and changes the map of where the agent looks. The " +
  "gate says how much of the old map is replaced: 0 % keeps it, 100 % throws it away.";
const MAPS_NOTE =
  "Terrain is where the agent sees obstacles; it does not depend on the sentence. Value is how good the agent expects " +
  "it to be to stand on each cell; it walks toward high values.";

const END_NOTE = "The agent has arrived: this is what it computed for its last move.";

export class Explanation {
  /**
   * `onword(word or null)` is called with the word that is pointed at, by mouse, focus or touch.
   * @param {string} name of the agent
   * @param {number} size
   * @param {import("./types").Paint} paint
   * @param {(word: string | null) => void} onword
   */
  constructor(name, size, paint, onword) {
    this.size = size;
    this.paint = paint;
    this.onword = onword;
    this.words = h("div", { class: "words", role: "group", "aria-label": "Words of the sentence" });
    this.refreshWords = roving(this.words, "button");
    this.wordsNote = h("p", { class: "note", hidden: true, text: "This agent has no attention over words." });
    this.endNote = h("p", { class: "note", hidden: true, text: END_NOTE });
    this.steps = h("ol", { class: "steps" });
    this.maps = h("div", { class: "maps" });
    this.actions = h("ul", { class: "bars", "aria-label": "Probability of each action" });
    this.answers = h("ol", { class: "bars", "aria-label": "The five most probable answers" });
    this.stepsPart = part("Interpretation steps", STEPS_NOTE, this.steps);
    this.mapsPart = part("Terrain and value", MAPS_NOTE, this.maps);
    this.actionsPart = part("Next action", "", this.actions);
    this.answersPart = part("Answer", "", this.answers);
    this.element = h(
      "section",
      { class: "explanation", "aria-label": `Explanation of ${name}` },
      this.endNote,
      part("Word attention", WORDS_NOTE, this.words, this.wordsNote),
      this.stepsPart,
      h(
        "div",
        { class: "lower" },
        this.mapsPart,
        h("div", { class: "bars-column" }, this.answersPart, this.actionsPart),
      ),
    );
    /** @type {Board[]} */
    this.stepBoards = [];
    /** @type {Board[]} */
    this.mapBoards = [];
  }

  /**
   * Show the explanation (the reply to the request "step") of the agent at [row, column].
   * @param {Scene} scene
   * @param {Check} check
   * @param {import("./types").Frame} frame
   */
  show(scene, check, { at, explanation, move, end }) {
    this.endNote.hidden = end !== "terminated";
    this.#showWords(check, explanation);
    this.#showSteps(scene, at, check, explanation);
    this.#showMaps(scene, at, explanation);
    const actions = Object.entries(explanation.action_probabilities);
    this.actions.replaceChildren(...actions.map(([name, probability]) => bar(`${ARROWS[name]} ${name}`, probability)));
    this.actionsPart.hidden = move === null; // at the end there is no next action
    const answers = explanation.answers ?? [];
    this.answers.replaceChildren(
      ...answers.map(({ word, probability, score }) => bar(word, probability, `score ${score}`)),
    );
    this.answersPart.hidden = check.kind === "command" || !answers.length;
  }

  /** @param {Check} check @param {Explained} explanation */
  #showWords(check, explanation) {
    const key = check.words.map((word) => word.text).join(" ");
    if (this.words.dataset.key !== key) {
      this.words.dataset.key = key;
      this.words.replaceChildren(...check.words.map((word) => this.#word(word.text)));
      this.refreshWords();
    }
    this.wordsNote.hidden = explanation.word_attention !== null;
    /** @type {HTMLElement[]} */ ([...this.words.children]).forEach((button, k) => {
      const weights = (explanation.word_attention ?? []).map((step) => step[k]);
      const maximum = Math.max(0, ...weights);
      button.style.setProperty("--weight", maximum.toFixed(3));
      button.classList.toggle("heavy", maximum > 0.55);
      const label = weights.length ? `${button.textContent}, attention ${percent(maximum)}` : button.textContent;
      button.setAttribute("aria-label", label ?? "");
    });
  }

  /** @param {string} word */
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

  /** @param {Scene} scene @param {At} at @param {Check} check @param {Explained} explanation */
  #showSteps(scene, at, check, explanation) {
    const steps = explanation.x_loc_steps ?? (explanation.x_loc ? [explanation.x_loc] : []);
    this.stepsPart.hidden = !steps.length;
    if (this.stepBoards.length !== steps.length) {
      this.stepBoards = steps.map(() => new Board(this.size, this.paint));
      const item = (/** @type {Board} */ board) => h("li", {}, h("h4"), board.element, h("p", { class: "gate" }));
      this.steps.replaceChildren(...this.stepBoards.map(item));
    }
    steps.forEach((map, i) => {
      const [title, , note] = this.steps.children[i].children;
      const weights = explanation.word_attention?.[i];
      title.replaceChildren(...(weights ? attendedWords(check, weights) : ["attention"]));
      const gate = explanation.gates
        ? `gate ${percent(explanation.gates[i])}: ${gateText(explanation.gates[i])}; `
        : "";
      note.textContent = `${gate}looks ${spread(map)}`;
      const board = this.stepBoards[i];
      board.element.setAttribute("aria-label", `Map of step ${i + 1}: ${summary(map, this.size)}, ${spread(map)}`);
      board.draw(scene, at);
      board.overlay(map);
    });
  }

  /** @param {Scene} scene @param {At} at @param {Explained} explanation */
  #showMaps(scene, at, explanation) {
    const { x_terr: terrain, value_map: value } = explanation;
    /** @type {[string, number[], number[], (number: number) => string][]} */
    const shown = [];
    if (terrain) shown.push(["Terrain", terrain, terrain, percent]);
    if (value) shown.push(["Value", normalized(value), value, decimal]);
    this.mapsPart.hidden = !shown.length;
    if (this.mapBoards.length !== shown.length) {
      this.mapBoards = shown.map(() => new Board(this.size, this.paint));
      this.maps.replaceChildren(
        ...shown.map(([title], k) => h("figure", {}, h("figcaption", { text: title }), this.mapBoards[k].element)),
      );
    }
    shown.forEach(([title, map, numbers, format], k) => {
      this.mapBoards[k].element.setAttribute("aria-label", `${title}, maximum ${format(Math.max(...numbers))}`);
      this.mapBoards[k].draw(scene, at);
      this.mapBoards[k].overlay(map, numbers, format, linear);
    });
  }
}

/** @param {string} title @param {string} note @param {...HTMLElement} elements */
function part(title, note, ...elements) {
  const heading = h("h3", { text: title });
  if (!note) return h("div", { class: "part" }, heading, ...elements);
  const term = termNote(title.toLowerCase(), note);
  return h("div", { class: "part" }, h("div", { class: "part-head" }, heading, term.button), term.note, ...elements);
}

/** @param {number} gate */
function gateText(gate) {
  if (gate < 0.25) return "keeps the old map";
  return gate > 0.75 ? "replaces the old map" : "mixes old and new map";
}

/**
 * The word with the highest attention in a step, and the second if its attention is above 20 %.
 * @param {Check} check
 * @param {number[]} weights
 */
function attendedWords(check, weights) {
  /** @type {[number, string][]} */
  const ranked = weights.map((weight, k) => [weight, check.words[k].text]);
  return ranked
    .sort((a, b) => b[0] - a[0])
    .filter(([weight], k) => k === 0 || (k === 1 && weight > 0.2))
    .map(([weight, word], k) => {
      const attention = h("small", { text: ` ${percent(weight)} ` });
      return h("span", { class: k ? "second" : "first" }, word, attention);
    });
}

/** @param {number[]} map @param {number} size */
function summary(map, size) {
  const maximum = Math.max(...map);
  const position = map.indexOf(maximum);
  const [row, column] = [Math.floor(position / size) + 1, (position % size) + 1];
  return `maximum ${percent(maximum)} at row ${row}, column ${column}`;
}
