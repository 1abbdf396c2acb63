// Topics by context: all topics over a number, shares by value with intervals, differences.

const N_LINES = 8; // coloured topics in a chart
const N_ROWS = 15; // shown in a table; a download has all

// Ranges of whole numbers, means of the bins of other numbers and of dates.
function valueName(c, v) {
  const found = prevalence[c];
  return found.points && !contexts[c].integers ? formatValue(contexts[c], found.points[v], 4) : found.values[v];
}

// All topics over a number, with the interval of the selected one.
function effectCurves(c, selected) {
  const [found, n] = [prevalence[c], topics.n];
  const column = (part, m) => Float32Array.from(found.values, (_, v) => found[part][v * n + m]);
  const chosen = [...new Set([...Array.from({ length: Math.min(N_LINES, n) }, (_, m) => m), selected])];
  const others = Array.from({ length: n }, (_, m) => m).filter((m) => !chosen.includes(m));
  const chart = curves(found.points, [
    ...others.map((m) => ({ values: column('share', m), colour: 'var(--soft)', thin: true, title: topicName(m) })),
    ...chosen.map((m) => ({ values: column('share', m), ...(m === selected ? { low: column('low', m), high: column('high', m), band: 0.15 } : { open: true }), colour: colourOf(m), title: topicName(m) })),
  ],
    { label: `topics by ${contexts[c].name}`, format: (x) => formatValue(contexts[c], x, 3), height: 300, dots: true, scale: true });
  chart.csv = () => [[contexts[c].name, 'topic', 'name', 'share', 'low', 'high'], ...Array.from(found.points).flatMap((x, v) => Array.from({ length: n }, (_, m) => [formatValue(contexts[c], x), m, topics.names[m], ...['share', 'low', 'high'].map((part) => found[part][v * n + m])]))];
  return card(`Topics by ${contexts[c].name}`, `${others.length ? `All ${plural(n, 'topic')}, the ${N_LINES} largest in colour. ` : ''}Band: 95% interval of topic ${selected}, which is chosen below.`, chart,
    h('div', { class: 'legend' }, chosen.map((m) => h('a', { class: 'chip', href: address('topics', m) }, h('span', { class: 'dot', style: { background: colourOf(m) } }), h('span', { class: 'grow' }, topicName(m))))));
}

function effectBars(c, m) {
  const [found, n] = [prevalence[c], topics.n];
  const rows = found.values.map((_, v) => ({
    label: h('span', {}, valueName(c, v)),
    value: found.share[v * n + m], low: found.low[v * n + m], high: found.high[v * n + m], title: plural(found.groups[v], 'group'),
  }));
  return bars(found.points ? rows : rows.sort((a, b) => b.value - a.value));
}

// The difference of two shares, with an interval that assumes that they are independent.
function differenceOf(found, a, b) {
  const half = Math.hypot(found.high[a] - found.low[a], found.high[b] - found.low[b]) / 2;
  const difference = found.share[a] - found.share[b];
  return { difference, low: Math.max(difference - half, -1), high: Math.min(difference + half, 1) };
}

function effectDifferences(c, first, second) {
  const [found, n] = [prevalence[c], topics.n];
  const rows = Array.from({ length: n }, (_, m) => ({ m, ...differenceOf(found, first * n + m, second * n + m) }))
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
  const table = h('table', { class: 'differences' }, h('thead', {}, h('tr', {}, ['topic', 'difference', '95% interval'].map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, rows.slice(0, N_ROWS).map((row) => h('tr', {}, h('th', { scope: 'row' }, topicLink(row.m)),
      h('td', {}, signedPercent(row.difference)), h('td', { class: row.low > 0 || row.high < 0 ? '' : 'soft' }, `${signedPercent(row.low)} to ${signedPercent(row.high)}`)))));
  table.csv = () => [['topic', 'name', 'difference', 'low', 'high'], ...rows.map((row) => [row.m, topics.names[row.m], row.difference, row.low, row.high])];
  return table;
}

// Topics that a value of a context raises or lowers, if the context acts on topics.
function effectTopics(c, v) {
  const [found, n] = [prevalence[c].effects, topics.n];
  const rows = Array.from({ length: n }, (_, m) => ({ m, effect: found.effect[v * n + m], low: found.low[v * n + m], high: found.high[v * n + m] }))
    .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  const table = h('table', { class: 'differences' }, h('thead', {}, h('tr', {}, ['topic', 'effect', '90% interval'].map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, rows.slice(0, N_ROWS).map((row) => h('tr', {}, h('th', { scope: 'row' }, topicLink(row.m)),
      h('td', {}, signedPercent(row.effect)), h('td', { class: row.low > 0 || row.high < 0 ? '' : 'soft' }, `${signedPercent(row.low)} to ${signedPercent(row.high)}`)))));
  table.csv = () => [['topic', 'name', 'effect', 'low', 'high'], ...rows.map((row) => [row.m, topics.names[row.m], row.effect, row.low, row.high])];
  return table;
}

function effectCard(c) {
  const found = prevalence[c].effects;
  const body = h('div', {});
  const update = (v) => body.replaceChildren(card(`Effect of ${contexts[c].name}: ${found.values[v]}`,
    'What the value adds to the topic shares of a group, compared with the average value, whatever its cluster. The largest first.', effectTopics(c, v)));
  update(0);
  const names = found.values.map((value, v) => [String(v), value]);
  return h('div', { class: 'effect' }, h('div', { class: 'toolbar' }, choice('Effect of', names, '0', (v) => update(Number(v)))), body);
}

// Small numbers keep their sign, which tells whether an interval contains zero.
function signedPercent(x) {
  const size = Math.abs(100 * x);
  if (size < 0.0005) return '0.0%';
  return `${x < 0 ? '−' : '+'}${size < 0.1 ? `${size.toFixed(size < 0.005 ? 3 : 2)}%` : percent(Math.abs(x))}`;
}

function effectsView() {
  const usable = prevalence.map((found, c) => (found && found.values.length ? c : -1)).filter((c) => c >= 0);
  let c = usable[0];
  const body = h('div', {});
  const draw = () => {
    const found = prevalence[c];
    const names = found.values.map((_, v) => [String(v), valueName(c, v)]);
    const last = found.points ? found.values.length - 1 : Math.min(1, found.values.length - 1);
    let [m, first, second] = [0, last, 0];
    const [lines, byValue] = [h('div', {}), h('div', {})];
    const difference = h('div', {});
    const update = () => {
      if (found.points && found.values.length > 2) lines.replaceChildren(effectCurves(c, m));
      byValue.replaceChildren(card(`Topic ${topicName(m)} by ${contexts[c].name}`, 'Share of the content. Line: 95% interval.', effectBars(c, m)));
      difference.replaceChildren(found.values.length > 1 ? card(`${names[first][1]} minus ${names[second][1]}`, 'Difference of the topic shares, the largest first; intervals treat the two shares as independent.', effectDifferences(c, first, second)) : '');
    };
    update();
    body.replaceChildren(
      lines,
      columns(
        h('div', {}, h('div', { class: 'toolbar' }, choice('Topic', Array.from({ length: topics.n }, (_, t) => [String(t), topicName(t)]), '0', (t) => { m = Number(t); update(); })), byValue),
        h('div', {}, h('div', { class: 'toolbar' }, choice('Value', names, String(first), (v) => { first = Number(v); update(); }), choice('minus', names, String(second), (v) => { second = Number(v); update(); })), difference)),
      ...(found.effects ? [effectCard(c)] : []));
  };
  draw();
  const element = h('div', { class: 'view' }, h('h2', { tabindex: '-1' }, 'Topics by context'),
    h('p', { class: 'note' }, 'Topic shares of groups by the value of a context. Groups have the topic shares of their clusters; intervals contain the uncertainty of the draws and of the groups.'),
    h('div', { class: 'toolbar' }, choice('Context', usable.map((one) => [String(one), contexts[one].name]), String(c), (next) => { c = Number(next); draw(); })), body);
  return { element, title: 'Effects' };
}
