// Clusters: a list, and the selected cluster.

// A picture of a topic or a cluster: an image, or bars of the means of vectors.
function glyph(images, means, id, size, label) {
  if (images && page.content.image) {
    const each = page.content.image[0] * page.content.image[1];
    return pixels(images, id * each, page.content.image, size, label);
  }
  if (!vectors || !means) return null;
  const w = Math.min(vectors.width, 8);
  const width = w * 5;
  return s('svg', { class: 'glyph', width, height: 18, viewBox: `0 0 ${width} 18`, 'aria-hidden': 'true' },
    s('line', { class: 'grid', x1: 0, x2: width, y1: 9, y2: 9 }),
    Array.from({ length: w }, (_, d) => {
      const sd = vectors.overallSd ? vectors.overallSd[d] : 1;
      const t = Math.max(-1, Math.min(1, (means[id * vectors.width + d] - vectors.overallMean[d]) / (sd || 1)));
      return s('rect', { x: d * 5 + 0.5, width: 4, y: t > 0 ? 9 - 9 * t : 9, height: Math.max(1, Math.abs(9 * t)), style: { fill: t > 0 ? 'var(--c1)' : 'var(--c0)' } });
    }));
}

function topicGlyph(m, size) { return glyph(topics.images, vectors && vectors.topicMean, m, size, `topic ${m}`); }

// List on the left, detail on the right; on narrow screens one at a time.
function masterDetail({ name, title, intro, items, sorts, row, rowHeight, detail }) {
  let chosen = null;
  const list = virtualList({
    rowHeight, label: title, row, current: () => chosen, header: [name.slice(0, -1), 'name', name === 'clusters' ? 'groups' : 'share'],
    open: (id) => { window.location.hash = address(name, id); },
  });
  let sortKey = sorts[0][0];
  let query = '';
  const apply = () => {
    const order = sorts.find((one) => one[0] === sortKey)[2];
    const found = items.filter((id) => !query || (name === 'clusters' ? clusterName(id) : topicName(id)).toLowerCase().includes(query));
    list.set([...found].sort((a, b) => order(a, b) || a - b));
    if (chosen !== null) list.show(chosen);
  };
  const filter = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': `Filter ${title.toLowerCase()}`, oninput: () => { query = filter.value.trim().toLowerCase(); apply(); } });
  const side = h('div', { class: 'side' },
    h('div', { class: 'toolbar' }, choice('Order', sorts.map(([key, text]) => [key, text]), sortKey, (key) => { sortKey = key; apply(); }), items.length > 12 && filter, downloadButtons(list.element, title)),
    list.element);
  const body = h('div', { class: 'detail' });
  const element = h('div', { class: 'view master' }, h('h2', { tabindex: '-1' }, title), intro && h('p', { class: 'note' }, intro), h('div', { class: 'split' }, side, body));
  const update = (args) => {
    const given = args[0] === undefined ? null : Number(args[0]);
    chosen = given !== null && items.includes(given) ? given : null;
    element.classList.toggle('has-detail', chosen !== null);
    const visible = chosen === null ? list.items[0] ?? items[0] : chosen;
    body.replaceChildren(
      h('a', { class: 'back', href: address(name) }, `‹ All ${title.toLowerCase()}`),
      visible === undefined ? h('p', {}, `There are no ${title.toLowerCase()} because the groups have no content.`) : detail(visible));
    if (chosen !== null) list.show(chosen); else list.refresh();
  };
  apply();
  update([]);
  return { element, title, update };
}

function stepLinks(name, id, n) {
  const one = (to, text, key) => h('a', { class: 'step', href: address(...name.split('/'), to), 'aria-label': `${text} (${key})`, 'data-key': key, title: `${text}: ${key}` }, key === '[' ? '‹' : '›');
  return h('span', { class: 'steps' }, id > 0 && one(id - 1, 'Previous', '['), id < n - 1 && one(id + 1, 'Next', ']'));
}

// Names given in this page; `mc2 report --labels` stores them in the model.
const givenNames = { clusters: {}, topics: {} };

function nameLine(items, of, id) {
  const line = h('p', { class: 'lead' });
  const show = () => line.replaceChildren(items.names[id] || '', h('button', { type: 'button', class: 'rename no-print', onclick: edit }, 'Rename'),
    ...(Object.keys({ ...givenNames.clusters, ...givenNames.topics }).length ? [h('button', { type: 'button', class: 'rename no-print', title: 'A JSON file for mc2 report --labels', onclick: () => download('labels.json', 'application/json', JSON.stringify(givenNames)) }, 'Save names')] : []));
  const edit = () => {
    const field = h('input', { class: 'rename-field', type: 'text', 'aria-label': 'Name', maxlength: '80' });
    field.value = items.names[id];
    const done = () => { const name = field.value.trim(); if (name && name !== items.names[id]) { items.names[id] = name; givenNames[of][id] = name; } show(); };
    field.addEventListener('keydown', (event) => { if (event.key === 'Enter') field.blur(); if (event.key === 'Escape') { field.value = items.names[id]; field.blur(); } });
    field.addEventListener('blur', done, { once: true });
    line.replaceChildren(field);
    field.focus();
  };
  show();
  return line;
}

function overlapRows(k) {
  if (k >= clusters.nOverlap) return [];
  const n = clusters.nOverlap;
  return Array.from({ length: n }, (_, other) => [other, clusters.overlap[k * n + other]])
    .filter(([other, share]) => other !== k && share >= 0.02).sort((a, b) => b[1] - a[1]).slice(0, 5);
}

function contentOfCluster(k) {
  if (vectors) {
    const at = k * vectors.width;
    return card('Content', null, profile(page.content.dimensions,
      vectors.clusterMean.subarray(at, at + vectors.width), vectors.clusterSd && vectors.clusterSd.subarray(at, at + vectors.width),
      vectors.overallMean, vectors.overallSd, clusterColour(k), 'mean of each dimension'));
  }
  if (clusters.images) return card('Content', `Stronger colours mean more frequent ${page.content.unit}.`, glyph(clusters.images, null, k, 160, `cluster ${k}`));
  if (!clusters.words) return null;
  const found = clusters.words[k];
  const byGroups = found.some((row) => row.length > 2);
  return card('Characteristic words', byGroups ? 'Share of its groups that contain the word.' : 'Frequent in this cluster, and more frequent than overall.',
    h('div', { class: 'chips' }, found.map(([word, lift, share]) => {
      const w = words.vocabulary.indexOf(word);
      const title = byGroups ? `in ${percent(share)} of its groups, ${formatNumber(lift)} times as often as overall` : `${formatNumber(lift)} times as frequent as overall`;
      return h('a', { class: 'chip', href: w >= 0 ? address('words', w) : '#/clusters', title }, word, h('span', { class: 'soft' }, byGroups ? ` ${percent(share)}` : ` ×${formatNumber(lift, 2)}`));
    })));
}

function clusterDetail(k) {
  const stability = clusters.stability[k] / 255;
  const overlap = overlapRows(k);
  const typical = clusters.typical[k];
  const all = groupsOfCluster(k);
  return h('article', {},
    h('header', { class: 'detail-head' }, h('h3', { class: 'big' }, dot(k), `Cluster ${k}`), stepLinks('clusters', k, clusters.n),
      nameLine(clusters, 'clusters', k)),
    h('div', { class: 'tiles small' },
      countTile(plural(clusters.size[k], 'group'), `${percent(clusters.size[k] / clusters.size.reduce((a, b) => a + b, 0))} of all`),
      tile(page.content.unit, formatInteger(clusters.tokens[k]), null),
      tile('stability', percent(stability), stabilityNote(clusters.size[k], 'group', 'cluster'))),
    columns(
      card('Topics', 'Share of its content. Line: range over the draws.',
        bars(clusters.topics[k].slice(0, 10).map(([m, share, low, high]) => ({
          label: topicLink(m), value: share, low, high, colour: clusterColour(k), title: `${percent(share)}; ${percent(low)} to ${percent(high)} in the draws`,
        })))),
      contentOfCluster(k),
      contexts.map((context) => contextBlock(context, 'cluster', k, clusterColour(k))),
      card('Typical groups', groups.groupShares ? 'Groups with high confidence and the topics of the cluster.' : 'Groups with the highest confidence, longest first.', typicalList(typical)),
      card('Overlapping clusters', overlap.length ? 'Probability that a group of each shares a cluster with a group of this one.' : null,
        overlap.length ? bars(overlap.map(([other, share]) => ({ label: clusterLink(other), value: share, colour: clusterColour(other) })), { largest: 1 })
          : h('p', { class: 'note' }, k < clusters.nOverlap ? 'None.' : 'Not computed for small clusters.'))),
    all.length > typical.length && h('div', { class: 'no-print' }, card(`All ${plural(all.length, 'group')}`, 'With the probability of sharing a cluster with the other groups.', groupList(all, `Groups of cluster ${k}`))));
}

function clustersView(args) {
  const byName = (a, b) => clusterName(a).replace(/^\d+ · /, '').localeCompare(clusterName(b).replace(/^\d+ · /, ''));
  const view = masterDetail({
    name: 'clusters',
    title: 'Clusters',
    intro: clusters.names.some((name) => /\d–\d|: not /.test(name)) && 'A range or “not” in the name of a cluster applies to at least half of its groups.',
    items: Array.from({ length: clusters.n }, (_, k) => k),
    sorts: [
      ['size', 'largest first', (a, b) => clusters.size[b] - clusters.size[a]],
      ['stable', 'most stable first', (a, b) => clusters.stability[b] - clusters.stability[a]],
      ['unstable', 'least stable first', (a, b) => clusters.stability[a] - clusters.stability[b]],
      ['name', 'by name', byName],
    ],
    rowHeight: 56,
    row: (k) => h('a', { href: address('clusters', k), class: 'item' },
      clusters.images ? glyph(clusters.images, null, k, 36, '') : dot(k),
      h('span', { class: 'grow' }, h('strong', {}, `Cluster ${k}`), h('span', { class: 'line' }, clusters.names[k] || `${formatInteger(clusters.tokens[k])} ${page.content.unit}`)),
      h('span', { class: 'right' }, formatInteger(clusters.size[k]), meter(clusters.stability[k] / 255, `stability ${percent(clusters.stability[k] / 255)}`))),
    detail: clusterDetail,
  });
  view.update(args);
  return view;
}
