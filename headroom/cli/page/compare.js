"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = [];
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const shade = { headroom: "act", published: "offered", none: "soft", reference: "served" };
  const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
  const dollars = (value) => (value == null ? "" : `$${short.format(value)}`);
  const minutes = (value) => (value == null ? "" : short.format(value));

  function labels(points) {
    return (u) => {
      const { ctx } = u;
      ctx.save();
      ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      const taken = [];
      for (const point of points) {
        const x = u.valToPos(point.usd, "x", true);
        let y = u.valToPos(point.starved, "y", true);
        const width = ctx.measureText(point.name).width;
        const left = x + width + 14 * devicePixelRatio > u.bbox.left + u.bbox.width;
        const from = left ? x - width - 10 * devicePixelRatio : x + 10 * devicePixelRatio;
        const high = 13 * devicePixelRatio;
        while (taken.some((t) => Math.abs(t.y - y) < high && from < t.to && t.from < from + width)) y -= high;
        taken.push({ y, from, to: from + width });
        ctx.fillStyle = color(shade[point.kind]);
        ctx.fillText(point.name, from, y);
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

  function decades(high) {
    const found = [0];
    for (let ten = 10; ten <= high; ten *= 10) found.push(ten);
    return found;
  }

  function draw(host) {
    const points = data[host.dataset.preset].slice().sort((a, b) => a.usd - b.usd || b.starved - a.starved);
    const axis = { stroke: color("soft"), grid: { stroke: color("rule"), width: 1 },
      ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const xs = points.map((p) => p.usd);
    const low = Math.min(...xs) / 1.3;
    const high = Math.max(...xs) * 1.9;
    const top = Math.max(1, ...points.map((p) => p.starved)) * 2;
    const front = points.map((p) => (p.front ? p.starved : null));
    const each = points.map((p, i) => points.map((_, j) => (i === j ? p.starved : null)));
    const chart = new uPlot({
      width: host.clientWidth, height: 380, padding: [16, 16, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, distr: 3, range: () => [low, high] },
        y: { distr: 4, asinh: 10, range: () => [0, top] },
      },
      axes: [
        { ...axis, splits: () => steps(low, high), filter: (u, splits) => splits, values: (u, splits) => splits.map(dollars), label: "storage dollars, all runs", labelFont: axis.font, labelSize: 20 },
        { ...axis, size: 58, splits: () => decades(top), filter: (u, splits) => splits, values: (u, splits) => splits.map(minutes), label: "starved minutes", labelFont: axis.font, labelSize: 20 },
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
