// What goes on in each cell, asked for again every two seconds.

import { ask, badge, cellNumber, el, every, fill, reviewer, say, showStop, tell } from "./common.js";

const percent = (share) => `${(100 * share).toFixed(1)} %`;

function tile(name, value, remark, kind = "") {
  return el("div", { class: `tile ${kind}` }, el("div", { class: "name" }, name), el("div", { class: "value" }, value), el("div", { class: "remark" }, remark ?? ""));
}

function interval(rate) {
  const bar = el("div", { class: "interval", role: "img", "aria-label": `${percent(rate.low)} to ${percent(rate.high)}` }, el("i", {}), el("b", {}));
  bar.firstChild.style.left = `${100 * rate.low}%`;
  bar.firstChild.style.width = `${100 * (rate.high - rate.low)}%`;
  bar.lastChild.style.left = `${100 * rate.rate}%`;
  return bar;
}

function planned(told) {
  const found = told.planned;
  if (found === null) return null;
  if (found.problem) return el("p", { class: "problem" }, `${found.batch_id}: ${found.problem}`);
  const share = found.of ? (100 * found.done) / found.of : 0;
  const bar = el("progress", { max: found.of, value: found.done, "aria-label": `${found.batch_id}: ${found.done} of ${found.of}` });
  const kinds = Object.entries(found.results).map(([name, count]) => `${count} ${name}`).join(", ");
  const rate = found.success.rate === null ? "" : `, success ${percent(found.success.rate)} (${percent(found.success.low)} to ${percent(found.success.high)})`;
  return el("p", { class: "planned" }, el("b", {}, found.batch_id), ` ${found.done} of ${found.of} starts, ${share.toFixed(0)} %${found.paused ? ", paused" : ""} `, bar, el("br", {}), `${kinds || "none has ended"}${rate}`);
}

function batch(told) {
  if (told.holder === null) return el("p", { class: "quiet" }, "Nothing drives this cell.");
  const { success, n, results, per_hour: perHour, since } = told.batch ?? { n: 0, results: {} };
  const kinds = Object.entries(results).map(([name, count]) => `${count} ${name}`).join(", ");
  const tiles = [tile("trials so far", String(n), kinds || "none has ended")];
  if (success?.rate !== null && success?.rate !== undefined) {
    const made = tile("success so far", percent(success.rate), `${success.yes} of ${success.n}, ${percent(success.low)} to ${percent(success.high)}`, "good");
    made.insertBefore(interval(success), made.lastChild);
    tiles.push(made);
  }
  if (perHour) tiles.push(tile("an hour", perHour.toFixed(0), "trials"));
  return [
    el("p", {}, el("code", {}, told.holder.command), ` since ${since ?? "a moment"} UTC, process ${told.holder.pid} on ${told.holder.host}`),
    el("div", { class: "tiles" }, tiles),
  ];
}

function running(told) {
  return told.running.map((run) =>
    el("p", { class: "now" }, badge("running"), " ", el("b", {}, run.run_id), ` ${run.stage ?? "beginning"}`, run.attempt > 1 ? `, attempt ${run.attempt}` : "", ` since ${run.since ?? "—"}`));
}

function last(told) {
  if (!told.last.length) return el("p", { class: "quiet" }, "No trial has ended here.");
  const names = ["run", "started", "result", "tries", "tip", "took", "why"];
  const right = new Set(["tries", "tip", "took"]);
  const head = el("tr", {}, names.map((name) => el("th", { scope: "col", class: right.has(name) ? "n" : null }, name)));
  const rows = told.last.map((run) =>
    el("tr", {}, el("td", {}, run.result === "unreadable" ? run.run_id : el("a", { href: `/run/${told.cell}/${run.run_id}` }, run.run_id)), el("td", {}, run.started), el("td", {}, badge(run.result)),
      el("td", { class: "n" }, String(run.attempts)), el("td", { class: "n" }, run.tip), el("td", { class: "n" }, run.took), el("td", {}, run.reason ?? "")));
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "last trials" }, el("table", { class: "small" }, el("thead", {}, head), el("tbody", {}, rows)));
}

for (const section of document.querySelectorAll("section[data-cell]")) {
  const cell = Number(section.dataset.cell);
  const box = section.querySelector("div");
  let before = "";
  every(2, async () => {
    const told = await ask(`/api/live/${cell}`);
    const now = JSON.stringify(told);
    if (now === before) return;
    before = now;
    const stop = told.stop
      ? el("p", { class: "problem" }, `Stopped: ${told.stop.why} (by ${told.stop.by}, ${told.stop.at}).`)
      : el("button", { type: "button", class: "stop", onclick: () => halt(cell) }, `Stop ${told.label}`);
    fill(box, planned(told), batch(told), running(told), stop, el("h3", {}, `Last trials, of ${told.runs}`), last(told));
  });
}

async function halt(cell) {
  try {
    const told = await tell("/api/stop", { cell, by: reviewer() || "somebody at the review page" });
    if (cell === cellNumber) showStop(told);
  } catch (error) {
    say(`Not stopped: ${error.message}`, true);
  }
}
