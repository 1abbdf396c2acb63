// Contexts: distributions in a cluster, a topic or a type of units, and the values of a group or a unit.

const AXES = { cluster: 'by_cluster', topic: 'by_topic', type: 'by_cluster' };

// A value is characteristic if it is clearly more frequent than overall.
const MIN_LIFT = 1.1;
// In a cluster of more than a few groups, it is also expected in more than one of them.
const [MIN_GROUPS, FEW_GROUPS] = [1.5, 10];

function shortlistRows(context, of, id, byDistinctness) {
  const list = context[AXES[of]];
  const rows = [];
  for (let i = list.first[id]; i < list.first[id + 1]; i += 1) {
    const value = list.values[i];
    const share = list.shares[i];
    const overall = context.overall[value];
    rows.push({ value, share, overall, gain: share * Math.log(Math.max(share, 1e-300) / Math.max(overall, 1e-300)) });
  }
  const size = of === 'topic' ? 0 : context.itemsOf(id).length;
  const minShare = size > FEW_GROUPS ? MIN_GROUPS / size : 0;
  rows.sort(byDistinctness ? (a, b) => b.gain - a.gain : (a, b) => b.share - a.share);
  return rows.filter((row) => !byDistinctness || (row.share > MIN_LIFT * row.overall && row.share >= minShare)).slice(0, 10);
}

// Values of the contexts of groups have pages.
function valueLink(context, value, options = { class: 'link' }, text = context.categories[value]) {
  const label = h('span', {}, text);
  return context.number === undefined ? h('span', options, label) : h('a', { ...options, href: address('values', context.number, value) }, label);
}

function categoryBars(context, of, id, colour) {
  const holder = h('div', {});
  const line = h('p', { class: 'note' }, `${context.kind === 'bag' ? `Share of all values of this ${of}. ` : ''}Line: share in ${of === 'type' ? 'all types' : 'all clusters'}.`);
  const show = (distinct) => {
    const rows = shortlistRows(context, of, id, distinct).map((row) => ({
      label: valueLink(context, row.value),
      value: row.share,
      mark: row.overall,
      colour,
      title: `${percent(row.share)} in this ${of}, ${percent(row.overall)} overall`,
    }));
    holder.replaceChildren(bars(rows, { empty: 'No value is clearly more frequent than overall.' }), rows.length ? line : '');
  };
  const many = context.categories.length > 5;
  show(many);
  return [
    many && switcher('Order of values', [['distinct', 'most characteristic'], ['share', 'most common']], 'distinct', (key) => show(key === 'distinct')),
    holder,
  ];
}

// Histogram of the values of a cluster's groups, scaled to a density.
function observedColumns(context, k) {
  if (context.table !== 'curve' || !context.range || !context.values) return null;
  const [low, high] = context.range;
  const found = context.itemsOf(k).map((j) => context.values[j]).filter(Number.isFinite);
  if (found.length < 2 || !(high > low)) return null;
  const byOne = context.integers && high - low < 40;
  const n = byOne ? Math.round(high - low) + 1 : 20;
  const first = byOne ? low - 0.5 : low;
  const binWidth = byOne ? 1 : (high - low) / n;
  const counts = new Float64Array(n);
  for (const x of found) counts[Math.max(0, Math.min(n - 1, Math.floor((x - first) / binWidth)))] += 1;
  return Array.from(counts, (count, i) => ({ from: first + i * binWidth, to: first + (i + 1) * binWidth, value: count / (found.length * binWidth) }));
}

// The share of a topic as a function of a number.
function byValueChart(context, m) {
  const n = context.byValue.points.length;
  const values = context.byValue.byTopic.subarray(m * n, (m + 1) * n);
  return [
    curves(context.byValue.points, [
      { values: new Float32Array(n).fill(topics.share[m]), colour: 'var(--soft)', faint: true },
      { values, colour: 'var(--accent)' },
    ], { label: `share of topic ${m} by ${context.name}`, format: (x) => formatValue(context, x, 3), dots: true, scale: true, height: 170 }),
    h('p', { class: 'note' }, `Share of all ${page.content.unit} by ${context.name}. Dashed: share overall.`),
  ];
}

function contextBlock(context, of, id, colour) {
  const ofAll = of === 'type' ? 'all types' : 'all clusters';
  const title = h('h3', {}, context.name);
  const missing = of !== 'topic' ? context.missingInCluster[id] : 0;
  const parts = [];
  const block = h('section', { class: 'card context' }, title);
  if (!context.table) {
    block.append(h('p', { class: 'note' }, context.reason || 'No distribution is available for this context.'));
    return block;
  }
  if (context.table === 'categories') {
    parts.push(...categoryBars(context, of, id, colour));
  } else if (context.table === 'vector') {
    const w = context.width;
    const rows = context[AXES[of]];
    const at = id * 2 * w;
    const names = Array.from({ length: w }, (_, d) => `${d}`);
    parts.push(profile(names, rows.subarray(at, at + w), rows.subarray(at + w, at + 2 * w),
      context.overall.subarray(0, w), context.overall.subarray(w, 2 * w), colour, `${context.name}: mean of each dimension`));
  } else {
    const n = context.points.length;
    const mean = context[of === 'topic' ? 'topic_mean' : 'cluster_mean'][id];
    title.append(h('span', { class: 'soft' }, ` mean ${formatValue(context, mean)}`));
    const steps = context.table === 'counts' && n <= 60;
    const columns = of !== 'topic' ? observedColumns(context, id) : null;
    const distribution = () => [curves(context.points, [
      { values: context.overall, colour: 'var(--soft)', faint: true },
      { values: context[AXES[of]].subarray(id * n, (id + 1) * n), colour },
    ], {
      label: `${context.name} in this ${of}, mean ${formatValue(context, mean)}`,
      format: (x) => formatValue(context, x, 3),
      steps,
      columns,
      range: context.range && [context.range[0] - 0.04 * (context.range[1] - context.range[0]), context.range[1] + 0.04 * (context.range[1] - context.range[0])],
    }), h('p', { class: 'note' }, `${columns ? 'Bars: observed values. Line: model. ' : ''}${steps ? 'Grey' : 'Dashed'}: ${ofAll}.`)];
    if (of === 'topic' && context.byValue) {
      const holder = h('div', {});
      const show = (key) => holder.replaceChildren(...(key === 'share' ? byValueChart(context, id) : distribution()));
      show('share');
      parts.push(switcher('Chart', [['share', `share by ${context.name}`], ['distribution', 'distribution']], 'share', show), holder);
    } else parts.push(...distribution());
  }
  if (missing > 0) parts.push(h('p', { class: 'note' }, meter(missing, `missing in ${percent(missing)}`), ` missing in ${percent(missing)} of these ${of === 'type' ? 'units' : 'groups'}`));
  block.append(...parts.filter(Boolean));
  block.prepend(...downloadButtons(block, context.name));
  return block;
}

// The share of missing values of each context in each cluster.
function missingnessMap() {
  const partly = contexts.map((context, c) => [context, c]).filter(([context]) => context.missing >= 0.002);
  if (!partly.length) return null;
  const n = Math.min(clusters.n, 60);
  return card('Missing contexts',
    `Share of groups without the context, by cluster${n < clusters.n ? ` (the ${n} largest)` : ''}; brighter colours mean more.`,
    h('div', { class: 'missing-map' }, partly.map(([context]) => h('div', { class: 'missing-row' },
      h('span', { class: 'missing-name' }, `${context.name} `, h('span', { class: 'soft' }, percent(context.missing))),
      h('span', { class: 'missing-cells' }, Array.from({ length: n }, (_, k) => {
        const share = context.missingInCluster[k];
        return h('a', {
          class: 'missing-cell', href: address('clusters', k), style: { background: scaleColour(share) },
          title: `Cluster ${k}: ${context.name} missing in ${percent(share)}`, 'aria-label': `Cluster ${k}: ${percent(share)} missing`,
        });
      }))))));
}

function groupValue(context, j) {
  if (context.kind === 'bag' && !context.items) return 'too many values for this report';
  if (context.categories) {
    const found = valuesOf(context, j);
    if (!found.length) return h('span', { class: 'soft' }, 'missing');
    return found.map((value) => valueLink(context, value, { class: 'chip' }));
  }
  if (context.kind === 'vector') {
    const w = context.values.length / context.n;
    const row = Array.from(context.values.subarray(j * w, (j + 1) * w));
    if (row.some((x) => !Number.isFinite(x))) return h('span', { class: 'soft' }, 'missing');
    return row.slice(0, 12).map((x) => formatNumber(x)).join(', ') + (w > 12 ? ', …' : '');
  }
  const x = context.values[j];
  if (!Number.isFinite(x)) return h('span', { class: 'soft' }, 'missing');
  const text = formatValue(context, x);
  const value = context.number === undefined ? undefined : distinctValues(context)?.index.get(text);
  return value === undefined ? text : valueLink(context, value, {}, text);
}

function contextValues(found, j) {
  return h('dl', { class: 'values' }, found.map((context) => [h('dt', {}, context.name), h('dd', {}, groupValue(context, j))]));
}
