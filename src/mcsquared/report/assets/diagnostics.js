// Diagnostics: traces of all chains, R-hat and sample sizes, room for clusters and topics.

function rhatClass(x) { return Number.isFinite(x) ? (x > 1.1 ? 'bad' : x > 1.05 ? 'watch' : 'good') : ''; }
function essClass(x) { return Number.isFinite(x) ? (x < 50 ? 'bad' : x < 200 ? 'watch' : 'good') : ''; }

function scalarTable() {
  const cell = (value, kind, text) => h('td', { class: kind && `graded ${kind}` }, kind && h('span', { class: 'sign', 'aria-label': LEVELS[kind][1] }, LEVELS[kind][0]), text ?? figure(value));
  return h('div', { class: 'scroll' }, h('table', {},
    h('thead', {}, h('tr', {}, ['', 'mean', 'sd', 'R-hat', 'ESS bulk', 'ESS tail'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, page.diagnostics.scalars.map((row) => h('tr', {},
      h('th', { scope: 'row' }, row.label), cell(row.mean), cell(row.sd),
      cell(row.rhat, rhatClass(row.rhat), Number.isFinite(row.rhat) ? row.rhat.toFixed(2) : '–'),
      cell(row.ess_bulk, essClass(row.ess_bulk), Number.isFinite(row.ess_bulk) ? whole(row.ess_bulk) : '–'),
      cell(row.ess_tail, essClass(row.ess_tail), Number.isFinite(row.ess_tail) ? whole(row.ess_tail) : '–'))))));
}

function histogramCard(title, [values, times], consensus) {
  const total = times.reduce((a, b) => a + b, 0);
  const rows = values.map((value, i) => ({ label: h('span', {}, `${value}`, value === consensus && h('span', { class: 'soft' }, ' shown here')), value: times[i] / total }));
  return card(title, 'Share of the kept draws with so many.', bars(rows.length > 14 ? binned(values, times, total) : rows));
}

function binned(values, times, total) {
  const low = values[0];
  const wide = Math.ceil((values[values.length - 1] - low + 1) / 10);
  const rows = [];
  values.forEach((value, i) => {
    const b = Math.floor((value - low) / wide);
    rows[b] = rows[b] || { label: `${low + b * wide} to ${low + (b + 1) * wide - 1}`, value: 0 };
    rows[b].value += times[i] / total;
  });
  return rows.filter(Boolean);
}

function diagnosticsView() {
  const found = page.diagnostics;
  const bounds = { n_clusters: found.bounds.clusters, n_topics: found.bounds.topics };
  const legend = found.n_chains > 1 && h('div', { class: 'legend' }, Array.from({ length: found.n_chains }, (_, i) => h('span', { class: 'chip' }, h('span', { class: 'dot', style: { background: `var(--c${i % 10})` } }), `chain ${i}`)));
  const slots = found.truncation.flatMap((chain) => [
    { label: `chain ${chain.chain}: clusters`, value: chain.clusters / chain.cluster_slots, text: `${whole(chain.clusters)} of ${whole(chain.cluster_slots)}`, colour: `var(--c${chain.chain % 10})` },
    { label: `chain ${chain.chain}: topics`, value: chain.topics / chain.topic_slots, text: `${whole(chain.topics)} of ${whole(chain.topic_slots)}`, colour: `var(--c${chain.chain % 10})` },
  ]);
  const element = h('div', { class: 'view' },
    h('h2', { tabindex: '-1' }, 'Diagnostics'),
    h('ul', { class: 'checks card' }, page.checks.map(checkRow)),
    card('Figures behind it', 'R-hat compares parts of the run: near 1 is agreement, above 1.1 is not. ESS: how many independent draws the run is worth.', scalarTable()),
    h('h3', { class: 'section' }, 'Traces'), h('p', { class: 'note' }, 'After the shaded part (not used) lines should wander around one level, and those of several chains around the same one.'), legend,
    columns( found.traces.map((trace) => h('section', { class: 'card' },
      h('h3', {}, trace.label, bounds[trace.name] && h('span', { class: 'soft' }, ` bound ${bounds[trace.name]}`)), traceChart(trace, bounds[trace.name])))),
    columns(
      histogramCard('Clusters in the draws', found.kept.clusters, clusters.n),
      histogramCard('Topics in the draws', found.kept.topics, topics.n),
      slots.length > 0 && card('Room for clusters and topics', 'The truncation grows by itself; in use at most, of the room made.', bars(slots, { most: 1 }))),
    clusters.nMixed > 1 && card('Which clusters are mixed up', `How often a group of one is with a group of the other, over the draws${clusters.nMixed < clusters.n ? `; the ${clusters.nMixed} largest clusters` : ''}. A clear clustering is bright on the diagonal alone.`,
      matrixChart(clusters.mixedUp, clusters.nMixed, (a, b) => `Clusters ${a} and ${b}: together in ${percent(clusters.mixedUp[a * clusters.nMixed + b])}`, (a) => address('clusters', a))),
    page.notes.length > 0 && card('Notes of the run', null, h('ul', {}, page.notes.map((note) => h('li', {}, note)))));
  return { element, title: 'Diagnostics' };
}
