(function () {
  "use strict";
  function value(cell) {
    var text = cell ? cell.textContent.trim() : "";
    var plain = text.replace(/[,%\s<+]/g, "").replace(/−/g, "-").replace("∞", "Infinity");
    if (text === "–" || text === "") { return { number: NaN, text: "", missing: true }; }
    return { number: plain === "" ? NaN : Number(plain), text: text, missing: false };
  }
  function compare(a, b) {
    if (a.missing || b.missing) { return a.missing - b.missing; }
    if (!isNaN(a.number) && !isNaN(b.number)) { return a.number < b.number ? -1 : a.number > b.number ? 1 : 0; }
    return a.text.localeCompare(b.text, undefined, { numeric: true });
  }
  function sort(table, column, down) {
    var body = table.tBodies[0];
    var limit = body.querySelectorAll("tr:not(.rest)").length;
    var rows = Array.prototype.map.call(body.rows, function (row, i) {
      return { row: row, key: value(row.cells[column]), at: i };
    });
    rows.sort(function (a, b) {
      if (a.key.missing || b.key.missing) { return compare(a.key, b.key) || a.at - b.at; }
      return (down ? -1 : 1) * compare(a.key, b.key) || a.at - b.at;
    });
    rows.forEach(function (r, i) { r.row.classList.toggle("rest", i >= limit); body.appendChild(r.row); });
  }
  document.querySelectorAll("table.sorts").forEach(function (table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
      var button = document.createElement("button");
      button.type = "button";
      button.title = "Sort";
      while (head.firstChild) { button.appendChild(head.firstChild); }
      head.appendChild(button);
      button.addEventListener("click", function () {
        var before = head.getAttribute("aria-sort");
        var down = before ? before === "ascending" : head.classList.contains("n");
        Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, column, down);
      });
    });
  });
})();
