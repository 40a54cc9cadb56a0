// What a run amounts to: the answer, or how the walk ended, and why there is nothing right or wrong.

import { percent, plural } from "./dom.js";

/** @typedef {import("./types").Run} Run */
/** @typedef {import("./types").Verdict} Verdict */
/** @typedef {import("./types").Frame} Frame */

/**
 * @param {Run} run
 * @param {number} index of the shown frame
 * @param {string[]} heldOut words that occurred in no command and no question of the agent's training
 * @returns {Verdict}
 */
export function verdictOf(run, index, heldOut) {
  const { check, frames } = run;
  const frame = frames[Math.min(index, frames.length - 1)];
  const verdict =
    check.kind === "question" ? ofAnswer(run, frame) : ofWalk(run, frame, Math.min(index, frames.length - 1));
  const [unheard] = check.words.map(({ text }) => text).filter((word) => heldOut.includes(word));
  if (unheard && verdict.outcome === "correct") {
    verdict.notes.push(`Nobody ever used the word “${unheard}” in a command or question to it. It understood.`);
  } else if (unheard && verdict.outcome !== "running") {
    verdict.notes.push(`No command or question of its training had the word “${unheard}”.`);
  }
  return verdict;
}

/** Whether nothing can follow the last frame. @param {Run} run */
export function isComplete(run) {
  return run.frames[run.frames.length - 1].move === null;
}

/** @param {Run} run @param {Frame} frame @returns {Verdict} */
function ofAnswer({ check }, frame) {
  const [best] = frame.explanation.answers ?? [];
  if (!best) return { outcome: "none", headline: "This agent cannot answer.", notes: [], canWalk: false };
  const headline = `“${best.word}”`;
  if (check.answer === null) return { outcome: "none", headline, notes: [check.no_outcome], canWalk: false };
  if (check.answer === best.word) return { outcome: "correct", headline, notes: ["✓ Correct."], canWalk: false };
  const notes = [`✗ Wrong: the correct answer is “${check.answer}”.`];
  return { outcome: "wrong", headline, notes, canWalk: false };
}

/** @param {Run} run @param {Frame} frame @param {number} steps @returns {Verdict} */
function ofWalk({ check, frames }, frame, steps) {
  const notes = [];
  const isQuestion = check.kind === "free_form" && check.words[check.words.length - 1].text === "?";
  if (check.kind === "free_form") {
    const [best] = frame.explanation.answers ?? [];
    notes.push("Not a sentence of the teacher, so nothing is right or wrong.");
    if (best) notes.push(`Answer if it is a question: “${best.word}” (${percent(best.probability)}).`);
  } else if (check.target === null) notes.push(check.no_outcome);
  if (!frame.end) {
    const isWaiting = steps === 0 && frames.length === 1 && isQuestion;
    const [best] = frame.explanation.answers ?? [];
    const headline = isWaiting && best ? `“${best.word}”` : "On its way …";
    return { outcome: "running", headline, notes, canWalk: isWaiting };
  }
  const score = frames.slice(0, steps).reduce((sum, { move }) => sum + (move?.reward ?? 0), 0);
  const wrong = frames.slice(0, steps).filter(({ move }) => move?.wrong_object).length;
  if (wrong) notes.push(`It stepped on a wrong object ${wrong === 1 ? "once" : `${wrong} times`}.`);
  if (check.target === null) {
    const stopped = {
      terminated: "It went where it looked",
      truncated: "It went on",
      stuck: "It stays or goes in circles",
    };
    return { outcome: "none", headline: `${stopped[frame.end]}: ${plural(steps, "step")}.`, notes, canWalk: false };
  }
  notes.unshift(`${plural(steps, "step")} (shortest path: ${check.shortest_path}), reward ${score.toFixed(1)}.`);
  if (frame.end === "terminated")
    return { outcome: "correct", headline: "✓ Success: target reached.", notes, canWalk: false };
  const why = frame.end === "stuck" ? "it goes in circles and never arrives." : "target not reached in time.";
  return { outcome: "wrong", headline: `✗ Failure: ${why}`, notes, canWalk: false };
}

/** The verdict in one line, for captions and lists. @param {Verdict} verdict */
export function verdictText({ headline, notes }) {
  return [headline, ...notes].join(" ");
}
