// Scenes as plain data, in the scenario file format. A position is row * size + column; `at` is [row, column].

/** @typedef {import("./types").Scene} Scene */
/** @typedef {import("./types").Content} Content */
/** @typedef {import("./types").At} At */

const FORMAT = "groundling-scenario-1";

/** @param {At} at @param {number} size */
export function positionOf([row, column], size) {
  return row * size + column;
}

/** @param {number} position @param {number} size @returns {At} */
export function atOf(position, size) {
  return [Math.floor(position / size), position % size];
}

/**
 * The content of each cell: null, a wall or an object of the scene.
 * @param {Scene} scene
 * @param {number} size
 * @returns {(Content | null)[]}
 */
export function cellContents(scene, size) {
  const contents = new Array(size * size).fill(null);
  for (const at of scene.walls) contents[positionOf(at, size)] = { name: "wall", icon: 0, wall: true };
  for (const object of scene.objects) contents[positionOf(object.at, size)] = object;
  return contents;
}

/** The key of the icon of a cell's content. @param {Content | null} content */
export function iconKey(content) {
  if (content === null) return "floor";
  return content.wall ? "wall" : `${content.name}/${content.icon}`;
}

/** A description of a cell's content, such as "red apple". @param {Content | null} content */
export function describe(content) {
  if (content === null) return "empty";
  if (content.wall) return "wall";
  return content.color ? `${content.color} ${content.name}` : content.name;
}

/** The scene without the content of a cell. @param {Scene} scene @param {number} position @param {number} size */
export function withoutContent(scene, position, size) {
  /** @param {At} at */
  const isElsewhere = (at) => positionOf(at, size) !== position;
  return {
    ...scene,
    walls: scene.walls.filter(isElsewhere),
    objects: scene.objects.filter((object) => isElsewhere(object.at)),
  };
}

/**
 * The scene with the content of a cell replaced.
 * @param {Scene} scene
 * @param {Content} content
 * @param {number} position
 * @param {number} size
 * @returns {Scene}
 */
export function withContent(scene, content, position, size) {
  const at = atOf(position, size);
  const rest = withoutContent(scene, position, size);
  if (content.wall) return { ...rest, walls: [...rest.walls, at] };
  const { name, color, icon } = content;
  return { ...rest, objects: [...rest.objects, { name, color: color ?? undefined, icon, at }] };
}

/**
 * The content of a scenario file: the scene and the sentence, without unused drawings.
 * @param {Scene} scene
 * @param {string} [sentence]
 * @returns {Scene}
 */
export function toFile(scene, sentence) {
  const { objects, walls, agent, drawings } = scene;
  const used = Object.entries(drawings ?? {}).filter(([name]) => objects.some((object) => object.name === name));
  /** @type {Scene} */
  const file = { format: FORMAT, objects, walls, agent };
  if (used.length) file.drawings = Object.fromEntries(used);
  if (sentence) file.sentence = sentence;
  return file;
}

/** @param {Uint8Array} bytes */
export function toBase64(bytes) {
  let text = "";
  for (let k = 0; k < bytes.length; k += 4096) text += String.fromCharCode(...bytes.subarray(k, k + 4096));
  return btoa(text);
}

/** @param {string} text */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
