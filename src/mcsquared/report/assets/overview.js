// The overview: key figures, checks, description of the model.

const LEVELS = { good: ['✓', 'Good'], watch: ['!', 'Caution'], bad: ['✕', 'Problem'] };

function checkRow(check) {
  const [sign, word] = LEVELS[check.level];
  return h('li', { class: `check ${check.level}` },
    h('span', { class: 'sign', role: 'img', 'aria-label': word, title: word }, sign),
    h('div', {}, h('strong', {}, check.title), h('p', {}, check.text)));
}

function clusterBars(n) {
  return bars(Array.from({ length: Math.min(n, clusters.n) }, (_, k) => ({
    label: clusterLink(k), value: clusters.size[k], text: formatInteger(clusters.size[k]), colour: clusterColour(k),
    title: `${plural(clusters.size[k], 'group')}, stability ${percent(clusters.stability[k] / 255)}`,
  })));
}

function topicBars(n) {
  return bars(Array.from({ length: Math.min(n, topics.n) }, (_, m) => ({
    label: topicLink(m), value: topics.share[m], title: `${formatInteger(topics.tokens[m])} ${page.content.unit}`,
  })));
}

function relevanceBars() {
  return bars(page.relevance.rows.map((row) => ({
    label: row.context, value: row.mean, low: row.low, high: row.high,
    title: `${percent(row.low)} to ${percent(row.high)} in nine draws of ten`,
  })), { largest: 1, spreadNote: '90% interval' });
}

function overviewView() {
  const notes = page.notes.filter((note) => !/truncation|was reached|chains disagree|converged after|chains are weighted/.test(note));
  const more = (n, name, href) => n > 12 && h('p', { class: 'note' }, h('a', { href }, `All ${n} ${name}`));
  const element = h('div', { class: 'view' },
    h('h2', { tabindex: '-1' }, 'Overview'),
    h('div', { class: 'tiles' }, page.facts.map((fact) => tile(fact.label, fact.value, fact.note))),
    columns(
      h('section', { class: 'card' }, h('h3', {}, 'Reliability'), h('ul', { class: 'checks' }, page.checks.map(checkRow)),
        h('p', { class: 'note' }, h('a', { href: '#/diagnostics' }, 'Traces and diagnostics'))),
      h('section', { class: 'card' }, h('h3', {}, 'Model'), page.model.map((sentence) => h('p', {}, sentence)),
        h('p', {}, 'A ', h('strong', {}, 'cluster'), ' is a set of groups with similar contexts and topics. A ', h('strong', {}, 'topic'),
          ` is a pattern of ${page.content.unit} shared by groups. Their numbers are inferred from the data.`),
        notes.length > 0 && h('details', {}, h('summary', {}, 'Notes on the data'), h('ul', {}, notes.map((note) => h('li', {}, note)))),
        page.limitations.map((text) => h('p', { class: 'note' }, text))),
      card('Largest clusters', 'Number of groups.', clusterBars(12), more(clusters.n, 'clusters', '#/clusters')),
      card('Largest topics', `Share of all ${page.content.unit}.`, topicBars(12), more(topics.n, 'topics', '#/topics')),
      page.relevance.rows.length > 0 && card('What contexts tell about clusters',
        `0%: nothing; 100%: the context alone determines the cluster. ${page.relevance.sentence}`, relevanceBars())),
    missingnessMap());
  return { element, title: 'Overview' };
}
