// A tour of five steps, each with a world of its own. It can be skipped at any step.

import { h } from "./dom.js";

/** @typedef {import("./types").Hello} Hello */
/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").At} At */
/** @typedef {{ title: string, text: string, sentence?: string, button: string }} Step */

/**
 * The steps for an agent: what is said depends on which words it never heard.
 * @param {Hello} hello
 * @returns {{ steps: Step[], world: Scene }}
 */
function plan(hello) {
  const [agent] = hello.agents;
  const heldOut = new Set(agent.held_out_words);
  const novel = new Set(agent.novel_words);
  const names = hello.classes
    .map(({ name }) => name)
    .filter((name) => agent.lexicon.includes(name) && !novel.has(name));
  const heard = names.find((name) => !heldOut.has(name)) ?? names[0];
  const unheard = ["seahorse", ...names].find((name) => heldOut.has(name) && names.includes(name)) ?? names[1];
  const other = names.find((name) => ![heard, unheard].includes(name)) ?? heard;
  const size = hello.size;
  const middle = Math.floor(size / 2);
  /** @param {string} name @param {At} at */
  const object = (name, at) => ({ name, icon: 0, at });
  /** @type {Scene} */
  const world = {
    objects: [object(heard, [middle, middle - 1]), object(unheard, [0, size - 1]), object(other, [size - 1, 0])],
    walls: [[middle - 1, middle + 1]],
    agent: [middle, middle],
  };
  const claim = claimOf(hello);
  const steps = [
    {
      title: "It sees",
      text: `This is all the agent gets: pixels of the world from above, itself in the middle, and a sentence. ${claim}`,
      button: "Next: ask it",
    },
    {
      title: "It answers",
      text: "The page asks what is to its west. The words it attends to get darker, and the blue cells are where it looks.",
      sentence: hello.neighbor_questions.west,
      button: "Next: send it somewhere",
    },
    {
      title: "It goes",
      text: `“Go to the ${heard}.” It reads the sentence in steps, points at a cell, and walks there.`,
      sentence: `Go to the ${heard}.`,
      button: heldOut.has(unheard) ? "Next: a word it never heard" : "Next: another word",
    },
    {
      title: heldOut.has(unheard) ? "A word it never heard" : "Another word",
      text: heldOut.has(unheard)
        ? `Nobody ever used the word “${unheard}” in a command or question to it: it occurred only in answers. Watch it go.`
        : "This agent heard every word in training; start the page with “zs2-90” for one that did not.",
      sentence: `Go to the ${unheard}.`,
      button: "Next: teach it",
    },
    {
      title: "Teach it a word",
      text: "Draw something on the pad, or drop a picture there, and name it. One example is enough; then send it there.",
      button: "End of the tour",
    },
  ];
  return { steps, world };
}

/** What the agent was never told, in one sentence. @param {Hello | null} hello */
export function claimOf(hello) {
  const [agent] = hello?.agents ?? [];
  if (!agent?.held_out_words.length)
    return "Nobody ever told it what a word means: it learned from rewards and answers alone.";
  const { held_out_words: heldOut, object_words: all, novel_words: novel, is_live: isLive } = agent;
  if (isLive)
    return (
      `Nobody tells it what a word means, and ${heldOut.length} of its ${all} nouns never occur in a command or ` +
      "question: watch whether it learns to understand commands with them."
    );
  if (novel.length)
    return `Nobody ever told it what a word means, and ${heldOut.length} of its ${all} nouns it has never heard: teach it.`;
  return (
    `Nobody ever told it what a word means, and ${heldOut.length} of its ${all} nouns never occurred in a command or ` +
    "question: it understands commands with them anyway."
  );
}

export class Tour {
  /**
   * @param {HTMLElement} element
   * @param {{ go: (step: number | null) => void, start: (world: Scene, sentence: string) => void, teach: () => void }} actions
   */
  constructor(element, actions) {
    this.element = element;
    this.actions = actions;
    /** @type {number | null | undefined} */
    this.shown = undefined;
    /** @type {Hello | null} */
    this.hello = null;
  }

  /** @param {number | null} tour the step @param {Hello | null} hello */
  show(tour, hello) {
    this.element.hidden = tour === null || hello === null;
    if (tour === this.shown || !hello) return;
    this.shown = tour;
    this.hello = hello;
    if (tour === null) return;
    const { steps } = plan(hello);
    const { title, text, button } = steps[tour];
    const isLast = tour === steps.length - 1;
    this.element.classList.toggle("docked", isLast);
    const skip = h("button", { type: "button", text: "Skip the tour", onclick: () => this.begin(null) });
    this.next = h("button", { type: "button", class: "primary", text: button, onclick: () => this.begin(tour + 1) });
    this.element.replaceChildren(
      h("p", { class: "note", text: `Tour, step ${tour + 1} of ${steps.length}` }),
      h("h2", { text: title }),
      h("p", { text }),
      h("div", { class: "tools" }, this.next, ...(isLast ? [] : [skip])),
    );
  }

  /** Go to a step: show its world and say its sentence; null ends the tour. @param {number | null} step */
  begin(step) {
    if (!this.hello && step !== null) return;
    const planned = this.hello ? plan(this.hello) : null;
    if (step === null || !planned || step >= planned.steps.length) return this.actions.go(null);
    this.actions.go(step);
    const { sentence } = planned.steps[step];
    this.actions.start(planned.world, sentence ?? "");
    if (step === planned.steps.length - 1) this.actions.teach();
    this.next?.focus({ preventScroll: true });
  }
}
