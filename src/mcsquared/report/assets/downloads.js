// Downloads: tables and lists as CSV, charts as SVG or PNG, names as JSON.

function save(name, address) {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
}

function download(name, type, text) { save(name, `data:${type};charset=utf-8,${encodeURIComponent(text)}`); }

function csvOf(rows) {
  // An apostrophe keeps spreadsheets from running a text as a formula.
  const cell = (content) => {
    const value = /^−[\d.]+$/.test(content) ? Number(content.replace('−', '-')) : content;
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

// The texts of an element, one cell for each of its parts.
function cellsOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const cells = [];
  while (walker.nextNode()) if (walker.currentNode.textContent.trim()) cells.push(walker.currentNode.textContent.trim());
  return cells;
}

const LISTED = { table: 'tr', 'ol.plain': 'li', '.chips': '.chip', 'dl.values': 'dt' };

function csvSources(element) {
  return [element, ...element.querySelectorAll('*')].filter((one) => one.csv || one.matches(Object.keys(LISTED).join()));
}

// Rows of the tables and lists in an element: their own `csv`, or their texts.
function csvRows(element) {
  return csvSources(element).flatMap((one) => {
    if (one.csv) return one.csv();
    const kind = Object.keys(LISTED).find((selector) => one.matches(selector));
    const rows = [...one.querySelectorAll(LISTED[kind])];
    if (kind === 'table') return rows.map((row) => [...row.cells].map((cell) => [...cell.childNodes].filter((part) => part.className !== 'sign').map((part) => part.textContent).join('')));
    return [['name', 'value'], ...rows.map((row) => (kind === 'dl.values' ? [row.textContent, cellsOf(row.nextElementSibling).join('; ')] : cellsOf(row)))];
  });
}

function downloadPng(canvas, name) {
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext('2d');
  context.fillStyle = css('--card');
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  save(name, copy.toDataURL('image/png'));
}

// Buttons for the tables and charts that an element contains when they are pressed.
function downloadButtons(element, title) {
  const button = (label, onclick) => h('button', { type: 'button', class: 'download no-print', title: `Download as ${label}`, onclick }, label);
  const canvas = () => (element.matches('canvas') ? element : element.querySelector(':scope > canvas, .painted canvas'));
  return [
    csvSources(element).length > 0 && button('CSV', () => download(fileName(title, 'csv'), 'text/csv', csvOf(csvRows(element)))),
    element.querySelector('.chart:not(.painted)') && button('SVG', () => element.querySelectorAll('.chart svg').forEach((svg) => download(fileName(title, 'svg'), 'image/svg+xml', svgText(svg)))),
    (element.matches('canvas') || element.querySelector(':scope > canvas, .painted')) && button('PNG', () => downloadPng(canvas(), fileName(title, 'png'))),
  ].filter(Boolean);
}
