// Hierarchies of clusters and of topics: a dendrogram that a slider cuts, and the resulting sets.

// Sets of leaves if there are n of them, by decreasing weight.
function cutHierarchy(found, n) {
  const leaves = found.weight.length;
  const leavesOf = new Map(Array.from({ length: leaves }, (_, leaf) => [leaf, [leaf]]));
  for (let step = 0; step < leaves - n; step += 1) {
    const [a, b] = [found.first[step], found.second[step]];
    leavesOf.set(leaves + step, [...leavesOf.get(a), ...leavesOf.get(b)]);
    leavesOf.delete(a); leavesOf.delete(b);
  }
  const weight = (set) => set.reduce((sum, leaf) => sum + found.weight[leaf], 0);
  return [...leavesOf.values()].map((set) => ({ leaves: set.sort((a, b) => found.weight[b] - found.weight[a] || a - b), weight: weight(set) }))
    .sort((a, b) => b.weight - a.weight || a.leaves[0] - b.leaves[0]);
}

function dendrogram(found, n, nameOf, of) {
  const leaves = found.weight.length;
  const row = 18;
  return responsive((width) => {
    const label = Math.min(260, width * 0.5);
    const [left, right] = [12, width - label];
    const most = Math.max(...found.distance, 1e-9);
    const x = (distance) => right - (distance / most) * (right - left);
    const order = [];
    const walk = (node) => { if (node < leaves) order.push(node); else { walk(found.first[node - leaves]); walk(found.second[node - leaves]); } };
    walk(2 * leaves - 2);
    const y = new Array(2 * leaves - 1);
    order.forEach((leaf, i) => { y[leaf] = row * (i + 0.7); });
    const at = (node) => (node < leaves ? right : x(found.distance[node - leaves]));
    const setOf = new Map();
    cutHierarchy(found, n).forEach((set, i) => set.leaves.forEach((leaf) => setOf.set(leaf, i)));
    const colour = (leaf) => colourOf(setOf.get(leaf));
    const lines = [];
    for (let step = 0; step < leaves - 1; step += 1) {
      const [a, b] = [found.first[step], found.second[step]];
      y[leaves + step] = (y[a] + y[b]) / 2;
      const inside = step < leaves - n;
      let leaf = a; while (leaf >= leaves) leaf = found.first[leaf - leaves];
      lines.push(s('path', { d: `M${at(a)} ${y[a]}H${x(found.distance[step])}V${y[b]}H${at(b)}`, style: { fill: 'none', stroke: inside ? colour(leaf) : 'var(--soft)', 'stroke-width': inside ? 2 : 1 } }));
    }
    return s('svg', { width, height: row * (leaves + 0.6), role: 'img', 'aria-label': `Dendrogram of ${of}` }, lines,
      order.map((leaf) => s('a', { href: address(of, leaf) }, s('circle', { cx: right + 5, cy: y[leaf], r: 4, style: { fill: colour(leaf) } }),
        s('text', { x: right + 14, y: y[leaf] + 4 }, nameOf(leaf).length > label / 7.4 ? `${nameOf(leaf).slice(0, Math.floor(label / 7.4) - 1)}…` : nameOf(leaf)))));
  }, 'dendrogram');
}

// Topics in a plane: areas are shares, similar topics are close.
function topicMap(n) {
  const setOf = new Map();
  cutHierarchy(hierarchies.topics, n).forEach((set, i) => set.leaves.forEach((m) => setOf.set(m, i)));
  return responsive((width) => {
    const height = Math.min(420, width);
    const most = Math.max(...topics.share);
    const radius = (m) => 4 + 22 * Math.sqrt(topics.share[m] / most);
    const x = (v) => width / 2 + v * (width / 2 - 34);
    const y = (v) => height / 2 - v * (height / 2 - 34);
    return s('svg', { width, height, role: 'img', 'aria-label': 'Map of topics' },
      page.topic_positions.map(([a, b], m) => s('a', { href: address('topics', m), 'aria-label': `Topic ${topicName(m)}` },
        s('title', {}, `${topicName(m)}: ${percent(topics.share[m])}`),
        s('circle', { cx: x(a), cy: y(b), r: radius(m), style: { fill: colourOf(setOf.get(m)), 'fill-opacity': 0.35, stroke: colourOf(setOf.get(m)) } }),
        s('text', { class: 'tick', x: x(a), y: y(b) + 4, 'text-anchor': 'middle' }, m))));
  });
}

function hierarchyView() {
  const kinds = ['clusters', 'topics'].filter((of) => hierarchies[of]);
  let of = kinds[0];
  const body = h('div', {});
  const draw = () => {
    const found = hierarchies[of];
    const leaves = found.weight.length;
    const nameOf = of === 'clusters' ? clusterName : topicName;
    const link = of === 'clusters' ? clusterLink : topicLink;
    const unit = of === 'clusters' ? 'group' : page.content.unit.replace(/s$/, '');
    const output = h('output', {});
    const tree = h('div', {});
    const sets = h('div', {});
    const update = (n) => {
      output.textContent = `${n} of ${leaves}`;
      tree.replaceChildren(card('Dendrogram', 'Colours: the sets at the chosen cut.', dendrogram(found, n, nameOf, of)));
      const listed = cutHierarchy(found, n);
      const list = h('ol', { class: 'plain sets' }, listed.map((set, i) => h('li', {}, h('p', {}, h('span', { class: 'dot', style: { background: colourOf(i) } }),
        h('strong', {}, plural(set.weight, unit)), ` in ${plural(set.leaves.length, of.slice(0, -1))}`), set.leaves.map((leaf) => h('div', {}, link(leaf, colourOf(i)))))));
      list.csv = () => [['set', of.slice(0, -1), 'name', unit], ...listed.flatMap((set, i) => set.leaves.map((leaf) => [i, leaf, nameOf(leaf), found.weight[leaf]]))];
      const map = of === 'topics' && page.topic_positions && card('Map of topics', 'Areas are shares of the content; similar topics are close. Click one to open it.', topicMap(n));
      sets.replaceChildren(...[map, card('Sets', null, list)].filter(Boolean));
    };
    const slider = h('input', { type: 'range', id: 'cut', min: '1', max: String(leaves), step: '1', 'aria-label': `Number of sets of ${of}`, oninput: () => update(Number(slider.value)) });
    slider.value = String(Math.min(10, Math.ceil(leaves / 2)));
    update(Number(slider.value));
    body.replaceChildren(h('label', { class: 'slider' }, h('span', { class: 'soft' }, 'fewer'), slider, h('span', { class: 'soft' }, 'more'), output), columns(tree, sets));
  };
  draw();
  const element = h('div', { class: 'view' }, h('h2', { tabindex: '-1' }, 'Hierarchy'),
    h('p', { class: 'note' }, 'Similar clusters, or topics, are merged first. The slider chooses how many remain.'),
    kinds.length > 1 && h('div', { class: 'toolbar' }, switcher('Hierarchy of', kinds.map((kind) => [kind, kind]), of, (next) => { of = next; draw(); })), body);
  return { element, title: 'Hierarchy' };
}
