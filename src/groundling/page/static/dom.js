// Helpers to create elements and to format numbers.

/** Create an element: h("p", { class: "note", text: "..." }, child, ...). Names that start with "on" are listeners. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function percent(fraction) {
  return `${Math.round(100 * fraction)} %`;
}

export function decimal(number) {
  return number.toFixed(2);
}

/** Scale numbers linearly to the range from 0 (minimum) to 1 (maximum). */
export function normalized(numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return numbers.map((number) => (number - low) / (high - low || 1));
}

/** A labeled bar whose length is a fraction from 0 to 1. */
export function bar(label, fraction, note = "") {
  const fill = h("span", { class: "fill" });
  fill.style.width = `${100 * Math.max(0, Math.min(1, fraction))}%`;
  return h(
    "li",
    { class: "bar", title: note },
    h("span", { class: "bar-label", text: label }),
    h("span", { class: "track", "aria-hidden": "true" }, fill),
    h("span", { class: "number", text: percent(fraction) }),
  );
}
