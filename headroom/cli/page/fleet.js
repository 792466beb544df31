"use strict";
for (const input of document.querySelectorAll("input[data-table]")) {
  const rows = [...document.getElementById(input.dataset.table).tBodies[0].rows];
  const status = input.closest("p").querySelector("[role=status]");
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let left = 0;
    for (const row of rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      left += row.hidden ? 0 : 1;
    }
    status.textContent = wanted ? `${left} of ${rows.length} rows` : "";
  });
}
for (const table of document.querySelectorAll("table.fleet")) {
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[place].dataset.sort;
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        const both = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
        return both ? x - y : x.localeCompare(y);
      };
      const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
      table.tBodies[0].append(...rows);
    });
  });
}
