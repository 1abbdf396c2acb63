// The map section: layout, colours, legend, the group under the pointer.

// The 2% and 98% quantiles, so that outliers do not determine the colours.
function colourRange(values) {
  const step = Math.max(1, Math.floor(values.length / 5000));
  const known = [];
  for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i])) known.push(values[i]);
  known.sort((a, b) => a - b);
  return [known[Math.floor(0.02 * known.length)] ?? 0, known[Math.ceil(0.98 * (known.length - 1))] ?? 1];
}

function colourChoices() {
  const options = [['cluster', 'cluster'], ['confidence', 'confidence']];
  contexts.forEach((context, c) => {
    if (context.kind === 'vector' || (context.kind === 'bag' && !context.items) || !context.values) return;
    options.push([`context:${c}`, context.name]);
  });
  options.push(['tokens', `number of ${page.content.unit}`]);
  return options;
}

// The class of each group, the colours of the classes, and a legend.
function colouring(choiceKey) {
  const base = Array.from({ length: page.n_colours }, (_, i) => css(`--c${i}`));
  const ramp = Array.from({ length: 24 }, (_, i) => scaleColour(i / 23));
  const missing = css('--line');
  const scaled = (value, low, high, format) => ({
    classOf: (j) => { const x = value(j); return Number.isFinite(x) ? 1 + Math.max(0, Math.min(23, Math.floor(((x - low) / (high - low || 1)) * 24))) : 0; },
    palette: [missing, ...ramp],
    legend: h('div', { class: 'ramp' }, h('span', {}, format(low)),
      h('span', { class: 'ramp-bar', style: { background: `linear-gradient(90deg, ${ramp.join(',')})` } }), h('span', {}, format(high))),
  });
  if (choiceKey === 'confidence') return { base, ...scaled((j) => groups.confidence[j] / 255, 0, 1, percent) };
  if (choiceKey === 'tokens') {
    return { base, ...scaled((j) => groups.tokens[j], ...colourRange(groups.tokens), formatInteger) };
  }
  if (choiceKey.startsWith('context:')) {
    const c = Number(choiceKey.slice(8));
    const context = contexts[c];
    if (!context.categories) {
      const [low, high] = colourRange(context.values);
      return { base, ...scaled((j) => context.values[j], low, high, (x) => formatValue(context, x)) };
    }
    const frequent = Array.from(context.groupsWith, (count, v) => [count, v]).sort((a, b) => b[0] - a[0]).slice(0, 8).map((pair) => pair[1]);
    const index = new Map(frequent.map((v, i) => [v, i + 1]));
    return {
      base,
      classOf: (j) => {
        if (context.kind !== 'bag') return index.get(context.values[j] - 1) || 0;
        for (let i = context.first[j]; i < context.first[j + 1]; i += 1) if (index.has(context.items[i])) return index.get(context.items[i]);
        return 0;
      },
      palette: [missing, ...base.slice(0, 8)],
      legend: h('div', { class: 'legend' }, frequent.map((v, i) => h('a', { class: 'chip', href: address('values', c, v) },
        h('span', { class: 'dot', style: { background: colourOf(i) } }), context.categories[v])), h('span', { class: 'soft' }, 'other values are grey')),
    };
  }
  return { base, classOf: (j) => groups.cluster[j], palette: Array.from(clusters.colour, (c) => base[c]), legend: null };
}

function groupSummary(j) {
  const k = groups.cluster[j];
  const rows = [h('div', { class: 'tip-title' }, groupName(j)),
    h('div', {}, dot(k), `Cluster ${clusterName(k)}, confidence ${percent(groups.confidence[j] / 255)}`)];
  contexts.slice(0, 4).forEach((context) => {
    const value = groupValue(context, j);
    const text = value instanceof Node ? value.textContent : Array.isArray(value) ? value.slice(0, 5).map((v) => v.textContent).join(', ') + (value.length > 5 ? ', …' : '') : String(value);
    rows.push(h('div', { class: 'soft' }, `${context.name}: ${text}`));
  });
  const m = groups.topicsPerGroup ? groups.topic[j * groups.topicsPerGroup] : -1;
  if (m >= 0) rows.push(h('div', { class: 'soft' }, `largest topic: ${topicName(m)} (${percent(groups.topicShare[j * groups.topicsPerGroup] / 255)})`));
  return rows;
}

function mapView(args) {
  const status = h('div', { class: 'map-status', 'aria-live': 'polite' });
  const hint = () => [h('span', { class: 'soft' }, 'Hover over a group for details, click to open it. Click the map first to zoom with the wheel.')];
  const showStatus = (j) => status.replaceChildren(...(j >= 0 ? [h('div', {}, groupLink(j)), ...groupSummary(j).slice(1)] : hint()));
  const map = mapCanvas({
    onhover(j, chosen, x, y) {
      if (j < 0) { hideTip(); return; }
      if (chosen) { hideTip(); showStatus(j); } else showTip(x, y, ...groupSummary(j));
    },
    onopen(j) { hideTip(); window.location.hash = address('groups', j); },
  });
  const legend = h('div', { class: 'map-legend' });
  const nListed = clusters.n > 15 ? 14 : clusters.n;
  const clusterLegend = () => h('div', { class: 'legend' }, Array.from({ length: nListed }, (_, k) => {
    const item = h('a', { class: 'chip', href: address('clusters', k) }, dot(k), h('span', { class: 'grow' }, clusterName(k)), h('span', { class: 'soft' }, formatInteger(clusters.size[k])));
    ['pointerenter', 'focus'].forEach((type) => item.addEventListener(type, () => map.highlight(k)));
    ['pointerleave', 'blur'].forEach((type) => item.addEventListener(type, () => map.highlight(null)));
    return item;
  }), clusters.n > nListed && h('a', { class: 'chip', href: '#/clusters' }, `and ${clusters.n - nListed} more`));
  let key = 'cluster';
  const recolour = (next) => {
    key = next;
    const found = colouring(key);
    map.colourBy(found.classOf, found.palette, key === 'cluster' ? found.base : null);
    legend.replaceChildren(found.legend || clusterLegend());
  };
  const descriptions = {
    clusters: 'Each disc is a cluster with an area proportional to its number of groups; clusters with similar topics are neighbours. Groups with high confidence are in the centre; a group that may belong to another cluster is on that side.',
    topics: 'Groups with similar topics are neighbours. Large distances are not meaningful.',
  };
  const note = h('p', { class: 'note' }, descriptions.clusters);
  const layouts = Object.keys(groups.maps);
  const element = h('div', { class: 'view' },
    h('h2', { tabindex: '-1' }, 'Map of groups'), note,
    h('div', { class: 'toolbar' },
      layouts.length > 1 && switcher('Layout', [['clusters', 'by cluster'], ['topics', 'by topics']], 'clusters', (name) => { note.textContent = descriptions[name]; map.use(name); }),
      choice('Colour by', colourChoices(), 'cluster', recolour),
      h('div', { class: 'switch', role: 'group', 'aria-label': 'Zoom' },
        h('button', { type: 'button', 'aria-label': 'Zoom in', onclick: () => map.zoom(1.5) }, '+'),
        h('button', { type: 'button', 'aria-label': 'Zoom out', onclick: () => map.zoom(1 / 1.5) }, '−'),
        h('button', { type: 'button', onclick: () => map.reset() }, 'reset')),
      downloadButtons(map.element, 'Map of groups')),
    h('div', { class: 'map-frame' }, map.element), status, legend);
  showStatus(-1);
  recolour('cluster');
  const show = (arg) => { if (arg !== undefined && Number(arg) < groups.n) requestAnimationFrame(() => requestAnimationFrame(() => map.show(Number(arg)))); };
  show(args[0]);
  return { element, title: 'Map', update: (next) => show(next[0]), recolour: () => recolour(key), map };
}
