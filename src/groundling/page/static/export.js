// An exported walk: the board, the explanation and the player, without a server.

import { AgentPane } from "./agent_pane.js";
import { Player, listenForKeys } from "./player.js";

const walk = JSON.parse(document.getElementById("walk").textContent);

function paintFromData(element, key) {
  element.style.backgroundImage = `url("${walk.icons[key]}")`;
  element.style.backgroundSize = "100% 100%";
}

const pane = new AgentPane(walk.agent, walk.size, paintFromData);
pane.begin(walk.scene, walk.sentence_check, walk.frames[0]);
pane.frames = walk.frames;
const player = new Player((index) => pane.show(index));
document.getElementById("panes").append(pane.element);
pane.slot.append(player.element);
listenForKeys(player);
player.reset(walk.frames.length);
player.isComplete = true;
player.go(0);
