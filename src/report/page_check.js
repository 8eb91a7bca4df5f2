'use strict';
/* What page_check.sh asks of the page in a browser; the answer is one line of text, "page check: ok" or what is wrong. */
(async function () {
  const wrong = window.pageErrors || [];
  function demand(holds, what) {
    if (!holds) wrong.push(what);
  }

  demand(performance.getEntriesByType('resource').length === 0, 'the page asks for other files');
  demand(
    document.documentElement.scrollWidth <= window.innerWidth,
    'the page is wider than the window: ' +
      document.documentElement.scrollWidth +
      ' > ' +
      window.innerWidth
  );

  const table = document.querySelector('table.runs');
  if (table) {
    const headers = Array.from(table.tHead.rows[0].cells);
    const column = headers.findIndex(function (th) {
      return th.textContent === 'N';
    });
    const shown = function () {
      return Array.from(table.tBodies[0].rows).filter(function (r) {
        return !r.hidden;
      });
    };
    const sizes = function () {
      return shown().map(function (r) {
        return Number(r.cells[column].textContent);
      });
    };
    const button = headers[column].querySelector('button');
    button.focus();
    demand(document.activeElement === button, 'a sort button takes no focus');
    button.click();
    demand(
      sizes().every(function (n, i, all) {
        return i === 0 || all[i - 1] <= n;
      }),
      'sorting up does not sort'
    );
    button.click();
    demand(
      sizes().every(function (n, i, all) {
        return i === 0 || all[i - 1] >= n;
      }),
      'sorting down does not sort'
    );
    demand(
      headers[column].getAttribute('aria-sort') === 'descending',
      'the sorted column does not say so'
    );
    const verdict = Array.from(document.querySelectorAll('.bar label'))
      .find(function (l) {
        return l.firstChild.textContent === 'Verdict';
      })
      .querySelector('select');
    const choice = verdict.options[verdict.options.length - 1].value;
    verdict.value = choice;
    verdict.dispatchEvent(new Event('input'));
    const at = headers.findIndex(function (th) {
      return th.textContent === 'Verdict';
    });
    demand(
      shown().length > 0 &&
        shown().every(function (r) {
          return r.cells[at].textContent === choice;
        }),
      'the filter does not filter'
    );
    verdict.value = '';
    verdict.dispatchEvent(new Event('input'));
    const cell = table.querySelector('td.n[title]');
    const exact = document.querySelector('.bar button');
    if (cell) {
      exact.click();
      demand(cell.textContent === cell.title, 'exact values are not shown');
      exact.click();
    }
  }
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  const found = await window.axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  });
  for (const v of found.violations) {
    wrong.push(
      v.id +
        ' (' +
        v.impact +
        ', ' +
        v.nodes.length +
        '): ' +
        v.help +
        ': ' +
        v.nodes
          .slice(0, 3)
          .map(function (n) {
            return n.target.join(' ') + ' ' + n.failureSummary;
          })
          .join(' | ')
    );
  }
  const answer = document.createElement('pre');
  answer.textContent =
    'page check: ' + (wrong.length ? wrong.join('; ').replace(/\s+/g, ' ') : 'ok');
  document.body.appendChild(answer);
  if (window.parent !== window) window.parent.postMessage(answer.textContent, '*');
})();
