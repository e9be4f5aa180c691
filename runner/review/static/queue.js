// The reviewer's desk: the queue, one step at a time, one key a ruling; a judge's word only after the person's.

import { ask, badge, el, every, fill, keep, remembered, reviewer, say, tell } from "./common.js";
import { Viewer } from "./viewer.js";

const WORDS = { y: "yes", n: "no", u: "unsure" };
const viewer = new Viewer(document.getElementById("views"));
const at = (id) => document.getElementById(id);
const keyOf = (item) => `${item.cell}/${item.run_id}/${item.stage}`;
const nameOf = (item) => `${item.run_id.replace(/^run_(\d+)_.*/, "$1")} ${item.stage}`;

let order = []; // keys, as they are worked through
const items = new Map(); // key → item of the queue
const done = new Map(); // key → word that I gave
const gone = new Set(); // ruled on by somebody else meanwhile
const buttons = new Map(); // key → entry of the list
const fetched = new Map(); // key → promise of a step
const mine = []; // what I ruled: key, word, the name I gave; the last one last
let total = 0;
let current = null;
let step = null;
let told = null; // what was said of the step, once it may be seen
let busy = false;
let last = null; // my last ruling, for the line below
let blind = remembered("trialcell-blind") !== "no";

// the queue

async function refresh() {
  const found = await ask("/api/queue");
  total = found.total;
  const fresh = new Set(found.items.map(keyOf));
  for (const item of found.items) items.set(keyOf(item), item);
  for (const key of order) {
    if (!fresh.has(key) && !done.has(key)) gone.add(key);
    if (fresh.has(key)) gone.delete(key);
  }
  const known = new Set(order);
  const news = found.items.map(keyOf).filter((key) => !known.has(key));
  if (news.length && order.length) {
    // what came meanwhile goes in by its doubt, behind the step that is being looked at
    const from = Math.max(0, order.indexOf(current) + 1);
    for (const key of news) {
      let place = from;
      while (place < order.length && items.get(order[place]).doubt >= items.get(key).doubt) place += 1;
      order.splice(place, 0, key);
    }
  } else order.push(...news);
  list();
  broken(found.unreadable);
  if (current !== null && gone.has(current) && step) head();
  if (current === null) await go(nextOpen(-1));
}

function broken(runs) {
  const box = at("broken");
  box.hidden = runs.length === 0;
  if (runs.length === 0) return fill(box);
  const names = runs.slice(0, 20).map((run) => el("li", {}, el("b", {}, run.run_id), ` ${run.problem}`));
  const summary = el("summary", {}, `${runs.length} ${runs.length === 1 ? "run" : "runs"} can't be read: ${runs[0].run_id}${runs.length > 1 ? " …" : ""}`);
  const open = box.querySelector("details")?.open ?? false;
  return fill(box, el("details", { open }, summary, el("ul", {}, names)));
}

const isOpen = (key) => !done.has(key) && !gone.has(key);
function nextOpen(from, by = 1) {
  for (let i = from + by; i >= 0 && i < order.length; i += by) if (isOpen(order[i])) return order[i];
  if (by > 0) return order.find((key) => isOpen(key) && key !== current) ?? (current !== null && isOpen(current) ? current : null);
  return null;
}

function list() {
  const box = at("list");
  for (const key of order) {
    const item = items.get(key);
    let entry = buttons.get(key);
    if (!entry) {
      const word = el("span", { class: "word" });
      const button = el(
        "button", { type: "button", onclick: () => go(key) },
        el("span", { class: "name" }, nameOf(item)), word, el("span", { class: "why" }, item.reasons[0] ?? ""),
      );
      const meter = el("i", { class: "doubt", title: `doubt ${item.doubt.toFixed(2)}` });
      meter.style.setProperty("--share", String(item.doubt));
      entry = { row: el("li", {}, meter, button), button, word };
      buttons.set(key, entry);
    }
    entry.row.className = done.has(key) ? "done" : gone.has(key) ? "gone" : "";
    const wanted = done.get(key) ?? (gone.has(key) ? "ruled on" : "");
    if (entry.word.textContent !== wanted) entry.word.textContent = wanted;
    if (key === current) entry.button.setAttribute("aria-current", "true");
    else entry.button.removeAttribute("aria-current");
  }
  const rows = order.map((key) => buttons.get(key).row);
  if (rows.length !== box.children.length || rows.some((row, i) => box.children[i] !== row)) box.replaceChildren(...rows);
  const open = order.filter(isOpen).length;
  at("count").textContent = `${Math.max(open, total)} left, ${done.size} done by you`;
  document.title = `${open ? `(${Math.max(open, total)}) ` : ""}Queue · trialcell`;
}

// one step

function load(key) {
  if (!fetched.has(key)) {
    const { cell, run_id, stage } = items.get(key);
    const promise = ask(`/api/step/${cell}/${run_id}/${stage}`);
    promise.then((found) => {
      for (const picture of [found.before, found.after, ...found.closer]) if (picture.url) new Image().src = picture.url;
    }, () => fetched.delete(key));
    fetched.set(key, promise);
    if (fetched.size > 8) fetched.delete(fetched.keys().next().value);
  }
  return fetched.get(key);
}

async function go(key) {
  current = key;
  step = told = null;
  list();
  if (key === null) return empty();
  buttons.get(key)?.row.scrollIntoView({ block: "nearest" });
  try {
    const found = await load(key);
    if (current !== key) return undefined;
    fetched.delete(key); // seen, and so no longer as it was
    step = found;
    if (!blind || step.seen || done.has(key)) await reveal(key);
    if (current !== key) return undefined;
    show();
    const next = nextOpen(order.indexOf(key));
    if (next !== null && next !== key) load(next).catch(() => {});
  } catch (error) {
    if (current !== key) return undefined;
    fill(at("head"), el("h2", {}, nameOf(items.get(key))), el("p", { class: "problem" }, `It can't be shown: ${error.message}`));
    fill(at("closer"));
    fill(at("measured"));
    viewer.show({ role: "before", problem: "not there" }, { role: "after", problem: "not there" });
    ruling();
  }
  return undefined;
}

async function reveal(key) {
  const { cell, run_id, stage } = items.get(key);
  const found = await ask(`/api/said/${cell}/${run_id}/${stage}`);
  if (current === key) {
    told = found;
    step.seen = true;
  }
}

function empty() {
  delete at("head").dataset.step;
  fill(at("head"), el("h2", {}, "Nothing to look at"), el("p", { class: "quiet" }, "Whatever comes in doubt appears here by itself."));
  fill(at("closer"));
  fill(at("measured"));
  at("views").hidden = true;
  document.querySelector(".under").hidden = true;
  ruling();
}

function show() {
  at("views").hidden = false;
  document.querySelector(".under").hidden = false;
  head();
  viewer.show(step.before, step.after);
  const closer = step.closer.map((part) =>
    el("figure", {}, el("img", { src: part.url, alt: `closer look, ${part.role}` }), el("figcaption", {}, el("b", {}, part.role), part.by_judge ? " as the judge got it" : "")));
  fill(at("closer"), closer.length ? closer : el("p", { class: "quiet" }, "nothing to cut out: nothing was seen there"));
  fill(at("measured"), step.measured.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]));
  ruling();
}

function head() {
  const item = items.get(current);
  at("head").dataset.step = `${item.run_id} ${item.stage}`;
  const chips = item.reasons.map((reason) => el("span", { class: "chip" }, reason));
  const state = !step.seen && blind
    ? el("span", { class: "chip calm", title: "what any judge said is shown after your word" }, "blind")
    : el("span", { class: "chip", title: "your word is kept as one given with the judge's known" }, "not blind");
  const others = step.ruled_by.filter((name) => name !== reviewer());
  const meanwhile = gone.has(current) ? el("span", { class: "chip doubt" }, "another reviewer has just ruled on this") : null;
  fill(
    at("head"),
    el("h2", {}, `${item.run_id} `, el("span", { class: "stage" }, item.stage), " ", state, chips, meanwhile,
      others.length ? el("span", { class: "chip" }, `ruled on by ${others.join(", ")}`) : null),
    el("p", { class: "sub" }, el("span", { class: "question" }, step.question), el("span", {}, `${step.started}, attempt ${step.attempt}`),
      el("a", { href: `/run/${item.cell}/${item.run_id}`, target: "_blank", rel: "noopener", title: "the whole run, with what was said of it" }, "the whole run")),
  );
}

// ruling

function ruling() {
  const box = at("ruling");
  if (current === null || step === null) return fill(box, lastLine());
  const button = (key, word, kind) =>
    el("button", { type: "button", class: `say ${kind}`, onclick: () => rule(word) }, el("kbd", {}, key), word);
  const typed = box.querySelector("#why");
  const sameStep = box.dataset.key === current;
  box.dataset.key = current;
  const why = el("input", { id: "why", maxlength: 2000, placeholder: "reason (r), or 1 to 5", "aria-label": "reason", value: sameStep && typed ? typed.value : "", onkeydown: leave });
  const reasons = step.reasons.map((reason, i) =>
    el("button", { type: "button", class: "reason", onclick: () => reasonIs(i) }, el("kbd", {}, String(i + 1)), reason));
  fill(
    box,
    told ? said() : null,
    el("div", { class: "reasons" }, reasons),
    el("div", { class: "buttons" },
      button("y", "yes", "good"), button("n", "no", "bad"), button("u", "unsure", "doubt"),
      el("button", { type: "button", onclick: setAside }, el("kbd", {}, "i"), "set aside"),
      el("button", { type: "button", onclick: undo, disabled: mine.length === 0 }, el("kbd", {}, "z"), "take back"),
      why,
      done.has(current) ? el("button", { type: "button", class: "on", onclick: onward }, el("kbd", {}, "Enter"), "go on") : null,
      el("button", { type: "button", class: "plain", onclick: toggleBlind, "aria-pressed": String(blind), title: "whether a judge's word is shown only after yours (m)" }, blind ? "blind" : "not blind"),
      el("button", { type: "button", class: "plain", onclick: () => at("keys").showModal(), title: "all keys (?)", "aria-label": "all keys" }, "?"),
    ),
    lastLine(),
  );
  if (sameStep && typed === document.activeElement) at("why").focus();
  return undefined;
}

function said() {
  const word = done.get(current);
  const answer = (one) =>
    el("div", { class: "answer" },
      el("p", {}, badge(one.word), ` ${one.later ? "later, " : ""}${one.who}`, one.confidence === null ? "" : `, confidence ${one.confidence.toFixed(2)}`, one.error ? `, error ${one.error}` : "", `: ${one.reason}`),
      one.measured.length ? el("p", { class: "measured" }, one.measured.map(([name, text]) => `${name} ${text}`).join(", ")) : null,
      one.members.length ? el("details", {}, el("summary", {}, `made from ${one.members.length} answers`), one.members.map(answer)) : null);
  const people = told.rulings.map((one) =>
    el("p", {}, badge(one.verdict), ` ${one.takes_back ? "taken back" : "ruled"} by ${one.by}, ${one.at_text}${one.blind ? ", blind" : ""}${one.reason ? `: ${one.reason}` : ""}`));
  const differ = word && told.machine !== undefined && told.machine !== null && told.machine !== word;
  return el("div", { class: differ ? "said differ" : "said", id: "said" },
    differ ? el("p", { class: "lead" }, `You said ${word}, and the judge said ${told.machine}. Enter keeps your word; y, n or u changes it.`) : null,
    told.doubts.map((text) => el("p", { class: "quiet" }, text)), told.answers.map(answer), people);
}

function lastLine() {
  if (!last) return el("p", { class: "last quiet" }, "y yes, n no, u unsure, i set aside, z take back, ? all keys");
  const machine = last.machine ? `, the judge said ${last.machine}` : ", the judge had no word";
  const others = last.others.map((one) => `; ${one.by} said ${one.verdict} meanwhile, and both are kept`).join("");
  return el("p", { class: "last" }, `${last.name}: you said ${last.word}${machine}${last.blind ? "" : " (not blind)"}${others}`);
}

async function rule(word) {
  if (busy || current === null || step === null) return;
  if (done.get(current) === word) {
    onward();
    return;
  }
  if (!reviewer()) {
    at("who").focus();
    say("Say first who you are: your name stands beside your word.", true);
    return;
  }
  busy = true;
  const key = current;
  const { cell, run_id, stage } = items.get(key);
  try {
    const found = await tell("/api/rule", { cell, run_id, stage, verdict: word, by: reviewer(), reason: at("why")?.value ?? "", blind: blind && !step.seen, known: step.rulings });
    const again = done.has(key);
    done.set(key, word);
    gone.delete(key);
    mine.push({ key, word, by: reviewer() });
    step.rulings = found.rulings.length;
    last = { name: nameOf(items.get(key)), word, machine: found.machine, blind: found.ruling.blind, others: found.others };
    say("");
    told = found;
    step.seen = true;
    document.activeElement?.blur?.();
    if (!again && found.ruling.blind && found.machine !== null && found.machine !== word) {
      list();
      head();
      ruling();
    } else await go(nextOpen(order.indexOf(key)));
  } catch (error) {
    say(`Not written: ${error.message}`, true);
  } finally {
    busy = false;
  }
}

async function undo() {
  if (busy || mine.length === 0) return;
  busy = true;
  const { key, by } = mine.at(-1);
  const { cell, run_id, stage } = items.get(key);
  try {
    await tell("/api/take-back", { cell, run_id, stage, by });
    mine.pop();
    const earlier = mine.findLast((one) => one.key === key);
    if (earlier) done.set(key, earlier.word);
    else done.delete(key);
    last = null;
    say(`${nameOf(items.get(key))}: your word is taken back.`);
    await go(key);
  } catch (error) {
    say(`Not taken back: ${error.message}`, true);
  } finally {
    busy = false;
  }
}

function setAside() {
  if (current === null || busy) return;
  const from = order.indexOf(current);
  const next = nextOpen(from);
  order.splice(from, 1);
  order.push(current);
  say(`${nameOf(items.get(current))} is set aside; nothing was written.`);
  go(next === current ? nextOpen(-1) : next);
}

const onward = () => go(nextOpen(order.indexOf(current)));

function reasonIs(i) {
  const why = at("why");
  if (why && step?.reasons[i]) why.value = step.reasons[i];
}

async function toggleBlind() {
  blind = !blind;
  keep("trialcell-blind", blind ? "yes" : "no");
  say(blind ? "Blind first: a judge's word comes after yours." : "Not blind: a judge's word is shown at once, and yours is kept as not blind.");
  if (current !== null && step !== null) {
    if (!blind && !told) await reveal(current);
    head();
    ruling();
  }
}

function leave(event) {
  if (event.key === "Enter" || event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    event.target.blur();
  }
}

const KEYS = {
  i: setAside, z: undo, m: toggleBlind, b: () => viewer.blink(), o: () => viewer.lines(),
  "+": () => viewer.zoom(1.5), "=": () => viewer.zoom(1.5), "-": () => viewer.zoom(1 / 1.5), 0: () => viewer.whole(),
  r: () => at("why")?.focus(), "?": () => at("keys").showModal(),
  j: onward, k: () => { const back = order[order.indexOf(current) - 1]; if (back) go(back); },
  Enter: () => done.has(current) && onward(),
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Enter" && event.target.closest?.("button, a, summary")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.repeat && (WORDS[key] || key === "z" || key === "i")) return;
  if (WORDS[key]) rule(WORDS[key]);
  else if (/^[1-5]$/.test(key)) reasonIs(Number(key) - 1);
  else if (KEYS[key]) KEYS[key]();
  else return;
  event.preventDefault();
});

every(2.5, refresh);
