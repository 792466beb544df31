"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = [];
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const shade = { headroom: "act", published: "offered", none: "soft", reference: "served" };
  const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
  const dollars = (value) => (value == null ? "" : `$${short.format(value)}`);
  const minutes = (value) => (value == null ? "" : short.format(value));

  const overlap = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

  // Beside its point, else on the other side, above or below it, else further up or down.
  function places(x, y, w, h, gap) {
    const found = [[x + gap, y], [x - gap - w, y], [x - w / 2, y - h - gap / 3], [x - w / 2, y + h + gap / 3]];
    for (let by = 1; by <= 3; by++) {
      for (const up of [-1, 1]) found.push([x + gap, y + up * by * h], [x - gap - w, y + up * by * h]);
    }
    return found.map(([left, middle]) => ({ x: left, y: middle - h / 2, w, h }));
  }

  function labels(points) {
    return (u) => {
      const { ctx } = u;
      const px = devicePixelRatio;
      ctx.save();
      ctx.font = `${12 * px}px system-ui, sans-serif`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      const at = points.map((p) => [u.valToPos(p.usd, "x", true), u.valToPos(p.missed, "y", true)]);
      const dots = at.map(([x, y]) => ({ x: x - 6 * px, y: y - 6 * px, w: 12 * px, h: 12 * px }));
      const room = { left: u.bbox.left, right: u.ctx.canvas.width, bottom: u.bbox.top + u.bbox.height };
      const taken = [];
      const order = points.map((_, i) => i).sort((a, b) => (points[b].kind === "headroom") - (points[a].kind === "headroom"));
      for (const i of order) {
        const w = ctx.measureText(points[i].name).width;
        const tried = places(...at[i], w, 14 * px, 10 * px).filter(
          (box) => box.x >= room.left && box.x + w <= room.right && box.y >= 0 && box.y + box.h <= room.bottom);
        const free = tried.find((box) => ![...taken, ...dots.filter((_, j) => j !== i)].some((other) => overlap(box, other)));
        const box = free || tried[0] || places(...at[i], w, 14 * px, 10 * px)[0];
        taken.push(box);
        ctx.fillStyle = color(shade[points[i].kind]);
        ctx.fillText(points[i].name, box.x, box.y + box.h / 2);
      }
      ctx.restore();
    };
  }

  function steps(low, high) {
    const found = [];
    for (let ten = 10 ** Math.floor(Math.log10(low)); ten <= high; ten *= 10) {
      for (const times of [1, 2, 5]) if (ten * times >= low && ten * times <= high) found.push(ten * times);
    }
    return found;
  }

  function decades(first, high) {
    const found = [0];
    for (let ten = first; ten <= high; ten *= 10) found.push(ten);
    return found;
  }

  function draw(host) {
    const points = data[host.dataset.preset].slice().sort((a, b) => a.usd - b.usd || b.missed - a.missed);
    const axis = { stroke: color("soft"), grid: { stroke: color("rule"), width: 1 },
      ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const xs = points.map((p) => p.usd);
    const low = Math.min(...xs) / 1.3;
    const high = Math.max(...xs) * 1.9;
    const top = Math.max(1, ...points.map((p) => p.missed)) * 2;
    const least = Math.min(...points.filter((p) => p.missed > 0).map((p) => p.missed), top);
    const first = 10 ** Math.max(0, Math.floor(Math.log10(least)));
    const front = points.map((p) => (p.front ? p.missed : null));
    const each = points.map((p, i) => points.map((_, j) => (i === j ? p.missed : null)));
    const chart = new uPlot({
      width: host.clientWidth, height: 380, padding: [16, 16, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, distr: 3, range: () => [low, high] },
        y: { distr: 4, asinh: first, range: () => [0, top] },
      },
      axes: [
        { ...axis, size: 32, splits: () => steps(low, high), filter: (u, splits) => splits, values: (u, splits) => splits.map(dollars), label: "storage dollars, all runs", labelFont: axis.font, labelSize: 20 },
        { ...axis, size: 58, splits: () => decades(first, top), filter: (u, splits) => splits, values: (u, splits) => splits.map(minutes), label: "shortfall, minutes", labelFont: axis.font, labelSize: 20 },
      ],
      series: [
        {},
        { stroke: color("plain"), width: 1, dash: [4, 4], spanGaps: true, points: { show: false } },
        ...points.map((p) => ({
          stroke: color(shade[p.kind]), paths: () => null,
          points: { show: true, size: p.kind === "headroom" ? 13 : 9, width: 2,
            stroke: color(shade[p.kind]), fill: p.kind === "reference" ? color("card") : color(shade[p.kind]) },
        })),
      ],
      hooks: { draw: [labels(points)] },
    }, [xs, front, ...each], host);
    drawn.push({ chart, host });
  }

  function drawAll() {
    for (const { chart } of drawn.splice(0)) chart.destroy();
    document.querySelectorAll(".chart").forEach(draw);
  }

  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    for (const { chart, host } of drawn) chart.setSize({ width: host.clientWidth, height: 380 });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll();
  document.documentElement.dataset.drawn = String(drawn.length);
})();
