// Levels above groups: the types of units, and the units with their groups.

function levelAddress(level, kind, id) { return address(`level${level.number}`, kind, ...(id === undefined ? [] : [id])); }
function typeColour(t) { return colourOf(t); }
function typeDot(t) { return h('span', { class: 'dot', style: { background: typeColour(t) }, 'aria-hidden': 'true' }); }
function typeName(level, t) { return level.types.names[t] ? `${t} · ${level.types.names[t]}` : `Type ${t}`; }

function typeLink(level, t) {
  return h('a', { class: 'link', href: levelAddress(level, 'types', t), title: `Type ${typeName(level, t)}` }, typeDot(t), h('span', {}, typeName(level, t)));
}

function unitLink(level, u) {
  return h('a', { class: 'link', href: levelAddress(level, 'units', u) }, typeDot(level.type[u]), h('span', {}, level.names[u]));
}

function unitRow(level, u, note) {
  return h('a', { class: 'group-row', href: levelAddress(level, 'units', u) }, typeDot(level.type[u]),
    h('span', { class: 'grow' }, level.names[u]), note && h('span', { class: 'soft' }, note));
}

function unitList(level, found, label) {
  const list = virtualList({
    rowHeight: 34, label, header: ['unit', 'probability'], row: (u) => unitRow(level, u, percent(level.confidence[u] / 255)),
    open: (u) => { window.location.hash = levelAddress(level, 'units', u); },
  });
  list.element.style.height = `${Math.min(found.length, 10.5) * 34 + 2}px`; // half a row shows that there are more
  list.set(found);
  return list.element;
}

// What the types of a level mix: clusters of groups, or the types of the level below.
function below(level) {
  const lower = levels[level.number - 1];
  if (!lower) return { n: clusters.n, children: 'groups', kind: 'cluster', of: groups.cluster, size: clusters.size, link: clusterLink, colour: clusterColour, count: (n) => plural(n, 'group'), list: (found, label) => groupList(found, label) };
  const count = (n) => `${plural(n, 'unit')} of ${lower.name}`;
  return { n: lower.types.n, children: `units of ${lower.name}`, kind: `type of ${lower.name}`, of: lower.type, size: lower.types.size, link: (t) => typeLink(lower, t), colour: typeColour, count, list: (found, label) => unitList(lower, found, label) };
}

function kindsOf(part) { return part.kind.replace(/^(\w+)/, '$1s'); }
function capitalised(text) { return `${text[0].toUpperCase()}${text.slice(1)}`; }

// The units above a group or a unit: one link for each level.
function parentsOf(level, child) {
  const found = [];
  for (let at = level, i = child; at; at = levels[at.number + 1]) {
    if (!at.parent[i]) break;
    i = at.parent[i] - 1;
    found.push([' · ', `${at.name}: `, unitLink(at, i)]);
  }
  return found;
}

function typeDetail(level, t) {
  const part = below(level);
  const total = part.size.reduce((a, b) => a + b, 0);
  const shares = Array.from({ length: part.n }, (_, k) => [k, level.types.shares[t * part.n + k]]).sort((a, b) => b[1] - a[1]).filter(([, share]) => share >= 0.005);
  const units = level.unitsOf[t];
  const n = units.reduce((sum, u) => sum + level.n_children[u], 0);
  return h('article', {},
    h('header', { class: 'detail-head' }, h('h3', { class: 'big' }, typeDot(t), `Type ${t}`), stepLinks(`level${level.number}/types`, t, level.types.n),
      level.types.names[t] && h('p', { class: 'lead' }, level.types.names[t])),
    h('div', { class: 'tiles small' },
      countTile(plural(level.types.size[t], 'unit'), `${percent(level.types.size[t] / level.n)} of all`),
      countTile(part.count(n), null),
      tile('stability', percent(level.types.stability[t] / 255), stabilityNote(units.length, 'unit', 'type'))),
    columns(
      card(capitalised(kindsOf(part)), `Share of its ${part.children}. Line: share of all ${part.children}.`,
        bars(shares.slice(0, 12).map(([k, share]) => ({ label: part.link(k), value: share, mark: part.size[k] / total, colour: part.colour(k), title: `${percent(share)} in this type, ${percent(part.size[k] / total)} overall` })))),
      level.contexts.map((context) => contextBlock(context, 'type', t, typeColour(t))),
      card(plural(units.length, 'unit'), units.length === 1 ? 'With the probability of being alone in its type.' : 'With the probability of sharing a type with the other units.', unitList(level, units, `Units of type ${t}`))));
}

function unitDetail(level, u) {
  const part = below(level);
  const each = level.choice.length / level.n;
  const choices = Array.from({ length: each }, (_, i) => [level.choice[u * each + i] - 1, level.choice_probability[u * each + i] / 255]).filter(([t]) => t >= 0);
  const byKind = new Map();
  for (const i of level.childrenOf[u]) byKind.set(part.of[i], [...(byKind.get(part.of[i]) || []), i]);
  const sorted = [...byKind].sort((a, b) => b[1].length - a[1].length || a[0] - b[0]);
  const n = level.childrenOf[u].length;
  const confidence = level.confidence[u] / 255;
  return h('article', {},
    h('header', { class: 'detail-head' }, h('h3', { class: 'big' }, level.names[u]),
      h('p', { class: 'note' }, part.count(level.n_children[u]), parentsOf(levels[level.number + 1], u))),
    columns(
      card('Type', null, h('p', {}, typeLink(level, level.type[u])),
        h('p', { class: 'note' }, meter(confidence, `confidence ${percent(confidence)}`), ` ${confidenceNote(level.types.size[level.type[u]], 'unit', 'type')} with probability ${percent(confidence)}`),
        choices.length > 1 && [h('h4', {}, 'Probability of each type'), bars(choices.map(([t, share]) => ({ label: typeLink(level, t), value: share, colour: typeColour(t) })), { largest: 1 })]),
      level.contexts.length > 0 && card('Contexts', null, contextValues(level.contexts, u)),
      card(`${capitalised(part.children)} by ${part.kind.split(' ')[0]}`, null,
        bars(sorted.map(([k, found]) => ({ label: part.link(k), value: found.length / n, text: formatInteger(found.length), colour: part.colour(k) })))),
      sorted.map(([k, found]) => card(part.link(k), null, part.list(found, `${part.count(found.length)}, ${part.kind} ${k}`)))));
}

function levelView(level, args) {
  const part = below(level);
  let kind = 'types';
  let chosen = null;
  const list = virtualList({
    rowHeight: 44, label: level.name, header: ['name', 'size'], current: () => chosen,
    row: (i) => (kind === 'units' ? unitRow(level, i, part.count(level.n_children[i]))
      : h('a', { class: 'group-row', href: levelAddress(level, 'types', i) }, typeDot(i), h('span', { class: 'grow' }, typeName(level, i)), h('span', { class: 'soft' }, plural(level.types.size[i], 'unit')))),
    open: (i) => { window.location.hash = levelAddress(level, kind, i); },
  });
  const input = h('input', { type: 'search', placeholder: 'Filter by name', 'aria-label': 'Filter by name' });
  const nameOf = (i) => (kind === 'units' ? level.names[i] : typeName(level, i)).toLowerCase();
  const byName = Array.from({ length: level.n }, (_, u) => u).sort((a, b) => level.names[a].localeCompare(level.names[b], 'en', { numeric: true }));
  const types = Array.from({ length: level.types.n }, (_, t) => t);
  const apply = () => list.set((kind === 'units' ? byName : types).filter((i) => nameOf(i).includes(input.value.trim().toLowerCase())));
  input.addEventListener('input', apply);
  const title = capitalised(level.name);
  const tabs = h('div', {});
  const body = h('div', { class: 'detail' });
  const element = h('div', { class: 'view master' }, h('h2', { tabindex: '-1' }, title),
    h('p', { class: 'note' }, `${plural(level.n, 'unit')} of ${plural(level.types.n, 'type')}. A type is a mixture of ${kindsOf(part)}, shared by its units.`),
    h('div', { class: 'split' }, h('div', { class: 'side' }, tabs, h('div', { class: 'toolbar' }, input, downloadButtons(list.element, title)), list.element), body));
  const update = (next) => {
    const before = kind;
    kind = next[0] === 'units' ? 'units' : 'types';
    const n = kind === 'units' ? level.n : level.types.n;
    chosen = next[1] !== undefined && Number(next[1]) >= 0 && Number(next[1]) < n ? Number(next[1]) : null;
    tabs.replaceChildren(switcher('List', [['types', 'Types'], ['units', 'Units']], kind, (key) => { window.location.hash = levelAddress(level, key); }));
    if (kind !== before || !list.items.length) apply();
    element.classList.toggle('has-detail', chosen !== null);
    body.replaceChildren(h('a', { class: 'back', href: levelAddress(level, kind) }, `‹ All ${kind}`), (kind === 'units' ? unitDetail : typeDetail)(level, chosen ?? list.items[0] ?? 0));
    if (chosen !== null) list.show(chosen); else list.refresh();
  };
  apply();
  update(args);
  return { element, title, update };
}
