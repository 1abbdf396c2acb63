// Diagnostics: traces of all chains, R-hat and effective sample sizes, truncation.

function rhatClass(x) { return Number.isFinite(x) ? (x > 1.1 ? 'bad' : x > 1.05 ? 'watch' : 'good') : ''; }
function essClass(x) { return Number.isFinite(x) ? (x < 50 ? 'bad' : x < 200 ? 'watch' : 'good') : ''; }

function scalarTable() {
  const cell = (value, kind, text) => h('td', { class: kind && `graded ${kind}` }, kind && h('span', { class: 'sign', 'aria-label': LEVELS[kind][1] }, LEVELS[kind][0]), text ?? formatNumber(value));
  const header = ['', 'mean', 'sd', 'R-hat', 'ESS bulk', 'ESS tail'];
  const table = h('table', {},
    h('thead', {}, h('tr', {}, header.map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, page.diagnostics.scalars.map((row) => h('tr', {},
      h('th', { scope: 'row' }, row.label), cell(row.mean), cell(row.sd),
      cell(row.rhat, rhatClass(row.rhat), Number.isFinite(row.rhat) ? row.rhat.toFixed(2) : '–'),
      cell(row.ess_bulk, essClass(row.ess_bulk), Number.isFinite(row.ess_bulk) ? formatInteger(row.ess_bulk) : '–'),
      cell(row.ess_tail, essClass(row.ess_tail), Number.isFinite(row.ess_tail) ? formatInteger(row.ess_tail) : '–')))));
  table.csv = () => [header, ...page.diagnostics.scalars.map((row) => [row.label, row.mean, row.sd, row.rhat, row.ess_bulk, row.ess_tail])];
  return h('div', { class: 'scroll' }, table);
}

function histogramCard(title, [values, times], consensus) {
  const total = times.reduce((a, b) => a + b, 0);
  const rows = values.map((value, i) => ({ label: h('span', {}, `${value}`, value === consensus && h('span', { class: 'soft' }, ' in this report')), value: times[i] / total }));
  return card(title, 'Share of the kept draws.', bars(rows.length > 14 ? binned(values, times, total) : rows));
}

function binned(values, times, total) {
  const low = values[0];
  const binWidth = Math.ceil((values[values.length - 1] - low + 1) / 10);
  const rows = [];
  values.forEach((value, i) => {
    const b = Math.floor((value - low) / binWidth);
    rows[b] = rows[b] || { label: `${low + b * binWidth} to ${low + (b + 1) * binWidth - 1}`, value: 0 };
    rows[b].value += times[i] / total;
  });
  return rows.filter(Boolean);
}

function diagnosticsView() {
  const found = page.diagnostics;
  const bounds = { n_clusters: found.bounds.clusters, n_topics: found.bounds.topics };
  // The colours of more chains are not told apart.
  const legend = found.n_chains > 1 && found.n_chains <= 12 && h('div', { class: 'legend' }, Array.from({ length: found.n_chains }, (_, i) => h('span', { class: 'chip' }, h('span', { class: 'dot', style: { background: colourOf(i) } }), `chain ${i}`)));
  const slots = (found.truncation ? ['cluster', 'topic'] : []).map((kind) => {
    const [most, of] = [found.truncation[`${kind}s`], found.truncation[`${kind}_slots`]];
    return { label: `${kind}s`, value: most / of, text: `${formatInteger(most)} of ${formatInteger(of)}` };
  });
  const element = h('div', { class: 'view' },
    h('h2', { tabindex: '-1' }, 'Diagnostics'),
    h('ul', { class: 'checks card' }, page.checks.map(checkRow)),
    card('Convergence', 'R-hat compares chains and their halves: 1 means agreement, above 1.1 they disagree. ESS is the effective sample size.', scalarTable()),
    h('h3', { class: 'section' }, 'Traces'), h('p', { class: 'note' }, 'After burn-in (shaded) each line should fluctuate around a constant level, the same for all chains.', found.n_chains > 12 && ` ${found.n_chains} chains.`), legend,
    columns( found.traces.map((trace) => card(trace.label, bounds[trace.name] && `Bound ${bounds[trace.name]}`, traceChart(trace, bounds[trace.name])))),
    columns(
      histogramCard('Clusters in the draws', found.kept.clusters, clusters.n),
      histogramCard('Topics in the draws', found.kept.topics, topics.n),
      slots.length > 0 && card('Truncation', 'Largest number of occupied clusters and topics of a chain, relative to the truncation, which grows automatically.', bars(slots, { largest: 1 }))),
    clusters.nOverlap > 1 && card('Overlap of clusters', `Probability that groups of two clusters share a cluster in a draw${clusters.nOverlap < clusters.n ? `, for the ${clusters.nOverlap} largest clusters` : ''}. In a stable clustering only the diagonal is bright.`,
      matrixChart(clusters.overlap, clusters.nOverlap, (a, b) => `Clusters ${a} and ${b}: ${percent(clusters.overlap[a * clusters.nOverlap + b])}`, (a) => address('clusters', a))),
    page.notes.length > 0 && card('Notes', null, h('ul', {}, page.notes.map((note) => h('li', {}, note)))));
  return { element, title: 'Diagnostics' };
}
