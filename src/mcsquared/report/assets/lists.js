// Lists of any length: only visible rows are rendered. Arrow keys select, Enter opens.

function virtualList({ rowHeight, label, row, open, current = null, className = '', header = ['name', 'value'] }) {
  let items = [];
  let active = -1;
  const inner = h('div', { class: 'rows' });
  const box = h('div', { class: `list ${className}`, tabindex: '0', role: 'listbox', 'aria-label': label }, inner);
  let drawn = '';
  box.csv = () => (items.length ? [header, ...items.map((item, i) => cellsOf(row(item, i)))] : []);

  function draw(force = false) {
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - 4);
    const last = Math.min(items.length, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / rowHeight) + 4);
    const key = `${first}:${last}:${active}:${items.length}`;
    if (!force && key === drawn) return;
    drawn = key;
    inner.style.height = `${items.length * rowHeight}px`;
    const rows = [];
    for (let i = first; i < last; i += 1) {
      const element = row(items[i], i);
      element.classList.add('row');
      element.setAttribute('role', 'option');
      element.id = `${inner.dataset.id}-${i}`;
      element.setAttribute('aria-selected', String(current !== null && current() === items[i]));
      element.setAttribute('aria-posinset', i + 1);
      element.setAttribute('aria-setsize', items.length);
      if (i === active) element.classList.add('active');
      element.tabIndex = -1;
      element.style.top = `${i * rowHeight}px`;
      element.style.height = `${rowHeight}px`;
      rows.push(element);
    }
    inner.replaceChildren(...rows);
    if (active >= 0) box.setAttribute('aria-activedescendant', `${inner.dataset.id}-${active}`);
  }

  function reveal(i) {
    const top = i * rowHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight - box.clientHeight;
  }

  function move(i) {
    active = Math.max(0, Math.min(items.length - 1, i));
    reveal(active);
    draw(true);
  }

  box.addEventListener('scroll', () => draw());
  box.addEventListener('keydown', (event) => {
    const pageSize = Math.max(1, Math.floor(box.clientHeight / rowHeight) - 1);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: items.length - 1, PageDown: active + pageSize, PageUp: active - pageSize };
    if (event.key in moves && items.length) { event.preventDefault(); move(moves[event.key]); }
    if ((event.key === 'Enter' || event.key === ' ') && active >= 0 && items.length) { event.preventDefault(); open(items[active], active); }
  });
  inner.dataset.id = `list${(virtualList.count = (virtualList.count || 0) + 1)}`;
  let height = 0;
  new ResizeObserver(() => {
    if (height === 0 && active >= 0) reveal(active); // nothing scrolls before the list is on the page
    height = box.clientHeight;
    draw(true);
  }).observe(box);

  return {
    element: box,
    set(found) { items = found; active = -1; box.scrollTop = 0; draw(true); },
    refresh() { draw(true); },
    show(item) {
      const i = items.indexOf(item);
      if (i >= 0) { active = i; reveal(i); draw(true); }
    },
    get items() { return items; },
  };
}

const N_EXCERPTS = 5; // of typical groups

function groupRow(j, note) {
  return h('a', { class: 'group-row', href: address('groups', j) },
    dot(groups.cluster[j]),
    h('span', { class: 'grow' }, groupName(j)),
    note && h('span', { class: 'soft' }, note));
}

// Typical groups with their scores and, if the report contains texts, the beginning of each.
function typicalList(found) {
  const list = h('ol', { class: 'plain' }, found.map(([j, score], i) => h('li', {}, groupRow(j, percent(score)),
    i < N_EXCERPTS && page.texts && page.texts[j] && h('p', { class: 'excerpt' }, page.texts[j].slice(0, 240)))));
  list.csv = () => [['name', 'value'], ...found.map(([j, score]) => [groupName(j), percent(score)])];
  return list;
}

// The confidence of a group, or that no cluster holds it.
function groupStatus(j) { return `${isUnsettled(j) ? 'unsettled, ' : ''}${percent(groups.confidence[j] / 255)}`; }

// A list of groups with their confidence, up to a maximum height.
function groupList(found, label, note) {
  const list = virtualList({
    rowHeight: 34,
    label,
    row: (j) => groupRow(j, note ? note(j) : groupStatus(j)),
    open: (j) => { window.location.hash = address('groups', j); },
  });
  list.element.style.height = `${Math.min(found.length, 10.5) * 34 + 2}px`; // half a row shows that there are more
  list.set(found);
  return list.element;
}
