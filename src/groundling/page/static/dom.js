// Small helpers for making elements and for saying numbers.

/** An element: h("p", { class: "note", text: "..." }, child, ...). Names that begin with "on" are listeners. */
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

export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

export function plain(number) {
  return number.toFixed(2);
}

/** Numbers of any size as shares from 0, the least of them, to 1. */
export function scaled(numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return numbers.map((number) => (number - low) / (high - low || 1));
}

/** A labelled bar whose length is a share from 0 to 1. */
export function bar(label, share, note = "") {
  const fill = h("span", { class: "fill" });
  fill.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
  return h(
    "li",
    { class: "bar", title: note },
    h("span", { class: "bar-label", text: label }),
    h("span", { class: "track", "aria-hidden": "true" }, fill),
    h("span", { class: "number", text: percent(share) }),
  );
}
