// Worlds as plain data, in the form of a scenario file; a place is row * size + column.

const FORMAT = "groundling-scenario-1";

export function placeOf([row, column], size) {
  return row * size + column;
}

export function atOf(place, size) {
  return [Math.floor(place / size), place % size];
}

/** What stands at each place: null, { wall: true } or an object of the scene. */
export function things(scene, size) {
  const found = new Array(size * size).fill(null);
  for (const at of scene.walls) found[placeOf(at, size)] = { wall: true };
  for (const object of scene.objects) found[placeOf(object.at, size)] = object;
  return found;
}

/** The key of a thing's picture. */
export function pictureKey(thing) {
  if (thing === null) return "floor";
  return thing.wall ? "wall" : `${thing.name}/${thing.icon}`;
}

export function nameOf(thing) {
  if (thing === null) return "empty";
  if (thing.wall) return "wall";
  return thing.color ? `${thing.color} ${thing.name}` : thing.name;
}

/** The scene with whatever stood at a place taken away. */
export function cleared(scene, place, size) {
  const elsewhere = (at) => placeOf(at, size) !== place;
  return {
    ...scene,
    walls: scene.walls.filter(elsewhere),
    objects: scene.objects.filter((object) => elsewhere(object.at)),
  };
}

/** The scene with a thing put at a place, in the stead of what was there; `thing` is as `things` gives it. */
export function withThing(scene, thing, place, size) {
  const at = atOf(place, size);
  const rest = cleared(scene, place, size);
  if (thing.wall) return { ...rest, walls: [...rest.walls, at] };
  return { ...rest, objects: [...rest.objects, { ...thing, at }] };
}

export function withAgent(scene, at) {
  return { ...scene, agent: at };
}

/** A scenario file: the scene and what was said, without drawings that are not in it. */
export function toFile(scene, sentence) {
  const { format: _format, sentence: _sentence, drawings, ...rest } = scene;
  const used = Object.entries(drawings ?? {}).filter(([name]) => rest.objects.some((o) => o.name === name));
  const file = { format: FORMAT, ...rest };
  if (used.length) file.drawings = Object.fromEntries(used);
  if (sentence) file.sentence = sentence;
  return file;
}

export function base64(bytes) {
  let text = "";
  for (let k = 0; k < bytes.length; k += 4096) text += String.fromCharCode(...bytes.subarray(k, k + 4096));
  return btoa(text);
}

export function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function toFragment(file) {
  const text = base64(new TextEncoder().encode(JSON.stringify(file)));
  return "#world=" + text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The scenario in a link's fragment, or null if the link has none. A broken one throws. */
export function fromFragment(fragment) {
  if (!fragment.startsWith("#world=")) return null;
  const text = fragment.slice(7).replaceAll("-", "+").replaceAll("_", "/");
  return JSON.parse(new TextDecoder().decode(bytesOf(text)));
}
