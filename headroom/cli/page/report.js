"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const detail = document.getElementById("detail");
  const drawn = [];
  // A list [n] stands for the value before it n times more.
  const unpacked = (list) => list.flatMap((v, i) => (Array.isArray(v) ? Array(v[0]).fill(list[i - 1]) : [v]));
  for (const section of Object.values(data)) {
    let at = 0;
    section.times = unpacked(section.times).map((step) => (at += step));
    for (const { lines } of section.plots) {
      for (const line of lines) line.values = unpacked(line.values);
      const served = lines.find((line) => line.role === "served");
      for (const line of lines) line.values = line.values.map((v, i) => (v === "=" ? served.values[i] : v));
    }
  }
  const two = (n) => String(n).padStart(2, "0");
  const utc = (s) => new Date(s * 1000);
  const clock = (s) => `${two(utc(s).getUTCHours())}:${two(utc(s).getUTCMinutes())}`;
  const day = (s) => `${two(utc(s).getUTCMonth() + 1)}-${two(utc(s).getUTCDate())}`;
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function figure(value) {
    if (value == null) return "-";
    if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
    return String(Number(value.toPrecision(3)));
  }

  function axisTimes(u, splits, axis, space, step) {
    return splits.map((s, i) => {
      if (step >= 86400) return day(s);
      return i === 0 || s % 86400 === 0 ? `${clock(s)}\n${day(s)}` : clock(s);
    });
  }

  function shade(section) {
    return (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.fillStyle = color("starved");
      for (const [from, to] of section.starved) {
        const x = u.valToPos(from, "x", true);
        ctx.fillRect(x, bbox.top, Math.max(1, u.valToPos(to, "x", true) - x), bbox.height);
      }
      ctx.lineWidth = devicePixelRatio;
      for (const mark of section.marks) {
        const x = Math.round(u.valToPos(mark.at, "x", true)) + 0.5;
        ctx.strokeStyle = color(mark.kind);
        ctx.globalAlpha = mark.kind === "hold" ? 0.3 : 0.6;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    };
  }

  function show(button, marks) {
    detail.replaceChildren();
    for (const mark of marks) {
      const title = document.createElement("strong");
      title.textContent = `${day(mark.at)} ${clock(mark.at)}Z ${mark.label}`;
      title.className = `kind ${mark.kind}`;
      detail.append(title);
      for (const line of mark.lines) {
        const text = document.createElement("p");
        text.textContent = line;
        detail.append(text);
      }
    }
    detail.hidden = false;
    const box = button.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - detail.offsetWidth - 12);
    detail.style.left = `${Math.max(8, left) + scrollX}px`;
    const below = box.bottom + detail.offsetHeight + 12 < innerHeight;
    const top = below ? box.bottom + 6 : Math.max(4, box.top - detail.offsetHeight - 6);
    detail.style.top = `${top + scrollY}px`;
  }

  function flags(u, section) {
    u.over.querySelectorAll(".mark").forEach((old) => old.remove());
    const inside = section.marks.filter((m) => m.at >= u.scales.x.min && m.at <= u.scales.x.max);
    const groups = [];
    for (const mark of inside) {
      const x = u.valToPos(mark.at, "x");
      const last = groups[groups.length - 1];
      if (last && x - last.x < 16) last.marks.push(mark);
      else groups.push({ x, marks: [mark] });
    }
    const rank = ["act", "escalate", "hold", "outcome", "other"];
    for (const { x, marks } of groups) {
      const button = document.createElement("button");
      const kind = rank.find((k) => marks.some((m) => m.kind === k));
      button.type = "button";
      button.className = `mark ${kind}`;
      button.style.left = `${x}px`;
      button.setAttribute("aria-label", marks.map((m) => `${clock(m.at)} ${m.label}`).join("; "));
      for (const event of ["mouseenter", "focus", "click"]) {
        button.addEventListener(event, () => show(button, marks));
      }
      for (const event of ["mouseleave", "blur"]) {
        button.addEventListener(event, () => { detail.hidden = true; });
      }
      for (const event of ["mousedown", "mouseup"]) {
        button.addEventListener(event, (e) => e.stopPropagation());
      }
      u.over.append(button);
    }
  }

  function series(line) {
    const flat = line.role === "limit" || line.name === "price";
    return {
      label: line.name,
      stroke: color(line.role),
      width: line.role === "limit" ? 2 : 1.5,
      dash: line.role === "limit" ? [6, 4] : undefined,
      paths: flat ? uPlot.paths.stepped({ align: 1 }) : undefined,
      fill: line.role === "plain" ? `color-mix(in srgb, ${color("plain")} 12%, transparent)` : undefined,
      points: { show: false },
      value: (u, value) => figure(value),
    };
  }

  function around(section) {
    const instants = section.marks.map((mark) => mark.at);
    const [first, last] = [section.times[0], section.times.at(-1)];
    if (!instants.length) return [first, last];
    const from = Math.max(first, Math.min(...instants) - 3600);
    return [from, Math.min(last, Math.max(...instants) + 3600)];
  }

  function draw(host, key, index) {
    const section = data[key];
    const plot = section.plots[index];
    const axis = { stroke: color("soft"), grid: { stroke: color("rule"), width: 1 },
      ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const hooks = { drawAxes: [shade(section)] };
    if (index === 0) {
      hooks.setScale = [(u, name) => { if (name === "x" && u.over) queueMicrotask(() => flags(u, section)); }];
      hooks.ready = [(u) => flags(u, section)];
      hooks.setSize = [(u) => flags(u, section)];
    }
    const chart = new uPlot({
      width: host.clientWidth, height: 190,
      padding: [14, 12, 0, 0],
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "Etc/UTC"),
      cursor: { sync: { key, scales: ["x", null] }, points: { size: 5 }, drag: { x: true, y: false } },
      scales: { y: { range: (u, low, high) => [0, (high || 1) * 1.08] } },
      axes: [
        { ...axis, values: axisTimes, space: 56, size: 38 },
        { ...axis, size: 58, values: (u, splits) => splits.map(figure) },
      ],
      series: [
        { label: "UTC", value: (u, s) => (s == null ? "-" : `${day(s)} ${clock(s)}`) },
        ...plot.lines.map(series),
      ],
      hooks,
    }, [section.times, ...plot.lines.map((line) => line.values)], host);
    const [from, to] = around(section);
    if (to - from < 0.7 * (section.times.at(-1) - section.times[0])) {
      chart.setScale("x", { min: from, max: to });
    }
    drawn.push({ chart, host });
  }

  function drawIn(group) {
    if (group.dataset.done || group.closest("details:not([open])")) return;
    group.dataset.done = "yes";
    group.querySelectorAll(".plot").forEach((host, index) => draw(host, group.dataset.section, index));
    document.documentElement.dataset.drawn = String(drawn.length);
  }

  function drawAll() {
    for (const { chart } of drawn.splice(0)) chart.destroy();
    for (const group of document.querySelectorAll(".plots")) {
      delete group.dataset.done;
      drawIn(group);
    }
    document.documentElement.dataset.drawn = String(drawn.length);
  }

  function openTarget() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const story = target && target.querySelector("details.story");
    if (story) { story.open = true; target.scrollIntoView(); }
  }

  for (const story of document.querySelectorAll("details.story")) {
    story.addEventListener("toggle", () => story.querySelectorAll(".plots").forEach(drawIn));
  }
  for (const link of document.querySelectorAll(".overview a")) link.addEventListener("click", () => setTimeout(openTarget));
  addEventListener("hashchange", openTarget);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    for (const { chart, host } of drawn) chart.setSize({ width: host.clientWidth, height: 190 });
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") detail.hidden = true; });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", drawAll);
  addEventListener("afterprint", drawAll);
  drawAll();
  openTarget();
})();
