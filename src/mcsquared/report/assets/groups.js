// Groups: the list of all groups and the selected one; pages of words and of context values.

function similarGroups(j, limit) {
  // Cosine of the largest topic shares, among groups of the same cluster.
  const each = groups.topicsPerGroup;
  const shareOfTopic = new Map();
  for (let i = j * each; i < (j + 1) * each; i += 1) shareOfTopic.set(groups.topic[i], groups.topicShare[i]);
  const best = [];
  for (const other of groupsOfCluster(groups.cluster[j])) {
    if (other === j) continue;
    let product = 0; let square = 0;
    for (let i = other * each; i < (other + 1) * each; i += 1) {
      const share = groups.topicShare[i];
      square += share * share;
      if (shareOfTopic.has(groups.topic[i])) product += share * shareOfTopic.get(groups.topic[i]);
    }
    const score = square > 0 ? product / Math.sqrt(square) : 0;
    if (best.length < limit || score > best[best.length - 1][1]) {
      best.push([other, score]);
      best.sort((a, b) => b[1] - a[1]);
      if (best.length > limit) best.pop();
    }
  }
  return best;
}

// Words, also with the mark of a hashtag, and emojis, which may be words of the model.
const WORD = /([#@]?[\p{L}\p{M}\p{N}_]+(?:['’]t)?|[\u{1f1e6}-\u{1faff}\u2600-\u27bf])/u;

function numberOfWord(text) {
  return words.index.get(text) ?? words.index.get(text.toLowerCase()) ?? (/^[#@]/.test(text) ? numberOfWord(text.slice(1)) : undefined);
}

// The lines of a text, each with the number of its word if it is one, such as "oil lamp ×2".
function linesOf(text) {
  return text.split(/(\n)/).flatMap((line) => {
    const w = numberOfWord(line.replace(/ ×\d+$/, ''));
    return w === undefined ? wordsOf(line) : [[line, w]];
  });
}

// The parts of a text, each with the number of its word; characters of scripts without spaces have
// the word of the pair that they begin or end.
function wordsOf(text) {
  const parts = [];
  text.split(WORD).forEach((part, i) => {
    const w = i % 2 ? numberOfWord(part) : undefined;
    if (w !== undefined || !/[\u0e00-\u109f\u1780-\u17ff\u3040-\u9fff]/u.test(part)) {
      parts.push([part, w]);
      return;
    }
    const letters = [...part];
    letters.forEach((letter, j) => parts.push([letter, words.index.get(letter + letters[j + 1]) ?? words.index.get(letters[j - 1] + letter)]));
  });
  return parts;
}

// The text of a group; words have the colour of the group's topic they most probably belong to.
function documentCard(j, topicRows) {
  const text = page.texts && page.texts[j];
  if (!text || !words) return null;
  const topicColour = new Map(topicRows.slice(0, 6).map((row) => [row.m, colourOf(row.m)]));
  if (!words.index) words.index = new Map(words.vocabulary.map((word, w) => [word, w]));
  const marked = linesOf(text).map(([part, w]) => {
    if (w === undefined) return part;
    let best = -1; let most = 0;
    for (let a = w * words.topicsPerWord; a < (w + 1) * words.topicsPerWord; a += 1) {
      const weight = words.topicShare[a] * topicShareOf(j, words.topicOfWord[a]) / Math.max(topics.share[words.topicOfWord[a]], 1e-9);
      if (weight > most) { most = weight; best = words.topicOfWord[a]; }
    }
    return topicColour.has(best) ? h('mark', { style: { 'border-color': topicColour.get(best) }, title: `Topic ${topicName(best)}` }, part) : part;
  });
  return h('section', { class: 'card' }, h('h3', {}, 'Text'),
    h('div', { class: 'legend' }, topicRows.slice(0, 6).map((row) => h('a', { class: 'chip', href: address('topics', row.m) }, h('span', { class: 'dot', style: { background: colourOf(row.m) } }), h('span', { class: 'grow' }, topicName(row.m))))),
    h('div', { class: 'document', tabindex: '0' }, marked));
}

function groupDetail(j) {
  const k = groups.cluster[j];
  const confidence = groups.confidence[j] / 255;
  const choices = [];
  for (let i = j * groups.choicesPerGroup; i < (j + 1) * groups.choicesPerGroup; i += 1) {
    if (groups.choice[i] > 0) choices.push([groups.choice[i] - 1, groups.choiceProbability[i] / 255]);
  }
  const topicRows = [];
  for (let i = j * groups.topicsPerGroup; i < (j + 1) * groups.topicsPerGroup; i += 1) {
    if (groups.topicShare[i] > 0) topicRows.push({ m: groups.topic[i], label: topicLink(groups.topic[i]), value: groups.topicShare[i] / 255 });
  }
  const number = groups.numbers ? groups.numbers[j] : j;
  const similar = groups.groupShares ? similarGroups(j, 8) : [];
  return h('article', {},
    h('header', { class: 'detail-head' }, h('h3', { class: 'big' }, groupName(j)),
      h('p', { class: 'note' }, h('span', { title: 'starting from 0' }, `row ${number} of the data`), ` · ${formatInteger(groups.tokens[j])} ${page.content.unit} · `, h('a', { href: address('map', j) }, 'show on the map'), parentsOf(levels[0], j))),
    documentCard(j, topicRows),
    columns(
      card('Cluster', null, h('p', {}, clusterLink(k)),
        isUnsettled(j) && h('p', { class: 'unsettled' }, h('strong', {}, 'Unsettled: '), 'no cluster has half of its probability; this one is the most probable.'),
        h('p', { class: 'note' }, meter(confidence, `confidence ${percent(confidence)}`), ` ${confidenceNote(clusters.size[k], 'group', 'cluster')} with probability ${percent(confidence)}`),
        choices.length > 1 && [h('h4', {}, 'Probability of each cluster'), bars(choices.map(([c, share]) => ({ label: clusterLink(c), value: share, colour: clusterColour(c) })), { largest: 1 })]),
      card('Topics', `${groups.groupShares && groups.tokens[j] ? 'Share of its content' : 'Topics of its clusters'}${topicRows.length < topics.n && topicRows.length > 1 ? `, the ${topicRows.length} largest` : ''}.`, bars(topicRows)),
      contexts.length > 0 && card('Contexts', null, contextValues(contexts, j)),
      similar.length > 0 && card('Similar groups', 'Same cluster, similar topics.', h('ol', { class: 'plain' }, similar.map(([other]) => h('li', {}, groupRow(other, percent(groups.confidence[other] / 255))))))));
}

function groupsView(args) {
  let chosen = null;
  let key = 'order';
  const list = virtualList({
    rowHeight: 38, label: 'Groups', current: () => chosen, row: (j) => groupRow(j, groupStatus(j)),
    open: (j) => { window.location.hash = address('groups', j); },
  });
  const sorts = {
    order: null,
    name: (a, b) => groups.names[a].localeCompare(groups.names[b]),
    uncertain: (a, b) => groups.confidence[a] - groups.confidence[b],
    unsettled: (a, b) => isUnsettled(b) - isUnsettled(a) || groups.confidence[a] - groups.confidence[b],
    certain: (a, b) => groups.confidence[b] - groups.confidence[a],
    long: (a, b) => groups.tokens[b] - groups.tokens[a],
    cluster: (a, b) => groups.cluster[a] - groups.cluster[b] || groups.confidence[b] - groups.confidence[a],
  };
  const count = h('span', { class: 'soft', 'aria-live': 'polite' });
  const input = h('input', { type: 'search', style: { 'flex-basis': '150px' }, placeholder: 'Filter by name', 'aria-label': 'Filter groups by name' });
  const apply = () => {
    const found = input.value.trim() ? findNames(groupIndex(), input.value, groups.n) : Array.from({ length: groups.n }, (_, j) => j);
    if (sorts[key]) found.sort((a, b) => sorts[key](a, b) || a - b); else found.sort((a, b) => a - b);
    count.textContent = plural(found.length, 'group');
    list.set(found);
    if (chosen !== null) list.show(chosen);
  };
  input.addEventListener('input', apply);
  const body = h('div', { class: 'detail' });
  const element = h('div', { class: 'view master' }, h('h2', { tabindex: '-1' }, 'Groups'),
    h('p', { class: 'note' }, 'Percentage: the probability of sharing a cluster with the other groups of its cluster. Unsettled: no cluster has half of the probability of the group.'),
    h('div', { class: 'split' },
      h('div', { class: 'side' },
        h('div', { class: 'toolbar' },
          choice('Order', [['order', 'as in the data'], ['name', 'by name'], ['uncertain', 'lowest confidence first'], ['unsettled', 'unsettled first'], ['certain', 'highest confidence first'], ['long', 'longest first'], ['cluster', 'by cluster']], key, (next) => { key = next; apply(); }), input, downloadButtons(list.element, 'Groups')), count, list.element), body));
  const update = (next) => {
    const given = next[0] === undefined ? null : Number(next[0]);
    chosen = given !== null && given >= 0 && given < groups.n ? given : null;
    element.classList.toggle('has-detail', chosen !== null);
    body.replaceChildren(h('a', { class: 'back', href: '#/groups' }, '‹ All groups'), groupDetail(chosen ?? list.items[0] ?? 0));
    if (chosen !== null) list.show(chosen); else list.refresh();
  };
  apply();
  update(args);
  return { element, title: 'Groups', update };
}

function wordView(args) {
  const w = Number(args[0]);
  if (!words || !(w < words.vocabulary.length)) return missingView('word');
  const rows = [];
  for (let i = w * words.topicsPerWord; i < (w + 1) * words.topicsPerWord; i += 1) {
    if (words.topicShare[i] > 0) rows.push({ label: topicLink(words.topicOfWord[i]), value: words.topicShare[i] / 255 });
  }
  const word = words.vocabulary[w];
  const using = clusters.words ? clusters.words.map((list, k) => [k, list.find(([other]) => other === word)]).filter((pair) => pair[1]) : [];
  const element = h('div', { class: 'view' }, h('p', { class: 'note' }, 'Word'), h('h2', { tabindex: '-1' }, word),
    h('p', {}, `${formatInteger(words.frequency[w])} occurrences, ${percent(words.overall[w])} of the content.`),
    columns( card('Topics', 'Distribution of its occurrences over topics.', bars(rows, { largest: 1 })),
      using.length > 0 && card('Characteristic of', 'Frequency relative to the overall frequency.', bars(using.map(([k, pair]) => ({ label: clusterLink(k), value: pair[1], text: `×${formatNumber(pair[1])}`, colour: clusterColour(k) }))))));
  return { element, title: word };
}

function valueView(args) {
  const [c, value] = args.map(Number);
  const context = contexts[c];
  const names = context && valueNames(context);
  if (!names || !(value < names.length)) return missingView('value');
  const found = groupsWithValue(context, value);
  const counts = new Map();
  const shares = new Map();
  for (const j of found) {
    counts.set(groups.cluster[j], (counts.get(groups.cluster[j]) || 0) + 1);
    for (let i = j * groups.topicsPerGroup; i < (j + 1) * groups.topicsPerGroup; i += 1) shares.set(groups.topic[i], (shares.get(groups.topic[i]) || 0) + groups.topicShare[i] / 255);
  }
  const top = (map) => [...map.entries()].sort((a, b) => b[1] - a[1]).slice(0, 10);
  const element = h('div', { class: 'view' }, h('p', { class: 'note' }, context.name), h('h2', { tabindex: '-1' }, names[value]),
    h('p', {}, `${plural(context.groupsWith ? context.groupsWith[value] : found.length, 'group')} with this value.`),
    columns(
      card('Clusters', 'Groups with this value. In brackets: share of the cluster.', bars(top(counts).map(([k, count]) => ({
        label: clusterLink(k), value: count, text: `${formatInteger(count)} (${percent(count / clusters.size[k])})`, colour: clusterColour(k),
      })))),
      card('Topics', `Average over these groups${groups.topicsPerGroup < topics.n ? `, of the ${groups.topicsPerGroup} largest topics of each group` : ''}.`, bars(top(shares).map(([m, sum]) => ({ label: topicLink(m), value: sum / found.length }))))),
    found.length > 0 && card('Groups', null, groupList(found, 'Groups with this value')));
  return { element, title: names[value] };
}

function missingView(what) {
  return { element: h('div', { class: 'view' }, h('h2', { tabindex: '-1' }, `This ${what} does not exist`), h('p', {}, h('a', { href: '#/overview' }, 'Back to the overview'))), title: 'Not found' };
}
