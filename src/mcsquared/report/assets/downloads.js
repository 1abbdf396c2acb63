// Downloads: tables as CSV, charts as SVG, names as JSON.

function download(name, type, text) {
  const link = document.createElement('a');
  link.href = `data:${type};charset=utf-8,${encodeURIComponent(text)}`;
  link.download = name;
  link.click();
}

function csvOf(rows) {
  // An apostrophe keeps spreadsheets from running a text as a formula.
  const cell = (value) => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? '');
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(',')).join('\r\n');
}

function fileName(title, suffix) { return `${String(title).toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'table'}.${suffix}`; }

// An SVG element with its styles inlined, as text.
function svgText(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'fill-opacity', 'font-size', 'font-family', 'font-weight']) element.style.setProperty(name, style.getPropertyValue(name));
    element.removeAttribute('class');
  });
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(copy);
}

// Buttons for the tables and charts that a card contains; tables have their rows as `csv`.
function downloadButtons(element, title) {
  const tables = [element, ...element.querySelectorAll('*')].filter((one) => one.csv);
  const buttons = [];
  const add = (label, hint, onclick) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'download no-print';
    button.textContent = label;
    button.title = hint;
    button.addEventListener('click', onclick);
    buttons.push(button);
  };
  if (tables.length) add('CSV', 'Download as CSV', () => download(fileName(title, 'csv'), 'text/csv', csvOf(tables.flatMap((one) => one.csv()))));
  if (element.querySelector('.chart')) {
    add('SVG', 'Download as SVG', () => [...element.querySelectorAll('.chart svg')].forEach((svg) => download(fileName(title, 'svg'), 'image/svg+xml', svgText(svg))));
  }
  return buttons;
}
