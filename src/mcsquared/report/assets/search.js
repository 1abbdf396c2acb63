// Search for groups, words, context values, clusters and topics by parts of their names.

let groupNamesLower = null;
function groupIndex() {
  if (!groupNamesLower) groupNamesLower = groups.names.map((name) => name.toLowerCase());
  return groupNamesLower;
}

const clusterTitles = clusters.names.map((name, k) => `cluster ${k} ${name}`);
const topicTitles = topics.names.map((name, m) => `topic ${m} ${name}`);

const lowerCache = new Map();
function lowered(names) {
  if (!lowerCache.has(names)) lowerCache.set(names, names.map((name) => name.toLowerCase()));
  return lowerCache.get(names);
}

// Indices of the names that contain every part of the query; those that start with it come first.
function findNames(names, query, limit) {
  const parts = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (!parts.length) return [];
  const whole = parts.join(' ');
  const ranks = [[], [], []];
  for (let i = 0; i < names.length; i += 1) {
    const name = names[i];
    if (!parts.every((part) => name.includes(part))) continue;
    const at = name.indexOf(whole);
    ranks[at === 0 ? 0 : at > 0 && !/[\p{L}\p{N}]/u.test(name[at - 1]) ? 1 : 2].push(i);
  }
  return ranks.flat().slice(0, limit);
}

function searchAll(query, limit) {
  const found = [];
  const add = (title, items, total) => { if (items.length) found.push({ title, items, total }); };
  const clusterHits = findNames(lowered(clusterTitles), query, limit);
  add('Clusters', clusterHits.map((k) => ({ href: address('clusters', k), text: `Cluster ${clusterName(k)}`, mark: dot(k), note: plural(clusters.size[k], 'group') })));
  const topicHits = findNames(lowered(topicTitles), query, limit);
  add('Topics', topicHits.map((m) => ({ href: address('topics', m), text: `Topic ${topicName(m)}`, mark: topicGlyph(m, 18), note: percent(topics.share[m]) })));
  const groupHits = findNames(groupIndex(), query, limit);
  add('Groups', groupHits.map((j) => ({ href: address('groups', j), text: groupName(j), mark: dot(groups.cluster[j]), note: `cluster ${groups.cluster[j]}` })));
  for (const level of levels) {
    const hits = findNames(lowered(level.names), query, limit);
    add(level.name, hits.map((u) => ({ href: levelAddress(level, 'units', u), text: level.names[u], mark: typeDot(level.type[u]), note: `type ${level.type[u]}` })));
  }
  if (words) {
    const wordHits = findNames(lowered(words.vocabulary), query, limit * 4).slice(0, limit);
    add('Words', wordHits.map((w) => ({ href: address('words', w), text: words.vocabulary[w], mark: null, note: `${formatInteger(words.frequency[w])} times` })));
  }
  contexts.forEach((context, c) => {
    const names = valueNames(context);
    if (!names) return;
    const count = (v) => (context.categories ? context.groupsWith?.[v] : groupsWithValue(context, v).length);
    const hits = findNames(lowered(names), query, limit);
    add(context.name, hits.map((v) => ({ href: address('values', c, v), text: names[v], mark: null, note: count(v) === undefined ? '' : plural(count(v), 'group') })));
  });
  return found;
}

function hitRow(item, options = {}) {
  return h('a', { class: 'hit', href: item.href, ...options }, item.mark, h('span', { class: 'grow' }, item.text), h('span', { class: 'soft' }, item.note));
}

function searchView(args) {
  const query = args[0] || '';
  const found = searchAll(query, 2000);
  const element = h('div', { class: 'view' }, h('h2', { tabindex: '-1' }, `Search: ${query}`),
    !found.length && h('p', {}, 'No matches.'),
    found.map((part) => {
      const list = virtualList({ rowHeight: 34, label: part.title, row: (item) => hitRow({ ...item, mark: item.mark && item.mark.cloneNode(true) }), open: (item) => { window.location.hash = item.href; } });
      list.element.style.height = `${Math.min(part.items.length, 12) * 34 + 2}px`;
      list.set(part.items);
      return card(h('span', {}, `${part.title} `, h('span', { class: 'soft' }, part.items.length >= 2000 ? 'first 2,000' : formatInteger(part.items.length))), null, list.element);
    }));
  return { element, title: 'Search' };
}

function setUpSearch() {
  const input = document.getElementById('search');
  const box = document.getElementById('found');
  let active = -1;
  const hits = () => [...box.querySelectorAll('.hit')];
  const close = () => { box.hidden = true; input.setAttribute('aria-expanded', 'false'); input.removeAttribute('aria-activedescendant'); active = -1; };
  const mark = (i) => {
    const all = hits();
    active = all.length ? (i + all.length) % all.length : -1;
    all.forEach((hit, at) => hit.classList.toggle('active', at === active));
    if (active >= 0) { all[active].scrollIntoView({ block: 'nearest' }); input.setAttribute('aria-activedescendant', all[active].id); }
  };
  const open = () => {
    const query = input.value.trim();
    if (!query) { close(); return; }
    const found = searchAll(query, 6);
    let n = 0;
    const row = (item) => { const hit = hitRow(item, { role: 'option', id: `hit${n}`, tabindex: '-1' }); n += 1; return hit; };
    box.replaceChildren(
      ...found.flatMap((part) => [h('div', { class: 'hit-title' }, part.title), ...part.items.map(row)]),
      found.length ? row({ href: address('search', query), text: `All matches of “${query}”`, mark: null, note: 'Enter' }) : h('div', { class: 'hit-title' }, 'No matches.'));
    box.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    active = -1;
  };
  input.addEventListener('input', open);
  input.addEventListener('focus', open);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') { event.preventDefault(); mark(active + 1); }
    if (event.key === 'ArrowUp') { event.preventDefault(); mark(active - 1); }
    if (event.key === 'Escape') { close(); input.blur(); }
    if (event.key === 'Enter') {
      const target = active >= 0 ? hits()[active].getAttribute('href') : input.value.trim() && address('search', input.value.trim());
      if (target) { window.location.hash = target; close(); input.blur(); }
    }
  });
  document.addEventListener('pointerdown', (event) => { if (!event.target.closest('.searchbox')) close(); });
  box.addEventListener('click', (event) => { if (event.target.closest('.hit')) { close(); input.blur(); } });
}
