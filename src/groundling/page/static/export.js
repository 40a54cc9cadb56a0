// A walk that was taken home: the same board, insides and player, with nothing to connect to.

import { Pane } from "./pane.js";
import { Player, listenForKeys } from "./player.js";

const souvenir = JSON.parse(document.getElementById("walk").textContent);

function paintFromData(element, key) {
  element.style.backgroundImage = `url("${souvenir.icons[key]}")`;
  element.style.backgroundSize = "100% 100%";
}

const pane = new Pane(souvenir.agent, souvenir.size, paintFromData);
pane.begin(souvenir.scene, souvenir.reading, souvenir.frames[0]);
pane.frames = souvenir.frames;
const player = new Player((index) => pane.show(index));
document.getElementById("panes").append(pane.element);
pane.slot.append(player.element);
listenForKeys(player);
player.reset(souvenir.frames.length);
player.ended = true;
player.go(0);
