// What makes the pages quicker. Every page works without it: all that is done here is
// also a link or a form.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const typing = (e) => e.target.closest("input, textarea, select, [contenteditable]") !== null;

  // Find, on / and Ctrl-K.
  const palette = $("#palette");
  const openPalette = () => {
    if (!palette || palette.open) return;
    palette.showModal();
    $("#palette-q").select();
  };
  palette?.addEventListener("keydown", (e) => {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    const links = all(".found a", palette);
    if (!links.length) return;
    e.preventDefault();
    const at = links.indexOf(document.activeElement) + (e.key === "ArrowDown" ? 1 : -1);
    (links[at] ?? $("#palette-q")).focus();
  });
  palette?.addEventListener("click", (e) => { if (e.target === palette) palette.close(); });

  // Rows: j and k go through them, Enter opens, x selects. Others are keys of buttons
  // and links that name theirs in data-key.
  const rows = () => all("[data-row]");
  const here = () => rows().find((r) => r.classList.contains("at"));
  const go = (step) => {
    const list = rows();
    if (!list.length) return false;
    const now = here();
    const next = list[Math.max(0, Math.min(list.length - 1, list.indexOf(now) + step))];
    now?.classList.remove("at");
    next.classList.add("at");
    next.scrollIntoView({ block: "nearest" });
    ($("a", next) ?? next).focus({ preventScroll: true });
    return true;
  };
  document.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key === "k") { e.preventDefault(); openPalette(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || palette?.open || typing(e) && e.key !== "Escape") return;
    if (e.key === "Escape" && typing(e)) { e.target.blur(); return; }
    if (e.key === "/") { e.preventDefault(); openPalette(); return; }
    const own = all("[data-key]").find((b) => b.dataset.key === e.key && !b.disabled && b.offsetParent !== null);
    if (own) {
      e.preventDefault();
      if (own.matches("input, textarea, select")) own.focus(); else own.click();
      return;
    }
    if (e.key === "j" && go(1) || e.key === "k" && go(-1)) { e.preventDefault(); return; }
    if (e.key === "x") { const box = here() && $("input[type=checkbox]", here()); if (box) { box.click(); e.preventDefault(); } }
  });

  // A key, a command or a token copies by a click.
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("[data-copy]");
    if (!button) return;
    const text = button.dataset.copy || $(button.dataset.copyFrom)?.textContent;
    try {
      await navigator.clipboard.writeText(text);
      const was = button.textContent;
      button.textContent = "copied";
      setTimeout(() => { button.textContent = was; }, 1500);
    } catch { /* not allowed here: the text can be selected */ }
  });

  // A box that ticks all others.
  document.addEventListener("change", (e) => {
    if (!e.target.matches("[data-all]")) return;
    for (const box of all(`input[name="${e.target.dataset.all}"]`)) box.checked = e.target.checked;
  });

  // A way back that is offered for a while.
  const said = $("#said[data-short]");
  if (said) setTimeout(() => said.querySelector("form")?.remove(), Number(said.dataset.short) * 1000);

  // Live: parts that name an address in data-refresh are fetched again when something
  // changed. A page that nobody looks at holds no connection.
  const offline = $("#offline");
  const away = (is) => { if (offline) offline.hidden = !is; };
  const address = document.body.dataset.live;
  let stream, waiting, quiet, changed = false;
  const refresh = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { changed = false; document.body.dispatchEvent(new CustomEvent("changed")); }, 100);
  };
  const listen = () => {
    if (!address || stream || document.hidden) return;
    stream = new EventSource(address);
    stream.addEventListener("change", () => { changed = true; refresh(); });
    stream.addEventListener("open", () => { clearTimeout(quiet); quiet = undefined; away(false); if (changed) refresh(); });
    stream.addEventListener("error", () => {
      quiet ??= setTimeout(() => away(true), 3000);
      if (stream?.readyState === EventSource.CLOSED) { stream = undefined; setTimeout(listen, 5000); }
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { stream?.close(); stream = undefined; return; }
    if (address) { changed = true; listen(); }
  });
  window.addEventListener("offline", () => away(true));
  window.addEventListener("online", () => { away(false); stream?.close(); stream = undefined; changed = true; listen(); });
  window.addEventListener("pagehide", () => stream?.close());
  listen();

  // Charts are drawn from the tables behind them, in the colours of the style sheet.
  const two = (n) => String(n).padStart(2, "0");
  const written = (seconds, step) => {
    const t = new Date(seconds * 1000);
    return step < 86400 && (t.getHours() || t.getMinutes()) ? `${two(t.getHours())}:${two(t.getMinutes())}` : `${two(t.getMonth() + 1)}-${two(t.getDate())}`;
  };
  const draw = (figure) => {
    const plot = $(".plot", figure), cells = all("tbody tr", figure);
    if (!window.uPlot || !plot || !cells.length) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const heads = all("thead th", figure).slice(1).map((th) => th.textContent);
    const data = [cells.map((r) => Date.parse($("time", r).dateTime) / 1000)];
    heads.forEach((_, i) => data.push(cells.map((r) => Number(all("td", r)[i].dataset.value))));
    plot.replaceChildren();
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    new uPlot({
      width: plot.clientWidth, height: 140, legend: { show: false }, cursor: { show: false },
      scales: { y: { range: (u, min, max) => [0, Math.max(1, max) * 1.05] } },
      axes: [{ ...axis, space: 80, values: (u, splits, i, space, step) => splits.map((t) => written(t, step)) }, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] }],
      series: [{}, ...heads.map((label, i) => ({ label, stroke: colour(["--accent", "--warning", "--good"][i % 3]), width: 1.5, points: { show: false } }))],
    }, data, plot);
  };
  const drawAll = () => all(".chart").forEach(draw);
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let sizing;
  window.addEventListener("resize", () => { clearTimeout(sizing); sizing = setTimeout(drawAll, 150); });
  document.body.addEventListener("htmx:after:swap", drawAll);
})();
