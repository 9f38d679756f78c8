"use strict";
// Sorts tables by a click on a head, and filters transcripts. Without it everything is shown.

// A number with its unit and interval, as `−0.5 [−1.0, 0.1]` or `81.2 %`; NaN for words.
const number = (text) => parseFloat(text.trim().replace("\u2212", "-"));

// Below 0 where `one` comes first; what is no number is last among numbers, up and down.
function compare(one, other, words, sign) {
  const [a, b] = [number(one), number(other)];
  if (words || (isNaN(a) && isNaN(b))) {
    return sign * one.localeCompare(other, "en", { numeric: true });
  }
  return isNaN(a) ? 1 : isNaN(b) ? -1 : sign * (a - b);
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const text = (row) => row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(text(a), text(b), column === 0, rising ? 1 : -1));
      table.tBodies[0].append(...rows);
    });
  });
}

function filter(group) {
  const tasks = [...document.querySelectorAll("section.task")];
  const boxes = [...group.querySelectorAll("input")];
  const show = () => {
    const asked = boxes.filter((box) => box.checked).map((box) => box.value);
    tasks.forEach((task) => {
      task.hidden = !asked.every((mark) => task.dataset.marks.split(" ").includes(mark));
    });
    const count = tasks.filter((task) => !task.hidden).length;
    group.querySelector("output").textContent = `${count} of ${tasks.length} shown`;
  };
  group.hidden = false;
  group.addEventListener("change", show);
  show();
}

document.querySelectorAll("table").forEach(sortable);
document.querySelectorAll(".filters").forEach(filter);
