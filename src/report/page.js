'use strict';
/* Sorting, filters and exact values for report.html. The page is whole without it. */
(function () {
  function make(tag, text) {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    return element;
  }

  /* What a cell sorts by: its exact value where it has one, a number where it shows one, its text; null if absent. */
  function sortKey(cell) {
    if (cell.classList.contains('a')) return null;
    const text = cell.getAttribute('title') || cell.textContent;
    if (!cell.classList.contains('n')) return text;
    const found = /-?(inf|nan|[0-9.]+(e[-+]?[0-9]+)?)/.exec(text);
    const value = found ? parseFloat(found[0].replace('inf', 'Infinity')) : NaN;
    return Number.isNaN(value) ? null : value;
  }

  function compare(a, b) {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a).localeCompare(String(b), 'en', { numeric: true });
  }

  /* Absent cells stay at the end whichever way the column is sorted. */
  function sortTable(table, column, header) {
    const down = header.getAttribute('aria-sort') === 'ascending';
    for (const th of table.tHead.rows[0].cells) th.removeAttribute('aria-sort');
    header.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const rows = Array.from(table.tBodies[0].rows, function (row) {
      return { row: row, key: sortKey(row.cells[column]) };
    });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return down ? compare(b.key, a.key) : compare(a.key, b.key);
    });
    for (const item of rows) table.tBodies[0].appendChild(item.row);
  }

  function addSorting(table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (th, column) {
      const button = make('button', th.textContent);
      button.type = 'button';
      th.textContent = '';
      th.appendChild(button);
      button.addEventListener('click', function () {
        sortTable(table, column, th);
      });
    });
  }

  function columnOf(table, name) {
    return Array.from(table.tHead.rows[0].cells).findIndex(function (th) {
      return th.textContent === name;
    });
  }

  function addField(bar, name, input) {
    const label = make('label', name);
    label.appendChild(input);
    bar.appendChild(label);
    return input;
  }

  function addChoice(bar, name) {
    const values = new Set();
    for (const table of document.querySelectorAll('table.runs')) {
      const column = columnOf(table, name);
      for (const row of table.tBodies[0].rows) values.add(row.cells[column].textContent);
    }
    const select = addField(bar, name, make('select'));
    select.appendChild(new Option('all', ''));
    for (const value of Array.from(values).sort(compare)) {
      select.appendChild(new Option(value.length > 60 ? value.slice(0, 57) + '...' : value, value));
    }
    return { name: name, input: select, part: false };
  }

  function fits(row, table, filter) {
    const wanted = filter.input.value;
    const column = wanted ? columnOf(table, filter.name) : -1;
    if (column < 0) return true;
    const text = row.cells[column].textContent;
    return filter.part ? text.toLowerCase().includes(wanted.toLowerCase()) : text === wanted;
  }

  function applyFilters(tables, filters, output) {
    let shown = 0,
      all = 0;
    for (const table of tables) {
      for (const row of table.tBodies[0].rows) {
        row.hidden = !filters.every(function (filter) {
          return fits(row, table, filter);
        });
        if (!table.classList.contains('runs')) continue;
        all++;
        if (!row.hidden) shown++;
      }
    }
    output.textContent = 'showing ' + shown + ' of ' + all + ' cases';
  }

  function toggleExact(button) {
    const exact = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(exact));
    for (const cell of document.querySelectorAll('td.n[title]')) {
      if (!cell.dataset.rounded) cell.dataset.rounded = cell.textContent;
      cell.textContent = exact ? cell.title : cell.dataset.rounded;
    }
  }

  function addBar(section, tables) {
    const bar = make('div');
    bar.className = 'bar';
    bar.setAttribute('role', 'search');
    bar.setAttribute('aria-label', 'Filter the tables');
    const filters = ['Model', 'Runtime', 'N', 'Verdict'].map(function (name) {
      return addChoice(bar, name);
    });
    const text = make('input');
    text.type = 'search';
    filters.push({ name: 'Case', input: addField(bar, 'Case contains', text), part: true });
    const exact = make('button', 'Exact values');
    exact.type = 'button';
    exact.setAttribute('aria-pressed', 'false');
    exact.addEventListener('click', function () {
      toggleExact(exact);
    });
    bar.appendChild(exact);
    const output = make('output');
    bar.appendChild(output);
    for (const filter of filters) {
      filter.input.addEventListener('input', function () {
        applyFilters(tables, filters, output);
      });
    }
    applyFilters(tables, filters, output);
    section.insertBefore(bar, section.querySelector('.scroll'));
  }

  const tables = Array.from(
    document.querySelectorAll('table.runs, table.heads, table.times, table.places')
  );
  for (const table of document.querySelectorAll('table:not(.kv)')) addSorting(table);
  if (tables.length) addBar(document.getElementById('runs'), tables);
  /* Printed heads of tables are repeated on every page, but buttons in them are not: print the words alone. */
  const headers = Array.from(document.querySelectorAll('thead th')).filter(function (th) {
    return th.querySelector('button');
  });
  const buttons = headers.map(function (th) {
    return th.querySelector('button');
  });
  addEventListener('beforeprint', function () {
    for (const button of buttons) button.replaceWith(button.textContent);
  });
  addEventListener('afterprint', function () {
    headers.forEach(function (th, i) {
      th.replaceChildren(buttons[i]);
    });
  });
})();
