// Scenes as plain data, in the scenario file format. A position is row * size + column; `at` is [row, column].

const FORMAT = "groundling-scenario-1";

export function positionOf([row, column], size) {
  return row * size + column;
}

export function atOf(position, size) {
  return [Math.floor(position / size), position % size];
}

/** The content of each cell: null, { wall: true } or an object of the scene. */
export function cellContents(scene, size) {
  const contents = new Array(size * size).fill(null);
  for (const at of scene.walls) contents[positionOf(at, size)] = { wall: true };
  for (const object of scene.objects) contents[positionOf(object.at, size)] = object;
  return contents;
}

/** The key of the icon of a cell's content. */
export function iconKey(content) {
  if (content === null) return "floor";
  return content.wall ? "wall" : `${content.name}/${content.icon}`;
}

/** A description of a cell's content, such as "red apple". */
export function describe(content) {
  if (content === null) return "empty";
  if (content.wall) return "wall";
  return content.color ? `${content.color} ${content.name}` : content.name;
}

/** The scene without the content of a cell. */
export function withoutContent(scene, position, size) {
  const isElsewhere = (at) => positionOf(at, size) !== position;
  return {
    ...scene,
    walls: scene.walls.filter(isElsewhere),
    objects: scene.objects.filter((object) => isElsewhere(object.at)),
  };
}

/** The scene with the content of a cell replaced; `content` as in `cellContents`. */
export function withContent(scene, content, position, size) {
  const at = atOf(position, size);
  const rest = withoutContent(scene, position, size);
  if (content.wall) return { ...rest, walls: [...rest.walls, at] };
  return { ...rest, objects: [...rest.objects, { ...content, at }] };
}

export function withAgent(scene, at) {
  return { ...scene, agent: at };
}

/** The content of a scenario file: the scene and the sentence, without unused drawings. */
export function toFile(scene, sentence) {
  const { format: _format, sentence: _sentence, drawings, ...rest } = scene;
  const isUsed = ([name]) => rest.objects.some((object) => object.name === name);
  const used = Object.entries(drawings ?? {}).filter(isUsed);
  const file = { format: FORMAT, ...rest };
  if (used.length) file.drawings = Object.fromEntries(used);
  if (sentence) file.sentence = sentence;
  return file;
}

export function toBase64(bytes) {
  let text = "";
  for (let k = 0; k < bytes.length; k += 4096) text += String.fromCharCode(...bytes.subarray(k, k + 4096));
  return btoa(text);
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function toFragment(file) {
  const text = toBase64(new TextEncoder().encode(JSON.stringify(file)));
  return "#world=" + text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The scenario in the fragment of a link, or null if there is none. Throws if it cannot be decoded. */
export function fromFragment(fragment) {
  if (!fragment.startsWith("#world=")) return null;
  const text = fragment.slice(7).replaceAll("-", "+").replaceAll("_", "/");
  return JSON.parse(new TextDecoder().decode(fromBase64(text)));
}
