// An exported walk: the board, the explanation and the player, without a server.

import { AgentPane } from "./agent_pane.js";
import { Player, listenForKeys } from "./player.js";

const walk = JSON.parse(document.getElementById("walk")?.textContent ?? "");
let shownIndex = 0;
let isPlaying = false;
let speed = 600;

/** @type {import("./types").Paint} */
function paintFromData(element, key) {
  element.style.backgroundImage = `url("${walk.icons[key]}")`;
  element.style.backgroundSize = "100% 100%";
}

/** @type {import("./types").Run} */
const recorded = { check: walk.sentence_check, frames: walk.frames };
const exportPane = new AgentPane(walk.agent, walk.size, paintFromData);
const exportPlayer = new Player({
  go: (index) => showFrame(index, false),
  step: () => showFrame(shownIndex + 1, false),
  toggle: () => (isPlaying ? showFrame(shownIndex, false) : play()),
  speed: (milliseconds) => {
    speed = milliseconds;
  },
});

/** @param {number} index @param {boolean} playing */
function showFrame(index, playing) {
  const count = walk.frames.length;
  shownIndex = Math.max(0, Math.min(index, count - 1));
  isPlaying = playing && shownIndex < count - 1;
  exportPane.show(walk.scene, recorded, shownIndex);
  exportPlayer.show({ count, index: shownIndex, isComplete: true, isPlaying, speed });
  document.getElementById("verdict")?.classList.toggle("reached", shownIndex === count - 1);
}

async function play() {
  showFrame(shownIndex === walk.frames.length - 1 ? 0 : shownIndex, true);
  while (isPlaying) {
    await new Promise((done) => setTimeout(done, speed));
    if (isPlaying) showFrame(shownIndex + 1, true);
  }
}

document.getElementById("panes")?.append(exportPane.element);
exportPane.slot.append(exportPlayer.element);
listenForKeys(exportPlayer);
showFrame(0, false);
