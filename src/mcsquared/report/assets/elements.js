// Elements of the page. Text from the data is inserted as text; markup is never parsed.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, options, children) {
  for (const [name, value] of Object.entries(options || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false || child === '') continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

function h(tag, options, ...children) {
  return fill(document.createElement(tag), options, children);
}

function s(tag, options, ...children) {
  return fill(document.createElementNS(SVG, tag), options, children);
}

// Formatting of numbers -------------------------------------------------------------------------

const integerFormat = new Intl.NumberFormat('en');
const compactFormat = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 6 });
function minus(text) { return text.replace('-', '−'); }
function formatInteger(x) { return minus(integerFormat.format(Math.round(x))); }

function percent(x) {
  if (!Number.isFinite(x)) return '–';
  const hundred = 100 * x;
  if (hundred > 0 && hundred < 0.1) return '<0.1%';
  if (hundred < 10 && hundred !== Math.round(hundred)) return `${hundred.toFixed(1)}%`;
  return `${Math.round(hundred)}%`;
}

function formatNumber(x, digits = 3) {
  if (x === null || !Number.isFinite(x)) return '–';
  if (x === 0) return '0';
  if (Math.abs(x) >= 1e15 || Math.abs(x) < 1e-3) return minus(x.toExponential(2).replace('e+', 'e'));
  if (Math.abs(x) >= 1e6) return minus(compactFormat.format(x));
  if (Math.abs(x) >= 10 ** digits) return formatInteger(x);
  return minus(String(Number(x.toPrecision(digits))));
}

function plural(n, word) { return `${formatInteger(n)} ${word}${n === 1 ? '' : 's'}`; }

function dateOf(days) {
  const date = new Date(days * 86400000);
  return Number.isNaN(date.getTime()) ? '–' : date.toISOString().slice(0, 10);
}

// Format a value of a context: years without commas, dates as dates.
function formatValue(context, x, digits = 4) {
  if (!Number.isFinite(x)) return 'missing';
  if (context.kind === 'date') return dateOf(x);
  if (context.integers && Math.abs(x) < 1e6) return String(Number(x.toFixed(Number.isInteger(x) ? 0 : 1)));
  return formatNumber(x, digits);
}

// Links -----------------------------------------------------------------------------------------

function address(...parts) { return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`; }

// Colours of the palette; more series than colours repeat them.
function colourOf(number) { return `var(--c${number % page.n_colours})`; }
function clusterColour(k) { return colourOf(clusters.colour[k]); }

function dot(k, colour) {
  return h('span', { class: 'dot', style: { background: colour || clusterColour(k) }, 'aria-hidden': 'true' });
}

function clusterName(k) { return clusters.names[k] ? `${k} · ${clusters.names[k]}` : `${k}`; }
function topicName(m) { return topics.names[m] ? `${m} · ${topics.names[m]}` : `${m}`; }

// A bare number would be ambiguous in a list of clusters, words and numbers.
function groupName(j) {
  const name = groups.names[j];
  return /^\d{1,9}$/.test(name) ? `Group ${name}` : name || `Group ${j}`;
}

// Bars and lists are narrow: "Cluster" and "Topic" only if there is no name.
function clusterLink(k, colour) {
  return h('a', { class: 'link', href: address('clusters', k), title: `Cluster ${clusterName(k)}` }, dot(k, colour), h('span', {}, clusters.names[k] ? clusterName(k) : `Cluster ${k}`));
}

function topicLink(m) {
  return h('a', { class: 'link', href: address('topics', m), title: `Topic ${topicName(m)}` }, topicGlyph(m, 18), h('span', {}, topics.names[m] ? topicName(m) : `Topic ${m}`));
}

function groupLink(j) {
  return h('a', { class: 'link', href: address('groups', j) }, dot(groups.cluster[j]), h('span', {}, groupName(j)));
}

// Building blocks -------------------------------------------------------------------------------

function card(title, note, ...children) {
  const element = h('section', { class: 'card' },
    title && h('h3', {}, title), note && h('p', { class: 'note' }, note), ...children);
  if (title) element.prepend(...downloadButtons(element, typeof title === 'string' ? title : title.textContent));
  return element;
}

// Cards in as many columns as fit.
function columns(...children) {
  return h('div', { class: 'columns' }, children.flat(2).filter(Boolean).map((child) => h('div', { class: 'cell' }, child)));
}

function tile(label, value, note) {
  return h('div', { class: 'tile' },
    h('div', { class: String(value).length > 6 ? 'tile-value long' : 'tile-value' }, value), h('div', { class: 'tile-label' }, label),
    note && h('div', { class: 'tile-note' }, note));
}

// A tile with a number of things, such as '1 unit'.
function countTile(counted, note) {
  const [n, ...name] = counted.split(' ');
  return tile(name.join(' '), n, note);
}

// The confidence in a set's only member is the probability that it is alone.
function stabilityNote(n, child, set) {
  return n === 1 ? `probability that its only ${child} is alone in its ${set}` : `probability that two of its ${child}s share a ${set}`;
}

function confidenceNote(n, child, set) {
  return n === 1 ? `is alone in its ${set}` : `shares a ${set} with another ${child} of this ${set}`;
}

function meter(share, label) {
  return h('span', { class: 'meter', role: 'img', 'aria-label': label || percent(share), title: label || percent(share) },
    h('span', { style: { width: `${Math.round(100 * Math.max(0, Math.min(1, share)))}%` } }));
}

function choice(label, options, value, onchange) {
  const select = h('select', { 'aria-label': label, onchange: () => onchange(select.value) },
    options.map(([key, text]) => h('option', { value: key }, text)));
  select.value = value;
  return h('label', { class: 'field' }, h('span', {}, label), select);
}

function switcher(label, options, value, onchange) {
  const buttons = options.map(([key, text]) => h('button', {
    type: 'button', 'aria-pressed': String(key === value), onclick: () => {
      buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(options[i][0] === key)));
      onchange(key);
    },
  }, text));
  return h('div', { class: 'switch', role: 'group', 'aria-label': label }, buttons);
}

// Tooltips follow the pointer; their content is also on the page ------------------------------

const tip = document.getElementById('tip');

function showTip(x, y, ...children) {
  tip.replaceChildren(...children.flat().map((child) => (child instanceof Node ? child : document.createTextNode(child))));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 8);
  const top = y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() { tip.hidden = true; }

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
}

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
