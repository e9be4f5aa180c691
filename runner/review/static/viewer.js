// Two pictures side by side that move together: nearer, farther, drawn along, blinking in one place, with outlines.

import { el, fill } from "./common.js";

const NEAREST = 12;
const BLINK_MS = 650;

export class Viewer {
  constructor(box) {
    this.box = box;
    this.outlines = false;
    this.blinking = false;
    this.scale = 1;
    this.u = 0;
    this.v = 0;
    this.timer = 0;
    this.panes = [];
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.bar = el("div", { class: "tools", role: "toolbar", "aria-label": "view" });
    this.pair = el("div", { class: "pair" });
    const button = (text, title, run) => el("button", { type: "button", title, "aria-label": title, onclick: run }, text);
    this.blinkButton = button("Blink", "blink before and after in one place (b)", () => this.blink());
    this.lineButton = button("Outlines", "outlines of what was seen (o)", () => this.lines());
    this.bar.append(
      button("+", "nearer (+)", () => this.zoom(1.5)),
      button("−", "farther (−)", () => this.zoom(1 / 1.5)),
      button("Whole", "the whole picture (0)", () => this.whole()),
      this.blinkButton,
      this.lineButton,
      (this.how = el("span", { class: "quiet", "aria-live": "polite" })),
    );
    fill(box, this.bar, this.pair);
  }

  show(before, after) {
    this.stopBlinking();
    this.scale = 1;
    this.u = this.v = 0;
    this.panes = [before, after].map((picture) => this.pane(picture));
    fill(this.pair, this.panes.map((pane) => pane.figure));
    this.place();
  }

  pane(picture) {
    const name = picture.role === "before" ? "Before" : "After";
    const caption = el("figcaption", {}, el("b", {}, name), picture.label ? ` ${picture.label}` : "");
    if (picture.problem) {
      const figure = el("figure", { class: `view ${picture.role}` }, el("div", { class: "nopic" }, picture.problem), caption);
      return { figure, layer: null };
    }
    const image = el("img", { src: picture.url, alt: `${name} the step: ${picture.label}`, draggable: "false", width: picture.width, height: picture.height });
    const over = el("svg", { viewBox: `0 0 ${picture.width} ${picture.height}`, "aria-hidden": "true", preserveAspectRatio: "none" });
    for (const outline of picture.outlines) {
      const points = outline.points.map(([u, v]) => `${u},${v}`).join(" ");
      over.append(el("polygon", { points, class: "under" }), el("polygon", { points, class: outline.what }));
    }
    const layer = el("div", { class: "layer" }, image, over);
    const frame = el("div", { class: "frame", tabindex: "0", role: "group", "aria-label": `${name}: drag or wheel to look nearer` }, layer);
    image.addEventListener("error", () => fill(frame, el("div", { class: "nopic" }, "the picture could not be shown")));
    this.listen(frame);
    return { figure: el("figure", { class: `view ${picture.role}` }, frame, caption), layer, frame };
  }

  listen(frame) {
    const held = new Map();
    let apart = 0;
    frame.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = frame.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    }, { passive: false });
    frame.addEventListener("pointerdown", (event) => {
      frame.setPointerCapture(event.pointerId);
      held.set(event.pointerId, event);
      apart = 0;
    });
    frame.addEventListener("pointermove", (event) => {
      const last = held.get(event.pointerId);
      if (!last) return;
      const box = frame.getBoundingClientRect();
      held.set(event.pointerId, event);
      if (held.size === 2) {
        const [a, b] = [...held.values()];
        const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
        const mid = [((a.clientX + b.clientX) / 2 - box.left) / box.width, ((a.clientY + b.clientY) / 2 - box.top) / box.height];
        if (apart > 0) this.zoom(now / apart, ...mid);
        apart = now;
        return;
      }
      this.u -= (event.clientX - last.clientX) / box.width / this.scale;
      this.v -= (event.clientY - last.clientY) / box.height / this.scale;
      this.place();
    });
    const gone = (event) => { held.delete(event.pointerId); apart = 0; };
    frame.addEventListener("pointerup", gone);
    frame.addEventListener("pointercancel", gone);
    frame.addEventListener("dblclick", (event) => {
      const box = frame.getBoundingClientRect();
      if (this.scale > 1.01) this.whole();
      else this.zoom(4, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    });
    frame.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step || this.scale <= 1) return;
      event.preventDefault();
      this.u += (step[0] * 0.1) / this.scale;
      this.v += (step[1] * 0.1) / this.scale;
      this.place();
    });
  }

  /** Nearer by a factor, keeping the point at (x, y), shares of the frame, where it is. */
  zoom(by, x = 0.5, y = 0.5) {
    const next = Math.min(NEAREST, Math.max(1, this.scale * by));
    this.u += x / this.scale - x / next;
    this.v += y / this.scale - y / next;
    this.scale = next;
    this.place();
  }

  whole() {
    this.scale = 1;
    this.place();
  }

  place() {
    const most = 1 - 1 / this.scale;
    this.u = Math.min(most, Math.max(0, this.u));
    this.v = Math.min(most, Math.max(0, this.v));
    for (const { layer } of this.panes) {
      if (layer) layer.style.transform = `scale(${this.scale}) translate(${-this.u * 100}%, ${-this.v * 100}%)`;
    }
    this.how.textContent = this.scale > 1.01 ? `${this.scale.toFixed(1)} ×` : "";
  }

  lines() {
    this.outlines = !this.outlines;
    this.box.classList.toggle("outlined", this.outlines);
    this.lineButton.setAttribute("aria-pressed", String(this.outlines));
  }

  /** With a wish for less motion each call shows the other picture, and then both again. */
  blink() {
    if (this.blinking && !(this.still.matches && this.box.dataset.front === "before")) return this.stopBlinking();
    if (this.blinking) return this.front("after");
    this.blinking = true;
    this.box.classList.add("blinking");
    this.blinkButton.setAttribute("aria-pressed", "true");
    this.front("before");
    if (!this.still.matches) {
      this.timer = setInterval(() => this.front(this.box.dataset.front === "before" ? "after" : "before"), BLINK_MS);
    }
    return undefined;
  }

  front(which) {
    this.box.dataset.front = which;
  }

  stopBlinking() {
    clearInterval(this.timer);
    this.blinking = false;
    this.box.classList.remove("blinking");
    delete this.box.dataset.front;
    this.blinkButton.setAttribute("aria-pressed", "false");
  }
}
