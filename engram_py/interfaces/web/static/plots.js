// Draws the columns of a page's tables. The table says the same to whoever runs no scripts.
"use strict";
(() => {
  const HEIGHT = 160;
  const STEP = 64; // pixels between two labels
  const compact = new Intl.NumberFormat("en", { notation: "compact" });

  const text = (cell) => cell.textContent.trim().replace(/\s+/g, " ");

  // The rows of a table, oldest first: what each is called, its day, and the text of one of its cells.
  function read(table, column, day) {
    const rows = [...table.tBodies[0].rows].reverse();
    return rows.map(({ cells }) => ({ name: text(cells[0]), day: text(cells[day]), figure: text(cells[column]) }));
  }

  function number(figure) {
    const value = parseFloat(figure.replaceAll(",", ""));
    return Number.isNaN(value) ? null : value;
  }

  // "Mar 23" of 2026-03-23.
  function short(day) {
    const date = new Date(`${day}T00:00Z`);
    return Number.isNaN(date.getTime()) ? day : date.toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" });
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function draw(place) {
    const table = document.getElementById(place.dataset.table);
    const column = Number(place.dataset.column);
    const rows = table ? read(table, column, Number(place.dataset.day)) : [];
    // A plot of nothing says no more than its table.
    place.closest("figure").hidden = !rows.some((row) => number(row.figure));
    if (place.closest("figure").hidden) return null;
    // Where the pointer is nowhere, the latest is shown.
    const at = (index) => rows[index ?? rows.length - 1];
    const head = table.tHead.rows[0].cells;
    const bars = place.dataset.kind === "bars";
    const percent = rows.some((row) => row.figure.endsWith("%"));
    const [ink, soft, line] = ["--link", "--soft", "--line"].map(colour);
    const axis = { stroke: soft, font: "12px system-ui, sans-serif", ticks: { show: false }, grid: { stroke: line, width: 1 } };
    const every = () => Math.max(1, Math.ceil((rows.length * STEP) / (place.clientWidth - 80)));
    return new uPlot(
      {
        width: place.clientWidth,
        height: HEIGHT,
        padding: [null, 24, null, null],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
        scales: {
          x: { time: false, range: () => [-0.5, Math.max(rows.length, 1) - 0.5] },
          y: { range: (_, low, high) => [0, percent ? 100 : Math.max(high || 0, 1) * 1.05] },
        },
        axes: [
          {
            ...axis,
            size: 26,
            gap: 8,
            grid: { show: false },
            splits: () => rows.map((_, index) => index).filter((index) => index % every() === 0),
            values: (_, splits) => splits.map((index) => short(rows[index].day)),
          },
          {
            ...axis,
            size: 48,
            incrs: [1, 2, 5, 10, 20, 25, 50, ...[2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((one) => one * 10 ** power))],
            values: (_, splits) => splits.map((one) => compact.format(one) + (percent ? "%" : "")),
          },
        ],
        series: [
          { label: head[0].textContent, value: (_, index) => at(index).name },
          {
            label: head[column].textContent,
            stroke: ink,
            width: 2,
            fill: bars ? ink : undefined,
            paths: bars ? uPlot.paths.bars({ size: [0.6, 40] }) : undefined,
            points: { show: !bars, size: 5 },
            value: (_, value, __, index) => at(index).figure,
          },
        ],
      },
      [rows.map((_, index) => index), rows.map((row) => number(row.figure))],
      place,
    );
  }

  const places = [...document.querySelectorAll(".plot")];
  let drawn = [];

  function redraw() {
    for (const one of drawn) if (one) one.destroy();
    drawn = places.map(draw);
  }

  document.documentElement.dataset.plots = "on";
  for (const one of places) {
    const caption = one.closest("figure").querySelector("figcaption").textContent;
    one.setAttribute("role", "img");
    one.setAttribute("aria-label", `Plot: ${caption}. The table below says the same.`);
  }
  redraw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let asked = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(redraw);
  });
})();
