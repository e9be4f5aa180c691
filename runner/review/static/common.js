// What every page shares: asking the server, making elements, the reviewer's name, the stop. Text is never markup here.

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
export const cellNumber = Number(meta("trialcell-cell") || 0);

/** An element: attributes by name, `on…` as listeners, children as nodes or text. */
export function el(name, attributes = {}, ...children) {
  const svg = ["svg", "polygon", "circle"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

export class Refused extends Error {}

async function answered(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Refused("the server does not answer; is trialcell review still running?");
  }
  const text = await response.text();
  let told = null;
  try {
    told = JSON.parse(text);
  } catch {
    told = null;
  }
  if (!response.ok || told === null) throw new Refused(told?.message ?? (text.trim() || `it answered ${response.status}`));
  return told;
}

export const ask = (path) => answered(fetch(path, { credentials: "same-origin", cache: "no-store" }));

export const tell = (path, what) =>
  answered(
    fetch(path, {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json", "x-trialcell-token": meta("trialcell-token") },
      body: JSON.stringify(what),
    }),
  );

let sayTimer = 0;
/** Say something at the foot of the page, for a while; trouble stays until something else is said. */
export function say(text, trouble = false) {
  const box = document.getElementById("say");
  box.textContent = text;
  box.className = trouble ? "trouble" : "";
  clearTimeout(sayTimer);
  if (!trouble) sayTimer = setTimeout(() => (box.textContent = ""), 6000);
}

const KIND = { completed: "good", yes: "good", failed: "bad", no: "bad", crashed: "bad", unreadable: "bad", running: "calm" };
const SIGN = { good: "✓", bad: "✗", doubt: "?", calm: "…" };
export function badge(word) {
  const said = word ?? "no verdict";
  const kind = KIND[said] ?? "doubt";
  return el("span", { class: `badge ${kind}` }, el("span", { "aria-hidden": "true" }, SIGN[kind]), ` ${said}`);
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    /* it is only forgotten */
  }
}
export const remembered = kept;

const who = document.getElementById("who");
who.value ||= kept("trialcell-reviewer") ?? "";
who.addEventListener("input", () => keep("trialcell-reviewer", who.value.trim()));
who.addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === "Escape") who.blur();
});
export const reviewer = () => who.value.trim();

/** Ask again and again, not while the page is hidden, and less often while nothing answers. */
export function every(seconds, work) {
  let misses = 0;
  const turn = async () => {
    if (!document.hidden) {
      try {
        await work();
        misses = 0;
      } catch (error) {
        misses += 1;
        if (misses === 2) say(error.message, true);
      }
    }
    setTimeout(turn, seconds * 1000 * Math.min(8, 1 + misses));
  };
  document.addEventListener("visibilitychange", () => !document.hidden && work().catch(() => {}));
  return turn();
}

export function showStop(told) {
  const box = document.getElementById("stopped");
  const button = document.getElementById("stop");
  box.hidden = told.stop === null;
  button.disabled = told.stop !== null;
  if (told.stop === null) return fill(box);
  const text = `Stopped: ${told.stop.why} (by ${told.stop.by}, ${told.stop.at}). `;
  if (box.firstChild?.textContent === text) return undefined;
  return fill(box, el("b", {}, text), "A person clears it at the cell, once somebody has looked: ", el("code", {}, told.clear));
}

document.getElementById("stop").addEventListener("click", async (event) => {
  event.currentTarget.disabled = true;
  try {
    showStop(await tell("/api/stop", { cell: cellNumber, by: reviewer() || "somebody at the review page" }));
  } catch (error) {
    document.getElementById("stop").disabled = false;
    say(`Not stopped: ${error.message}`, true);
  }
});
document.documentElement.dataset.ready = "yes";
every(3, async () => showStop(await ask(`/api/stopped/${cellNumber}`)));
