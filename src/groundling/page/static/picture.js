// A picture of a new object: from a file, the clipboard, a camera or a drawing pad; any image type the browser knows.

import { h } from "./dom.js";

const SIDE = 64; // pixels of an icon
const PAD = 192; // pixels of the drawing pad
const COLORS = ["#d0342c", "#e58f23", "#f2c52c", "#2e8b4f", "#2563c8", "#7c3fb0", "#22262b", "#ffffff"];
const DRAWABLE = "image/*";

/**
 * The whole image on a canvas of 64 x 64 pixels; its longer side fills it.
 * @param {Blob} file
 */
async function toCanvas(file) {
  let image;
  try {
    image = await createImageBitmap(file);
  } catch {
    throw new Error("this file is not an image that the browser can read");
  }
  const scale = SIDE / Math.max(image.width, image.height);
  const [width, height] = [image.width * scale, image.height * scale];
  const canvas = h("canvas", { width: SIDE, height: SIDE });
  const context = context2d(canvas);
  context.imageSmoothingQuality = "high";
  context.drawImage(image, (SIDE - width) / 2, (SIDE - height) / 2, width, height);
  return canvas;
}

/** @param {HTMLCanvasElement} canvas */
function toPng(canvas) {
  return canvas.toDataURL("image/png").split(",")[1];
}

/** @param {HTMLCanvasElement} canvas */
function context2d(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser cannot draw");
  return context;
}

export class Picture {
  /**
   * `onchange()` is called when there is another picture.
   * @param {() => void} onchange
   * @param {(text: string) => void} onerror
   */
  constructor(onchange, onerror) {
    this.onchange = onchange;
    this.onerror = onerror;
    /** @type {string | null} PNG in base64 */
    this.png = null;
    /** @type {Promise<void>} settles when the last file is read */
    this.pending = Promise.resolve();
    this.canvas = h("canvas", {
      class: "pad",
      width: PAD,
      height: PAD,
      role: "img",
      "aria-label": "Drawing pad; with the keyboard, choose a picture file instead",
    });
    this.color = COLORS[0];
    this.file = h("input", {
      type: "file",
      accept: DRAWABLE,
      "aria-label": "Picture file or camera",
      onchange: () => this.#chosen(),
    });
    const colors = h(
      "div",
      { class: "colors", role: "group", "aria-label": "Color of the pen" },
      ...COLORS.map((color) => this.#colorButton(color)),
    );
    this.colors = colors;
    this.clearButton = h("button", { type: "button", text: "Clear", onclick: () => this.clear() });
    this.element = h(
      "div",
      { class: "picture" },
      this.canvas,
      h(
        "div",
        { class: "picture-tools" },
        colors,
        h("p", { class: "note", text: "Draw here, drop or paste a picture, or:" }),
        h(
          "div",
          { class: "tools" },
          h("label", { class: "button" }, "Choose or photograph", this.file),
          this.clearButton,
        ),
      ),
    );
    this.#drawWithPointer();
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.take(event.dataTransfer?.files ?? null);
    });
    document.addEventListener("paste", (event) => this.take(event.clipboardData?.files ?? null));
    this.#chooseColor(this.color);
  }

  /** @param {string} color */
  #colorButton(color) {
    const button = h("button", {
      type: "button",
      class: "pen",
      "data-color": color,
      "aria-label": `Pen ${color}`,
      tabindex: "-1",
      onclick: () => this.#chooseColor(color),
    });
    button.style.backgroundColor = color;
    return button;
  }

  /** @param {string} color */
  #chooseColor(color) {
    this.color = color;
    for (const button of this.colors.children) {
      button.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (button).dataset.color === color));
    }
  }

  #drawWithPointer() {
    const context = context2d(this.canvas);
    context.lineWidth = 14;
    context.lineCap = context.lineJoin = "round";
    /** @param {PointerEvent} event @returns {[number, number]} */
    const point = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * PAD, ((event.clientY - box.top) / box.height) * PAD];
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      context.strokeStyle = this.color;
      context.beginPath();
      context.moveTo(...point(event));
      context.lineTo(...point(event));
      context.stroke();
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) return;
      context.lineTo(...point(event));
      context.stroke();
    });
    this.canvas.addEventListener("pointerup", () => {
      const small = h("canvas", { width: SIDE, height: SIDE });
      context2d(small).drawImage(this.canvas, 0, 0, SIDE, SIDE);
      this.#set(toPng(small));
    });
  }

  async #chosen() {
    await this.take(this.file.files);
    this.file.value = "";
  }

  /** Take the first image of some files. @param {FileList | null} files */
  take(files) {
    this.pending = this.#take(files);
    return this.pending;
  }

  /** @param {FileList | null} files */
  async #take(files) {
    const [file] = files ?? [];
    if (!file) return;
    try {
      const icon = await toCanvas(file);
      this.clear();
      context2d(this.canvas).drawImage(icon, 0, 0, PAD, PAD);
      this.#set(toPng(icon));
    } catch (error) {
      this.onerror(`${file.name}: ${/** @type {Error} */ (error).message}`);
    }
  }

  clear() {
    context2d(this.canvas).clearRect(0, 0, PAD, PAD);
    this.#set(null);
  }

  /** @param {string | null} png */
  #set(png) {
    this.png = png;
    this.onchange();
  }
}
