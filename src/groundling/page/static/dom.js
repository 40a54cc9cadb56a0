// Helpers to create elements, to move the focus with arrow keys, and to format numbers.

/**
 * Create an element: h("p", { class: "note", text: "..." }, child, ...). Names that start with "on" are listeners.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element ${id}`);
  return element;
}

/** @param {number} fraction */
export function percent(fraction) {
  return `${Math.round(100 * fraction)} %`;
}

/** @param {number} number */
export function decimal(number) {
  return number.toFixed(2);
}

/** @param {number} count @param {string} noun */
export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Scale numbers linearly to the range from 0 (minimum) to 1 (maximum).
 * @param {number[]} numbers
 */
export function normalized(numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return numbers.map((number) => (number - low) / (high - low || 1));
}

/**
 * The number of cells over which a map of fractions spreads, exp(entropy), in words.
 * @param {number[]} map
 */
export function spread(map) {
  const total = map.reduce((sum, value) => sum + value, 0);
  if (total < 0.05) return "nowhere";
  const entropy = map.reduce((sum, value) => (value > 0 ? sum - (value / total) * Math.log(value / total) : sum), 0);
  const cells = Math.round(Math.exp(entropy));
  return cells <= 1 ? "on one cell" : `spread over about ${cells} cells`;
}

/**
 * A labeled bar whose length is a fraction from 0 to 1.
 * @param {string} label
 * @param {number} fraction
 * @param {string} [note]
 */
export function bar(label, fraction, note = "") {
  const fill = h("span", { class: "fill" });
  fill.style.width = `${100 * Math.max(0, Math.min(1, fraction))}%`;
  return h(
    "li",
    { class: "bar", title: note || null },
    h("span", { class: "bar-label", text: label }),
    h("span", { class: "track", "aria-hidden": "true" }, fill),
    h("span", { class: "number", text: percent(fraction) }),
  );
}

/**
 * A button that opens an explanation of a term below it.
 * @param {string} term
 * @param {string} text
 */
export function termNote(term, text) {
  const note = h("p", { class: "note term-note", text, hidden: true });
  const button = h("button", {
    type: "button",
    class: "term",
    text: "?",
    "aria-label": `What is ${term}?`,
    "aria-expanded": "false",
    onclick: () => {
      note.hidden = !note.hidden;
      button.setAttribute("aria-expanded", String(!note.hidden));
    },
  });
  return { button, note };
}

const ROVING_KEYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/**
 * Make the items of a container one tab stop: the arrow keys, Home and End move between them.
 * @param {HTMLElement} container
 * @param {string} selector of the items
 * @returns {() => void} to be called when the items have changed
 */
export function roving(container, selector) {
  /** @returns {HTMLElement[]} */
  const items = () => [...container.querySelectorAll(selector)].map((item) => /** @type {HTMLElement} */ (item));
  /** @param {HTMLElement | undefined} current */
  const refresh = (current) => {
    const all = items();
    const chosen = current ?? all.find((item) => item.tabIndex === 0) ?? all[0];
    for (const item of all) item.tabIndex = item === chosen ? 0 : -1;
  };
  container.addEventListener("focusin", (event) => {
    const item = /** @type {HTMLElement} */ (event.target).closest(selector);
    if (item) refresh(/** @type {HTMLElement} */ (item));
  });
  container.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = /** @type {Record<string, number>} */ (ROVING_KEYS)[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : step ? at + step : -1;
    if (next < 0 || next >= all.length) return;
    event.preventDefault();
    event.stopPropagation();
    all[next].focus();
  });
  refresh(undefined);
  return () => refresh(undefined);
}
