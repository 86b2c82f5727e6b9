"use strict";
// All that moves on the page: sorting, names, the plane of rows, the calculator. Nothing is fetched or sent, and every
// text enters the page as text, so that names of columns stay names.
(function () {
  const SVG = "http" + ":" + "//www.w3.org/2000/svg";

  // ---- numbers -------------------------------------------------------------------------------------------------
  function bytes(text) {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  }
  function doubles(part) {
    return Array.isArray(part) ? part : Array.from(new Float64Array(bytes(part.f8).buffer));
  }
  function unpacked(axis) {
    const steps = new Int16Array(bytes(axis.data).buffer);
    return Array.from(steps, (s) => (s === -32501 ? NaN : axis.low + (s + 32500) * axis.step));
  }
  function short(value) {
    if (!isFinite(value)) return "–";
    const size = Math.abs(value);
    const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : value.toFixed(size >= 100 ? 1 : 3);
    return text.replace("-", "\u2212");
  }

  // ---- linear algebra of small symmetric matrices --------------------------------------------------------------
  function square(flat, at, k) {
    const m = Array.from({ length: k }, () => new Array(k).fill(0));
    for (let i = 0; i < k; i++) for (let j = i; j < k; j++) m[i][j] = m[j][i] = flat[at++];
    return m;
  }
  function cholesky(m) {
    const n = m.length, l = m.map((row) => row.map(() => 0));
    for (let i = 0; i < n; i++)
      for (let j = 0; j <= i; j++) {
        let sum = m[i][j];
        for (let p = 0; p < j; p++) sum -= l[i][p] * l[j][p];
        l[i][j] = i === j ? Math.sqrt(sum) : sum / l[j][j];
      }
    return l;
  }
  function forward(l, b) {
    const y = [];
    for (let i = 0; i < l.length; i++) {
      let sum = b[i];
      for (let j = 0; j < i; j++) sum -= l[i][j] * y[j];
      y.push(sum / l[i][i]);
    }
    return y;
  }
  function solve(m, b) {
    const l = cholesky(m), y = forward(l, b), x = new Array(b.length).fill(0);
    for (let i = b.length - 1; i >= 0; i--) {
      let sum = y[i];
      for (let j = i + 1; j < b.length; j++) sum -= l[j][i] * x[j];
      x[i] = sum / l[i][i];
    }
    return x;
  }
  function chances(scores) {
    const top = Math.max(...scores), weights = scores.map((s) => Math.exp(s - top));
    const total = weights.reduce((a, b) => a + b, 0);
    return weights.map((w) => w / total);
  }

  // ---- the calculator: a row with NaN for what is unknown to what `transform` answers ---------------------------
  const known = (row) => row.map((x, d) => d).filter((d) => !Number.isNaN(row[d]));

  function evidence(m, row) {
    const k = m.k, size = (k * (k + 1)) / 2, gram = new Array(size).fill(0), drive = new Array(k).fill(0);
    for (const d of known(row)) {
      for (let p = 0; p < size; p++) gram[p] += m.gram[d * size + p];
      for (let i = 0; i < k; i++) drive[i] += m.pull[d * k + i] * row[d] - m.shift[d * k + i];
    }
    return { gram: gram, drive: drive };
  }
  function states(k, score) {
    const all = [];
    for (let s = 0; s < 1 << k; s++) all.push(score(Array.from({ length: k }, (_, i) => (s >> i) & 1)));
    const chance = chances(all), on = new Array(k).fill(0);
    chance.forEach((p, s) => { for (let i = 0; i < k; i++) if ((s >> i) & 1) on[i] += p; });
    return on;
  }
  const ANSWERS = {
    codes(m, row) {
      const e = evidence(m, row);
      return solve(square(e.gram.map((g, p) => g + m.prior[p]), 0, m.k), e.drive);
    },
    switches(m, row) {
      const e = evidence(m, row), g = square(e.gram, 0, m.k);
      return states(m.k, (s) => {
        let score = 0;
        for (let i = 0; i < m.k; i++) {
          if (!s[i]) continue;
          score += m.odds[i] + e.drive[i];
          for (let j = 0; j < m.k; j++) if (s[j]) score -= 0.5 * g[i][j];
        }
        return score;
      });
    },
    causes(m, row) {
      const seen = known(row), d = row.length;
      return states(m.k, (s) => {
        const logits = m.profile.map((p, c) => p + s.reduce((sum, on, i) => sum + on * m.odds[c * m.k + i], 0));
        const top = Math.max(...logits);
        let score = top + Math.log(logits.reduce((sum, l) => sum + Math.exp(l - top), 0));
        for (const j of seen) {
          let dark = m.dark_leak[j], a = m.leak[j];
          for (let i = 0; i < m.k; i++) if (s[i]) { dark += m.dark[i * d + j]; a += m.theta[i * d + j]; }
          score += dark;
          if (row[j] > 0) score += a > 30 ? a + Math.log1p(-Math.exp(-a)) : Math.log(Math.expm1(Math.max(a, 2.3e-308)));
        }
        return score;
      });
    },
    clusters(m, row) {
      const k = m.k, size = row.length * k, scores = m.level.slice();
      for (const d of known(row))
        for (let i = 0; i < k; i++) {
          const at = d * k + i, x = row[d];
          if (m.table[d]) scores[i] += m.table[d].said[x * k + i];
          else scores[i] += m.curve[at] + m.curve[size + at] * x + m.curve[2 * size + at] * x * x;
        }
      return chances(scores);
    },
    joint(m, row) {
      const seen = known(row), d = row.length, size = (d * (d + 1)) / 2;
      return chances(m.level.map((level, k) => {
        if (!seen.length) return level;
        const full = square(m.covariance, k * size, d), l = cholesky(seen.map((i) => seen.map((j) => full[i][j])));
        const y = forward(l, seen.map((i) => row[i] - m.mean[k * d + i]));
        return level - l.reduce((sum, r, i) => sum + Math.log(r[i]), 0) - 0.5 * y.reduce((sum, v) => sum + v * v, 0);
      }));
    },
    regression(m, row) {
      return known(row).length < row.length ? [NaN] : [row.reduce((sum, x, d) => sum + x * m.coef[d], m.intercept)];
    },
  };
  function ready(told) {
    const m = Object.assign({}, told);
    for (const name of Object.keys(m)) if (m[name] && m[name].f8) m[name] = doubles(m[name]);
    if (m.table) m.table = m.table.map((t) => t && Object.assign({}, t, { said: doubles(t.said), values: doubles(t.values) }));
    return m;
  }
  function answer(m, values) {
    const row = values.map((value, d) => {
      if (value === null || Number.isNaN(value)) return NaN;
      if (m.table && m.table[d]) { const at = m.table[d].values.indexOf(value); return at < 0 ? NaN : at; }
      if (m.cut !== null && m.cut !== undefined) return value > m.cut ? 1 : 0;
      return m.origin ? (value - m.origin[d]) / m.scale[d] : value;
    });
    return ANSWERS[m.kind](m, row);
  }

  if (typeof document === "undefined") {
    module.exports = { answer: answer, ready: ready, unpacked: unpacked };
    return;
  }

  // ---- the document ----------------------------------------------------------------------------------------------
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  function draw(tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function choice(label, options, chosen) {
    const select = make("select", {});
    options.forEach((text, i) => select.append(make("option", { value: i }, text)));
    select.value = String(chosen);
    return { box: make("label", {}, label + " ", select), select: select };
  }
  function copied(button, text) {
    const done = () => { const before = button.textContent; button.textContent = "copied"; setTimeout(() => { button.textContent = before; }, 1200); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => window.prompt("", text));
    else window.prompt("", text);
  }

  // ---- tables that are sorted by a click on a heading ------------------------------------------------------------
  function number(cell) {
    if (cell.dataset.v !== undefined) return parseFloat(cell.dataset.v);
    const text = cell.textContent.replace(/\u2212/g, "-").replace(/,/g, "").replace(/[%+]/g, "").trim();
    return text === "" || isNaN(Number(text)) ? NaN : Number(text);
  }
  function sortable(table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0], rows = Array.from(body.rows);
        const keys = new Map(rows.map((row) => [row, number(row.cells[column])]));
        const words = rows.every((row) => isNaN(keys.get(row)));
        rows.sort((a, b) => {
          if (words) return a.cells[column].textContent.localeCompare(b.cells[column].textContent) * (down ? -1 : 1);
          const [x, y] = [keys.get(a), keys.get(b)];
          if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
          return down ? y - x : x - y;
        });
        body.append(...rows);
      });
    });
  }

  // ---- names of components ---------------------------------------------------------------------------------------
  function named(chapter, given, changed) {
    const key = "latens:" + document.title + ":" + chapter.id, names = given.slice();
    try {
      const kept = JSON.parse(localStorage.getItem(key) || "null");
      if (Array.isArray(kept) && kept.length === names.length) kept.forEach((name, k) => { names[k] = String(name); });
    } catch (error) { /* a page from a file may have no storage */ }
    const show = () => {
      chapter.querySelectorAll("[data-k]").forEach((place) => {
        const name = names[Number(place.dataset.k)];
        if (name !== undefined) place.textContent = name;
      });
      changed(names);
    };
    const part = document.getElementById(chapter.id + "-components"), table = part && part.querySelector("table");
    if (table && names.length) {
      Array.from(table.tBodies[0].rows).forEach((row, k) => {
        if (k >= names.length || !row.cells[1].querySelector("[data-k]")) return;
        const input = make("input", { class: "name", "aria-label": "name of component " + k, value: names[k] });
        input.addEventListener("change", () => {
          names[k] = input.value.trim() || given[k];
          input.value = names[k];
          try { localStorage.setItem(key, JSON.stringify(names)); } catch (error) { /* not kept */ }
          show();
        });
        row.cells[1].replaceChildren(input);
      });
      const button = make("button", { type: "button" }, "copy names as Python");
      button.addEventListener("click", () => copied(button, "model.set_component_names(" + JSON.stringify(names) + ")"));
      part.append(make("div", { class: "tools" }, "Names can be changed here; every chart follows.", button));
    }
    show();
    return names;
  }

  // ---- the plane of rows -------------------------------------------------------------------------------------------
  function ticks(low, high) {
    const power = Math.pow(10, Math.floor(Math.log10((high - low) / 6)));
    const step = [1, 2, 5, 10, 20].map((f) => f * power).find((s) => Math.floor(high / s) - Math.ceil(low / s) < 6);
    const found = [];
    for (let i = Math.ceil(low / step); i <= Math.floor(high / step); i++) found.push(Number((i * step).toPrecision(12)));
    return found;
  }
  function plane(part, data) {
    const place = part.querySelector(".plane"), W = 640, H = 420, TOP = 30, RIGHT = 12, BOTTOM = 38;
    const axes = data.axes.map((axis) => ({ name: axis.name, component: axis.component, values: unpacked(axis) }));
    const colours = data.colours.map((c) => ({ name: c.name, levels: c.levels, codes: Array.from(bytes(c.codes), (v) => v - 1) }));
    const n = axes[0].values.length, rowName = (i) => (data.names ? data.names[i] : "row " + (data.first ? data.first[i] : i));
    let names = [], dots = [], at = [], box = null, left = 0, limits = null;
    const across = choice("across", axes.map((a) => a.name), 0), up = choice("up", axes.map((a) => a.name), 1);
    const by = choice("colour", colours.map((c) => c.name).concat("none"), colours.length ? 0 : 0);
    const told = make("div", { class: "told", role: "status" }), key = make("p", { class: "key" });
    part.querySelectorAll(".key.static").forEach((old) => old.remove());
    place.before(make("div", { class: "tools" }, across.box, up.box, by.box, "Drag over rows to count them."));
    place.after(key, told);
    const svg = draw("svg", { class: "chart", viewBox: "0 0 " + W + " " + H, role: "img" });
    const bubble = make("div", { class: "bubble", hidden: "" });
    place.replaceChildren(svg, bubble);
    const title = (axis) => (axis.component === null || names[axis.component] === undefined ? axis.name : names[axis.component]);
    const range = (values) => {
      const there = values.filter((v) => !isNaN(v)), low = Math.min(...there), high = Math.max(...there), m = 0.05 * (high - low) || 0.5;
      return [low - m, high + m];
    };

    function render() {
      const x = axes[across.select.value], y = axes[up.select.value], c = colours[by.select.value];
      limits = { x: range(x.values), y: range(y.values) };
      const yt = ticks(...limits.y);
      left = 14 + 7 * Math.max(...yt.map((t) => String(t).length));
      const px = (v) => left + ((v - limits.x[0]) / (limits.x[1] - limits.x[0])) * (W - RIGHT - left);
      const py = (v) => H - BOTTOM - ((v - limits.y[0]) / (limits.y[1] - limits.y[0])) * (H - BOTTOM - TOP);
      svg.replaceChildren();
      svg.setAttribute("aria-label", title(y) + " by " + title(x));
      svg.append(draw("text", { class: "label y-title", x: left, y: 16 }, title(y)));
      for (const t of yt) {
        svg.append(draw("line", { class: "grid", x1: left, x2: W - RIGHT, y1: py(t), y2: py(t) }));
        svg.append(draw("text", { class: "tick", x: left - 6, y: py(t) + 4, "text-anchor": "end" }, String(t).replace("-", "\u2212")));
      }
      for (const t of ticks(...limits.x))
        svg.append(draw("text", { class: "tick", x: px(t), y: H - BOTTOM + 16, "text-anchor": "middle" }, String(t).replace("-", "\u2212")));
      svg.append(draw("line", { class: "axis", x1: left, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }));
      svg.append(draw("text", { class: "label x-title", x: (left + W - RIGHT) / 2, y: H - 6, "text-anchor": "middle" }, title(x)));
      dots = [];
      at = [];
      for (let i = 0; i < n; i++) {
        at.push([px(x.values[i]), py(y.values[i])]);
        if (isNaN(at[i][0]) || isNaN(at[i][1])) { dots.push(null); continue; }
        const tone = c && c.codes[i] >= 0 ? "tone" + c.codes[i] : c ? "tone_none" : "tone0";
        const dot = draw("circle", { class: "dot " + tone, cx: at[i][0].toFixed(1), cy: at[i][1].toFixed(1), r: 2.6, opacity: 0.65 });
        dots.push(dot);
        svg.append(dot);
      }
      key.replaceChildren();
      if (c) {
        key.append(c.name + ": ");
        c.levels.forEach((level, code) => key.append(make("span", { class: "swatch tone" + code }), level));
        if (c.codes.some((code) => code < 0)) key.append(make("span", { class: "swatch tone_none" }), "unknown");
      }
      count(null);
    }
    function count(area) {
      const c = colours[by.select.value], inside = [];
      at.forEach((p, i) => {
        const within = area && dots[i] && p[0] >= area[0] && p[0] <= area[1] && p[1] >= area[2] && p[1] <= area[3];
        if (within) inside.push(i);
        if (dots[i]) dots[i].classList.toggle("out", Boolean(area) && !within);
      });
      if (!area) { told.textContent = ""; return; }
      let text = inside.length + " of " + dots.filter(Boolean).length + " rows";
      if (c) text += c.levels.map((level, code) => "; " + level + " " + inside.filter((i) => c.codes[i] === code).length).join("");
      told.textContent = text + (inside.length && inside.length <= 12 ? ": " + inside.map(rowName).join(", ") : "");
    }
    function point(event) {
      const r = svg.getBoundingClientRect();
      return [((event.clientX - r.left) / r.width) * W, ((event.clientY - r.top) / r.height) * H, event.clientX - r.left, event.clientY - r.top];
    }
    let start = null;
    svg.addEventListener("pointerdown", (event) => { start = point(event); if (box) box.remove(); box = null; svg.setPointerCapture(event.pointerId); event.preventDefault(); });
    svg.addEventListener("pointermove", (event) => {
      const p = point(event);
      if (start) {
        const area = [Math.min(start[0], p[0]), Math.max(start[0], p[0]), Math.min(start[1], p[1]), Math.max(start[1], p[1])];
        if (!box) { box = draw("rect", { class: "brush" }); svg.append(box); }
        for (const [name, value] of [["x", area[0]], ["y", area[2]], ["width", area[1] - area[0]], ["height", area[3] - area[2]]]) box.setAttribute(name, value);
        count(area);
        return;
      }
      let best = -1, close = 64;
      at.forEach((q, i) => { const d = (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2; if (d < close) { close = d; best = i; } });
      bubble.hidden = best < 0;
      if (best < 0) return;
      const c = colours[by.select.value], x = axes[across.select.value], y = axes[up.select.value];
      bubble.textContent = rowName(best) + "\n" + title(x) + " " + short(x.values[best]) + "\n" + title(y) + " " + short(y.values[best]) +
        (c && c.codes[best] >= 0 ? "\n" + c.name + " " + c.levels[c.codes[best]] : "");
      bubble.style.left = Math.min(p[2] + 12, svg.clientWidth - 140) + "px";
      bubble.style.top = p[3] + 12 + "px";
    });
    svg.addEventListener("pointerup", (event) => { const p = point(event); if (start && Math.hypot(p[0] - start[0], p[1] - start[1]) < 3) count(null); start = null; });
    svg.addEventListener("pointerleave", () => { bubble.hidden = true; });
    for (const one of [across, up, by]) one.select.addEventListener("change", render);
    const save = make("button", { type: "button" }, "download as CSV");
    save.addEventListener("click", () => {
      const quote = (text) => '"' + String(text).replace(/"/g, '""') + '"';
      const lines = [["row"].concat(axes.map(title), colours.map((c) => c.name)).map(quote).join(",")];
      for (let i = 0; i < n; i++)
        lines.push([quote(rowName(i))].concat(axes.map((a) => (isNaN(a.values[i]) ? "" : a.values[i].toPrecision(6))),
          colours.map((c) => (c.codes[i] < 0 ? "" : quote(c.levels[c.codes[i]])))).join(","));
      const link = make("a", { download: "rows.csv", href: URL.createObjectURL(new Blob([lines.join("\n")], { type: "text/csv" })) });
      link.click();
    });
    told.after(make("div", { class: "tools" }, save));
    return (now) => { names = now; render(); };
  }

  // ---- the form of the calculator ----------------------------------------------------------------------------------
  function form(part, told) {
    const m = ready(told), place = part.querySelector(".calculator-place"), fields = make("div", { class: "calculator" });
    part.querySelectorAll(".needs-script").forEach((note) => note.remove());
    const inputs = m.columns.map((name, d) => {
      const words = m.words && m.words[d], levels = (m.table && m.table[d]) || (words && { names: words, values: [0, 1] });
      const input = levels ? make("select", {}, make("option", { value: "" }, "unknown")) : make("input", { type: "text", inputmode: "decimal" });
      if (levels) levels.names.forEach((level, i) => input.append(make("option", { value: String(levels.values[i]) }, level)));
      const start = m.example && m.example[d];
      if (start !== null && start !== undefined) input.value = String(start);
      input.addEventListener("input", show);
      fields.append(make("label", {}, make("span", {}, name), input));
      return input;
    });
    const table = make("table", { class: "answers" }), body = make("tbody", {});
    table.append(body);
    let names = told.names;
    function show() {
      const values = inputs.map((input) => (input.value.trim() === "" ? NaN : Number(input.value.replace(",", "."))));
      const found = answer(m, values), bounded = !["codes", "regression"].includes(m.kind);
      body.replaceChildren(...found.map((value, k) => {
        const cell = make("td", {});
        if (bounded) { const bar = make("span", { class: "meter" }); bar.style.width = (8 * value).toFixed(2) + "rem"; cell.append(bar); }
        const number = make("td", { class: "answer", "data-exact": String(value) }, bounded && value > 0 && value < 1e-3 ? "< 0.001" : short(value));
        return make("tr", {}, make("td", {}, m.kind === "regression" ? "predicted" : names[k]), number, cell);
      }));
    }
    place.append(fields, make("div", { class: "scroll" }, table));
    show();
    return (now) => { names = now; show(); };
  }

  // ---- a word above what is wider than its place -------------------------------------------------------------------
  function tellScrolls() {
    document.querySelectorAll(".scroll").forEach((box) => {
      const old = box.previousElementSibling, told = old && old.classList.contains("scrolls"), wide = box.scrollWidth > box.clientWidth + 1;
      if (wide && !told) box.before(make("p", { class: "scrolls" }, "\u2194 scrolls sideways"));
      if (!wide && told) old.remove();
    });
  }
  window.addEventListener("resize", tellScrolls);
  document.addEventListener("toggle", tellScrolls, true);

  const data = JSON.parse(document.getElementById("page-data").textContent);
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll("a.copy").forEach((link) => {
    const code = document.querySelector(link.getAttribute("href") + " pre.python");
    if (code) link.addEventListener("click", (event) => { event.preventDefault(); copied(link, code.textContent); });
  });
  document.querySelectorAll("pre.copied").forEach((code) => {
    const button = make("button", { type: "button" }, "copy");
    button.addEventListener("click", () => copied(button, code.textContent));
    code.before(make("div", { class: "tools" }, button));
  });
  for (const told of data) {
    const chapter = document.getElementById(told.id), follow = [];
    const at = (name) => document.getElementById(told.id + "-" + name);
    if (told.parts.rows) follow.push(plane(at("rows"), told.parts.rows));
    if (told.parts.calculator) follow.push(form(at("calculator"), told.parts.calculator));
    named(chapter, told.parts.components ? told.parts.components.names : [], (names) => { if (names.length) follow.forEach((f) => f(names)); });
    if (!told.parts.components) follow.forEach((f) => f([]));
  }
  tellScrolls();
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
