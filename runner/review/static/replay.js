// The motion of a run again, on a canvas: parts of the arm as the server's kinematics placed them, table, box, block.

import { ask } from "./common.js";

const box = document.getElementById("replay");
const canvas = document.getElementById("scene");
const pen = canvas.getContext("2d");
const slider = document.getElementById("at");
const clock = document.getElementById("clock");
const doing = document.getElementById("doing");
const play = document.getElementById("play");
const speed = document.getElementById("speed");
const dark = matchMedia("(prefers-color-scheme: dark)");

const eye = { turn: -2.25, lift: 0.5, away: 760 };
const MIDDLE = [150, 0, 95];
let run = null;
let now = 0; // seconds
let playing = false;
let before = 0;

// vectors

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const times = (a, k) => [a[0] * k, a[1] * k, a[2] * k];
const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
/** v turned by the quaternion q = x y z w. */
function turned(q, v) {
  const u = [q[0], q[1], q[2]];
  const t = times(cross(u, v), 2);
  return add(add(v, times(t, q[3])), cross(u, t));
}

/** A link's place and turn between two frames. */
function linkAt(link, i, share) {
  if (link === 0) return { p: [0, 0, 0], q: [0, 0, 0, 1] };
  const a = run.links[i][link - 1];
  const b = run.links[Math.min(i + 1, run.links.length - 1)][link - 1];
  const p = [0, 1, 2].map((k) => a[k] + (b[k] - a[k]) * share);
  const same = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
  const q = [3, 4, 5, 6].map((k) => a[k] + (same * b[k] - a[k]) * share);
  const length = Math.hypot(...q) || 1;
  return { p, q: q.map((each) => each / length) };
}
const placed = ({ p, q }, v) => add(p, turned(q, v));

// the eye

let frame = null;
function look() {
  const [ct, st, cl, sl] = [Math.cos(eye.turn), Math.sin(eye.turn), Math.cos(eye.lift), Math.sin(eye.lift)];
  const back = [cl * ct, cl * st, sl];
  const right = [-st, ct, 0];
  const size = Math.min(canvas.width * 0.62, canvas.height);
  frame = { back, right, up: cross(back, right), scale: size * 1.5, cx: canvas.width / 2, cy: canvas.height * 0.52 };
}
function seen(point) {
  const d = minus(point, MIDDLE);
  const depth = eye.away - dot(d, frame.back);
  const k = frame.scale / Math.max(depth, 60);
  return [frame.cx + dot(d, frame.right) * k, frame.cy - dot(d, frame.up) * k, depth, k];
}

// drawing: everything is put into one list and drawn from far to near

let shapes = [];
const polygon = (points, fill, line, bias = 0) => {
  const flat = points.map(seen);
  shapes.push({ depth: flat.reduce((sum, one) => sum + one[2], 0) / flat.length + bias, draw() {
    pen.beginPath();
    flat.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    if (fill) { pen.fillStyle = fill; pen.fill(); }
    if (line) { pen.strokeStyle = line; pen.lineWidth = Math.max(1, canvas.width / 900); pen.stroke(); }
  } });
};
const rod = (a, b, radius, colour, edge, round = true) => {
  const [p, q] = [seen(a), seen(b)];
  const width = 2 * radius * ((p[3] + q[3]) / 2);
  shapes.push({ depth: (p[2] + q[2]) / 2 - radius * 0.3, draw() {
    const same = Math.hypot(p[0] - q[0], p[1] - q[1]) < 0.5;
    for (const [colourOf, wide] of [[edge, width], [colour, Math.max(width - canvas.width / 320, width * 0.75)]]) {
      pen.lineCap = round || same ? "round" : "butt";
      pen.strokeStyle = colourOf;
      pen.lineWidth = Math.max(wide, 1);
      pen.beginPath();
      pen.moveTo(p[0], p[1]);
      pen.lineTo(q[0] + (same ? 0.01 : 0), q[1]);
      pen.stroke();
    }
  } });
};
const line = (points, colour, width, dashed = false) => {
  const flat = points.map(seen);
  shapes.push({ depth: Math.min(...flat.map((one) => one[2])) - 5, draw() {
    pen.strokeStyle = colour;
    pen.lineWidth = (width * canvas.width) / 900;
    pen.setLineDash(dashed ? [canvas.width / 150, canvas.width / 200] : []);
    pen.lineCap = "round";
    pen.beginPath();
    flat.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.stroke();
    pen.setLineDash([]);
  } });
};

const FACES = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
/** A box by its eight corners: only the faces that look at the eye. */
function brick(corners, fill, line_) {
  const middle = times(corners.reduce(add), 1 / 8);
  const toEye = minus(add(MIDDLE, times(frame.back, eye.away)), middle);
  for (const face of FACES) {
    const points = face.map((i) => corners[i]);
    const out = minus(times(points.reduce(add), 1 / 4), middle);
    const lies = dot(out, minus(toEye, out)) > 0;
    if (lies) polygon(points, fill, line_);
  }
}

const colours = () => {
  const css = getComputedStyle(document.documentElement);
  const of = (name) => css.getPropertyValue(`--${name}`).trim();
  const night = dark.matches;
  return {
    ground: of("panel"), grid: of("line"), ink: of("quiet"), path: of("good"), target: of("bad"),
    white: night ? "#c9ccd1" : "#f4f4f2", grey: night ? "#8e949c" : "#c3c6ca", dark: night ? "#4a5058" : "#5b616a", glass: "#39424c",
    edge: night ? "#14171b" : "#8b9098", block: "#d0342c", blockEdge: night ? "#ffb3ab" : "#7d1510",
    wall: night ? "rgba(232,230,225,.20)" : "rgba(120,130,140,.16)", wallEdge: of("quiet"), held: of("accent"),
  };
};

function draw() {
  if (!run) return;
  const wide = Math.round(canvas.clientWidth * devicePixelRatio);
  const high = Math.round(canvas.clientHeight * devicePixelRatio);
  if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
  const c = colours();
  look();
  pen.fillStyle = c.ground;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  shapes = [];
  ground(c);
  const { i, share } = momentOf(now);
  arm(c, i, share);
  things(c, i, share);
  shapes.sort((a, b) => b.depth - a.depth);
  for (const shape of shapes) shape.draw();
  words(i);
}

function ground(c) {
  const z = run.table_z;
  const lines = [];
  for (let x = -100; x <= 450; x += 50) lines.push([[x, -400, z], [x, 400, z]]);
  for (let y = -400; y <= 400; y += 50) lines.push([[-100, y, z], [450, y, z]]);
  pen.lineWidth = Math.max(1, canvas.width / 1300);
  pen.strokeStyle = c.grid;
  for (const ends of lines) {
    const [a, b] = ends.map(seen);
    pen.beginPath(); pen.moveTo(a[0], a[1]); pen.lineTo(b[0], b[1]); pen.stroke();
  }
}

function arm(c, i, share) {
  const at = run.links[0].map((_, n) => linkAt(n + 1, i, share));
  const where = (link) => (link === 0 ? linkAt(0) : at[link - 1]);
  for (const part of run.parts) {
    const pose = where(part.link);
    if (part.kind === "box") {
      const corners = [];
      for (const x of [-1, 1]) for (const y of [-1, 1]) for (const z of [-1, 1]) {
        corners.push(placed(pose, [part.centre[0] + x * part.half[0], part.centre[1] + y * part.half[1], part.centre[2] + z * part.half[2]]));
      }
      brick(corners, c[part.colour], c.edge);
    } else rod(placed(pose, part.a), placed(pose, part.b), part.radius, c[part.colour], c.edge, part.kind === "capsule");
  }
  const last = where(run.links[0].length - 1);
  const half = (run.openings_mm[i] ?? (run.held[i] ? (run.block?.side ?? 30) : 44.6)) / 2 + 4;
  for (const side of [-1, 1]) {
    const out = times(run.jaws.across, side * half);
    rod(placed(last, add(out, [0, 0, run.jaws.from_mm])), placed(last, add(out, [0, 0, run.jaws.to_mm + 6])), 4.5, c.dark, c.edge);
  }
  rod(placed(last, [0, 0, 2]), placed(last, [0, 0, run.jaws.from_mm]), 13, c.grey, c.edge, false);
  const inner = times(run.jaws.across, half);
  rod(placed(last, add(inner, [0, 0, run.jaws.from_mm])), placed(last, add(times(inner, -1), [0, 0, run.jaws.from_mm])), 8, c.grey, c.edge);
}

const tipAt = (i) => run.links[i].at(-1).slice(0, 3);

/** The block's eight corners: where it was seen, in the jaws while they hold it, then where they let it go. */
function blockAt(i, share) {
  const { floor, side } = run.block;
  const rest = [...floor.map((p) => p), ...floor.map((p) => add(p, [0, 0, side]))];
  const first = run.held.indexOf(true);
  if (first < 0 || i < first) return ordered(rest);
  let grip = i;
  while (grip > first && !run.held[grip]) grip -= 1;
  const taken = linkAt(run.links[0].length, first, 0);
  const held = linkAt(run.links[0].length, grip, run.held[i] ? share : 0);
  const undo = [-taken.q[0], -taken.q[1], -taken.q[2], taken.q[3]];
  const moved = rest.map((p) => placed(held, turned(undo, minus(p, taken.p))));
  if (run.held[i]) return ordered(moved);
  const low = Math.min(...moved.map((p) => p[2])) - run.table_z; // let go of: it falls as far as there is room
  const inBox = run.box !== null ? Math.min(low, Math.max(0, low - 3)) : low;
  return ordered(moved.map((p) => add(p, [0, 0, -inBox])));
}
const ordered = (p) => [p[0], p[4], p[1], p[5], p[3], p[7], p[2], p[6]];

function things(c, i, share) {
  if (run.box) {
    const { floor, height } = run.box;
    polygon(floor, c.wall, null, 30);
    for (let k = 0; k < 4; k += 1) {
      const [a, b] = [floor[k], floor[(k + 1) % 4]];
      polygon([a, b, add(b, [0, 0, height]), add(a, [0, 0, height])], c.wall, c.wallEdge);
    }
  }
  if (run.block) brick(blockAt(i, share), c.block, run.held[i] ? c.held : c.blockEdge);
  for (const target of run.targets) {
    for (const way of [[8, 0, 0], [0, 8, 0], [0, 0, 8]]) line([minus(target, way), add(target, way)], c.target, 1.6);
  }
  const from = Math.max(0, i - 150);
  const path = run.links.slice(from, i + 1).map((links) => links.at(-1).slice(0, 3));
  if (path.length > 1) line(path, c.path, 1.8);
}

function momentOf(seconds) {
  const t = run.times_s;
  let low = 0;
  let high = t.length - 1;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (t[mid] <= seconds) low = mid;
    else high = mid;
  }
  const span = t[high] - t[low];
  const share = span > 0 ? Math.min(1, Math.max(0, (seconds - t[low]) / span)) : 0;
  return share >= 1 && high < t.length ? { i: high, share: 0 } : { i: low, share };
}

/** What is known of the jaws: what was read, or only what they were told. */
function jaws(i) {
  const opening = run.openings_mm[i];
  if (opening === null) return run.held[i] ? "jaws closed, not read" : "jaws not read";
  return `jaws ${opening.toFixed(1)} mm${run.held[i] ? ", holding" : ""}`;
}

function words(i) {
  const end = run.times_s.at(-1);
  clock.textContent = `${now.toFixed(1)} of ${end.toFixed(1)} s`;
  const [x, y, z] = tipAt(i);
  doing.textContent = `${run.labels[i].replaceAll("_", " ")} · ${jaws(i)} · tool point ${x.toFixed(0)}, ${y.toFixed(0)}, ${z.toFixed(0)} mm (forward, left, up)`;
  slider.value = String(Math.round((1000 * now) / end));
  slider.setAttribute("aria-valuetext", `${now.toFixed(1)} seconds, ${run.labels[i].replaceAll("_", " ")}`);
}

function turn(stamp) {
  if (!playing) return;
  const end = run.times_s.at(-1);
  now = Math.min(end, now + ((stamp - before) / 1000) * Number(speed.value));
  before = stamp;
  if (now >= end) stop();
  draw();
  if (playing) requestAnimationFrame(turn);
}
function stop() {
  playing = false;
  play.textContent = "Play";
}
play.addEventListener("click", () => {
  if (!run) return;
  if (playing) return stop();
  if (now >= run.times_s.at(-1)) now = run.times_s[0];
  playing = true;
  play.textContent = "Pause";
  before = performance.now();
  requestAnimationFrame(turn);
});
slider.addEventListener("input", () => {
  if (!run) return;
  stop();
  now = (Number(slider.value) / 1000) * run.times_s.at(-1);
  draw();
});
const stand = (turnBy, lift) => { eye.turn = turnBy; eye.lift = lift; draw(); };
document.getElementById("above").addEventListener("click", () => stand(Math.PI, 1.55));
document.getElementById("aside").addEventListener("click", () => stand(-Math.PI / 2, 0.12));
canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
canvas.addEventListener("pointermove", (event) => {
  if (!canvas.hasPointerCapture(event.pointerId)) return;
  eye.turn -= event.movementX / 160;
  eye.lift = Math.min(1.55, Math.max(-0.1, eye.lift + event.movementY / 200));
  draw();
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  eye.away = Math.min(2500, Math.max(250, eye.away * Math.exp(event.deltaY / 900)));
  draw();
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
  if (event.key === " ") play.click();
  else if (by) { eye.turn += by[0]; eye.lift = Math.min(1.55, Math.max(-0.1, eye.lift + by[1])); draw(); }
  else return;
  event.preventDefault();
});
addEventListener("resize", draw);
dark.addEventListener("change", draw);

try {
  run = await ask(`/api/replay/${box.dataset.cell}/${box.dataset.run}`);
  now = run.times_s[0];
  canvas.setAttribute("aria-label", `the motion of ${run.arm}, drawn from logged joints`);
  draw();
} catch (error) {
  box.replaceChildren(Object.assign(document.createElement("p"), { className: "quiet", textContent: `Not drawn: ${error.message}.` }));
}
box.dataset.ready = "yes";
