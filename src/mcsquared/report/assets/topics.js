// Topics: words by relevance, contexts, clusters; images or means if there are no words.

let relevance = 0.6; // position of the slider, shared by all topics

// λ ln p(w | topic) + (1 − λ) ln (p(w | topic) / p(w)), after Sievert and Shirley (2014).
function relevantWords(m, lambda, limit) {
  const rows = [];
  for (let i = words.first[m]; i < words.first[m + 1]; i += 1) {
    const w = words.words[i];
    const share = words.shares[i];
    rows.push({ w, share, overall: words.overall[w], score: Math.log(share) - (1 - lambda) * Math.log(words.overall[w]) });
  }
  return rows.sort((a, b) => b.score - a.score).slice(0, limit);
}

function wordCard(m) {
  const holder = h('div', {});
  const output = h('output', {}, relevance.toFixed(1));
  const draw = () => holder.replaceChildren(bars(relevantWords(m, relevance, 24).map((row) => ({
    label: h('a', { class: 'link', href: address('words', row.w) }, words.vocabulary[row.w]),
    value: row.share, mark: row.overall, title: `${percent(row.share)} of this topic, ${percent(row.overall)} overall: ${formatNumber(row.share / row.overall)} times as frequent`,
  }))));
  const slider = h('input', {
    type: 'range', min: '0', max: '1', step: '0.1', value: relevance, id: 'relevance', 'aria-label': 'Relevance: 0 for distinctive words, 1 for frequent words',
    oninput: () => { relevance = Number(slider.value); output.textContent = relevance.toFixed(1); draw(); },
  });
  draw();
  return card('Words', 'Bar: share of the topic. Line: share overall.',
    h('label', { class: 'slider' }, h('span', { class: 'soft' }, 'distinctive'), slider, h('span', { class: 'soft' }, 'frequent'), h('span', { class: 'soft' }, output)), holder);
}

function ellipse(m, x, y, width, height, chosen) {
  const [vx, vy] = [vectors.topicSd[m * vectors.width] ** 2, vectors.topicSd[m * vectors.width + 1] ** 2];
  const cov = vectors.topicCovariance[m];
  const mid = (vx + vy) / 2;
  const root = Math.sqrt(((vx - vy) / 2) ** 2 + cov ** 2);
  const [long, short] = [Math.sqrt(mid + root), Math.sqrt(Math.max(mid - root, 1e-12))];
  const angle = 0.5 * Math.atan2(2 * cov, vx - vy);
  const at = (t) => {
    const [a, b] = [long * Math.cos(t), short * Math.sin(t)];
    return [x(vectors.topicMean[m * vectors.width] + a * Math.cos(angle) - b * Math.sin(angle)), y(vectors.topicMean[m * vectors.width + 1] + a * Math.sin(angle) + b * Math.cos(angle))];
  };
  const points = Array.from({ length: 49 }, (_, i) => at((i * Math.PI) / 24));
  return s('a', { href: address('topics', m), 'aria-label': `Topic ${m}` },
    s('path', {
      d: path(points.map((p) => p[0]), points.map((p) => p[1])),
      style: { fill: chosen ? 'var(--accent)' : 'var(--soft)', 'fill-opacity': chosen ? 0.3 : 0.06, stroke: chosen ? 'var(--accent)' : 'var(--soft)', 'stroke-width': chosen ? 2.5 : 1 },
    }),
    s('text', { class: 'tick', x: x(vectors.topicMean[m * vectors.width]), y: y(vectors.topicMean[m * vectors.width + 1]) + 4, 'text-anchor': 'middle', style: { 'font-weight': chosen ? 700 : 400 } }, m));
}

// All topics in the plane of the first two dimensions, with the selected one highlighted.
function planeCard(m) {
  const w = vectors.width;
  const names = page.content.dimensions;
  return card(`Topics by ${names[0]} and ${names[1]}`, 'Each ellipse contains about 40% of a topic. Click one to open it.', responsive((width) => {
    const height = Math.min(360, width);
    const [left, bottom, gap] = [44, 38, 10];
    const range = (d) => {
      let low = Infinity; let high = -Infinity;
      for (let t = 0; t < topics.n; t += 1) {
        low = Math.min(low, vectors.topicMean[t * w + d] - 1.1 * vectors.topicSd[t * w + d]);
        high = Math.max(high, vectors.topicMean[t * w + d] + 1.1 * vectors.topicSd[t * w + d]);
      }
      return [low, high];
    };
    const [[x0, x1], [y0, y1]] = [range(0), range(1)];
    const x = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - gap);
    const y = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - bottom - gap);
    return s('svg', { width, height, role: 'img', 'aria-label': 'Topics in the plane of the first two dimensions' },
      ticks(x0, x1, 5).map((t) => s('g', {}, s('line', { class: 'grid', x1: x(t), x2: x(t), y1: gap, y2: height - bottom }), s('text', { class: 'tick', x: x(t), y: height - bottom + 15, 'text-anchor': 'middle' }, formatNumber(t)))),
      ticks(y0, y1, 5).map((t) => s('g', {}, s('line', { class: 'grid', x1: left, x2: width - gap, y1: y(t), y2: y(t) }), s('text', { class: 'tick', x: left - 6, y: y(t) + 4, 'text-anchor': 'end' }, formatNumber(t)))),
      s('text', { class: 'tick', x: width / 2, y: height - 4, 'text-anchor': 'middle' }, names[0]),
      s('text', { class: 'tick', x: 12, y: height / 2, 'text-anchor': 'middle', transform: `rotate(-90 12 ${height / 2})` }, names[1]),
      Array.from({ length: topics.n }, (_, t) => t).filter((t) => t !== m).map((t) => ellipse(t, x, y, width, height, false)),
      ellipse(m, x, y, width, height, true));
  }));
}

function contentOfTopic(m) {
  const parts = [];
  if (topics.images) parts.push(card('Image', vectors ? 'Stronger colours mean larger values.' : `Stronger colours mean more frequent ${page.content.unit}.`, topicGlyph(m, 210)));
  if (vectors) {
    const at = m * vectors.width;
    parts.push(card('Content', null, profile(page.content.dimensions, vectors.topicMean.subarray(at, at + vectors.width),
      vectors.topicSd && vectors.topicSd.subarray(at, at + vectors.width), vectors.overallMean, vectors.overallSd, 'var(--accent)', 'mean of each dimension')));
    if (vectors.topicCovariance && topics.n <= 200) parts.push(planeCard(m));
  } else if (!topics.images) parts.push(wordCard(m));
  return parts;
}

function topicDetail(m) {
  const stable = topics.stability[m];
  const coherent = topics.coherence && topics.coherence[m];
  return h('article', {},
    h('header', { class: 'detail-head' }, h('h3', { class: 'big' }, `Topic ${m}`), stepLinks('topics', m, topics.n), nameLine(topics, 'topics', m)),
    h('div', { class: 'tiles small' },
      tile('of the content', percent(topics.share[m]), `${formatInteger(topics.tokens[m])} ${page.content.unit}`),
      Number.isFinite(stable) && tile('stability', percent(stable), 'similarity to its matches in other draws'),
      Number.isFinite(coherent) && tile('coherence', formatNumber(coherent, 2), 'co-occurrence of its words in groups (NPMI, −1 to 1)')),
    columns( contentOfTopic(m),
      card('Clusters', 'Distribution of the topic over clusters. In brackets: its share of the cluster.', bars(topics.clusters[m].slice(0, 10).map(([k, part, share]) => ({
        label: clusterLink(k), value: part, colour: clusterColour(k), text: `${percent(part)} (${percent(share)})`, title: `${percent(part)} of this topic is in cluster ${k}; it makes up ${percent(share)} of the cluster`,
      })))),
      contexts.map((context) => contextBlock(context, 'topic', m, 'var(--accent)')),
      card('Typical groups', groups.groupShares ? 'Groups with the largest share of the topic.' : 'Groups in the clusters with the largest share of the topic.',
        typicalList(topics.typical[m]))));
}

function topicsView(args) {
  const byName = (a, b) => topics.names[a].localeCompare(topics.names[b]);
  const view = masterDetail({
    name: 'topics',
    title: 'Topics',
    intro: topics.n_unlisted > 0 && `${plural(topics.n_unlisted, 'near-empty topic')} not shown.`,
    items: Array.from({ length: topics.n }, (_, m) => m),
    sorts: [
      ['share', 'largest first', (a, b) => topics.share[b] - topics.share[a]],
      ['stable', 'most stable first', (a, b) => (topics.stability[b] ?? 0) - (topics.stability[a] ?? 0)],
      ...(topics.coherence ? [['coherence', 'most coherent first', (a, b) => (topics.coherence[b] ?? -2) - (topics.coherence[a] ?? -2)]] : []),
      ...(topics.names.some(Boolean) ? [['name', 'by name', byName]] : []),
    ],
    rowHeight: topics.images ? 64 : 56,
    row: (m) => h('a', { href: address('topics', m), class: 'item' }, topicGlyph(m, 44),
      h('span', { class: 'grow' }, h('strong', {}, `Topic ${m}`), h('span', { class: 'line' }, topics.names[m] || `${formatInteger(topics.tokens[m])} ${page.content.unit}`)),
      h('span', { class: 'right' }, percent(topics.share[m]), meter(topics.share[m] / topics.share[0], `${percent(topics.share[m])} of the content`))),
    detail: topicDetail,
  });
  view.update(args);
  return view;
}
