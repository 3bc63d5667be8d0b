// Tables: click a heading to sort (numbers by value, blanks last), type to filter, show long ones bit by bit.
"use strict";
{
  const collator = new Intl.Collator("en", { numeric: true });

  function key(row, column) {
    const cell = row.cells[column];
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent.trim();
    return value === "" ? null : Number(value);
  }

  function sort(table, column, direction) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    rows.sort(([one], [other]) => {
      if (one === null || other === null) return (one === null) - (other === null);
      const order = typeof one === "number" ? one - other : collator.compare(one, other);
      return direction === "ascending" ? order : -order;
    });
    body.append(...rows.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((cell, index) => {
      if (cell.hasAttribute("aria-sort")) cell.setAttribute("aria-sort", index === column ? direction : "none");
    });
  }

  // Which rows are seen: those that match, and of them only the first few until more are asked for.
  function limit(table) {
    const words = (table.dataset.words || "").toLowerCase().split(/[\s,]+/).filter(Boolean);
    const most = table.dataset.all || words.length ? Infinity : Number(table.dataset.rows);
    let seen = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word)) || seen >= most;
      if (!row.hidden) seen += 1;
    }
  }

  for (const table of document.querySelectorAll("table")) {
    const headings = table.tHead ? [...table.tHead.rows[0].cells] : [];
    headings.forEach((cell, column) => {
      cell.querySelector("button")?.addEventListener("click", () => {
        sort(table, column, cell.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
        if (table.dataset.rows) limit(table);
      });
    });
    const rows = table.tBodies[0].rows.length;
    if (table.dataset.rows && rows > Number(table.dataset.rows)) {
      const more = document.createElement("button");
      more.type = "button";
      more.className = "more";
      more.textContent = `Show all ${rows}`;
      more.addEventListener("click", () => {
        table.dataset.all = "yes";
        limit(table);
        more.remove();
      });
      table.closest(".scroll").after(more);
      limit(table);
    }
  }

  for (const input of document.querySelectorAll("input[data-filters]")) {
    const table = document.getElementById(input.dataset.filters);
    input.addEventListener("input", () => {
      table.dataset.words = input.value;
      limit(table);
    });
  }
}
