// The icons of cells: from the icon sheet of the server, or the user's drawings.

/** @typedef {import("./types").Hello} Hello */

const SHEET = "/icons.webp";
const AGENT = "/agent.png";
const LOAD_TIMEOUT_MS = 8000;

/** Wait until the icons are loaded; if that takes too long, the page works without them. */
export async function loadIcons() {
  const images = [SHEET, AGENT].map((address) => {
    const image = new Image();
    image.src = address;
    return image.decode().catch(() => undefined);
  });
  await Promise.race([Promise.all(images), new Promise((done) => setTimeout(done, LOAD_TIMEOUT_MS))]);
}

/**
 * @param {Hello} hello
 * @param {() => Record<string, string> | undefined} drawings
 * @returns {import("./types").Paint}
 */
export function painter(hello, drawings) {
  const firstIcons = new Map(hello.classes.map(({ name, first }) => [name, first]));
  const { columns, rows } = hello.sheet;
  return (element, key) => {
    const [name, icon] = key.split("/");
    const drawing = drawings()?.[name];
    if (drawing || key === "agent" || key === "floor") {
      const address = drawing ? `data:image/png;base64,${drawing}` : AGENT;
      element.style.backgroundImage = key === "floor" ? "none" : `url("${address}")`;
      element.style.backgroundSize = "100% 100%";
      element.style.backgroundPosition = "0 0";
      return;
    }
    const cell = hello.cells[key] ?? (firstIcons.get(name) ?? 0) + Number(icon);
    const [x, y] = [(cell % columns) / (columns - 1), Math.floor(cell / columns) / (rows - 1)];
    element.style.backgroundImage = `url("${SHEET}")`;
    element.style.backgroundSize = `${100 * columns}% ${100 * rows}%`;
    element.style.backgroundPosition = `${100 * x}% ${100 * y}%`;
  };
}
