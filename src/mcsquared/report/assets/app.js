// Navigation between sections, keyboard shortcuts, dark and light theme.

const TABS = [
  ['overview', 'Overview', overviewView], ['map', 'Map', mapView], ['clusters', 'Clusters', clustersView],
  ['topics', 'Topics', topicsView], ['groups', 'Groups', groupsView],
  ...levels.map((level) => [`level${level.number}`, capitalised(level.name), (args) => levelView(level, args)]), ['diagnostics', 'Diagnostics', diagnosticsView],
  ...(prevalence.some(Boolean) ? [['effects', 'Effects', effectsView]] : []), ...(hierarchies.clusters || hierarchies.topics ? [['hierarchy', 'Hierarchy', hierarchyView]] : []),
];
const VIEWS = { ...Object.fromEntries(TABS.map(([name, , view]) => [name, view])), words: wordView, values: valueView, search: searchView };
const TAB_OF = { words: 'topics', values: 'groups', search: '' };

const main = document.getElementById('main');
let current = { name: null, view: null };

function parts() {
  return window.location.hash.replace(/^#\/?/, '').split('/').map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
}

function route(focus = true) {
  const [name, ...args] = parts();
  const known = Object.hasOwn(VIEWS, name) ? name : 'overview';
  const inside = current.name === known && current.view.update;
  hideTip();
  if (inside) current.view.update(args);
  else {
    current = { name: known, view: VIEWS[known](args) };
    main.replaceChildren(current.view.element);
  }
  for (const link of document.querySelectorAll('#tabs a')) {
    const isCurrent = link.dataset.tab === (TAB_OF[known] ?? known);
    if (isCurrent) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
    // On narrow screens not all tabs are visible.
    if (isCurrent) link.parentNode.scrollLeft = link.offsetLeft + link.offsetWidth / 2 - link.parentNode.clientWidth / 2;
  }
  const narrow = window.matchMedia('(max-width: 760px)').matches;
  if (!inside || narrow) window.scrollTo(0, 0);
  const heading = main.querySelector('h2');
  if (focus && heading && !inside) heading.focus({ preventScroll: true });
}

function setUpTabs() {
  const nav = document.getElementById('tabs');
  const links = TABS.map(([name, title]) => h('a', { href: `#/${name}`, 'data-tab': name }, title));
  nav.append(...links);
  nav.addEventListener('keydown', (event) => {
    const at = links.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at >= 0 && step) { event.preventDefault(); links[(at + step + links.length) % links.length].focus(); }
  });
}

function setUpTheme() {
  const root = document.documentElement;
  try { const stored = localStorage.getItem('mc2-theme'); if (stored === 'dark' || stored === 'light') root.dataset.theme = stored; } catch { /* local storage may be disabled for files */ }
  const redraw = () => { const { name } = current; if (!name) return; if (current.view.recolour) current.view.recolour(); else { current.name = null; route(false); } };
  const toggle = () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    try { localStorage.setItem('mc2-theme', root.dataset.theme); } catch { /* as above */ }
    redraw();
  };
  document.getElementById('theme').addEventListener('click', toggle);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  return toggle;
}

function setUpKeys(toggleTheme) {
  const dialog = document.getElementById('keys');
  const keys = [['/', 'search'], [`1 to ${Math.min(9, TABS.length)}`, 'sections'], ['[  ]', 'previous and next cluster or topic'], ['↑ ↓ Enter', 'select and open list entries'], ['arrows, + − 0', 'map: select groups, zoom, reset'], ['d', 'dark or light theme'], ['?', 'keyboard shortcuts'], ['Esc', 'close']];
  dialog.append(h('h3', {}, 'Keyboard shortcuts'), h('dl', { class: 'values' }, keys.map(([key, text]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)])),
    h('form', { method: 'dialog' }, h('button', { type: 'submit' }, 'Close')));
  // The content security policy forbids form submission, so the button closes the dialog itself.
  dialog.querySelector('form').addEventListener('submit', (event) => { event.preventDefault(); dialog.close(); });
  const help = () => { if (!dialog.open) dialog.showModal(); };
  document.getElementById('help').addEventListener('click', help);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    if (event.key === '/') { event.preventDefault(); document.getElementById('search').focus(); }
    else if (event.key === '?') help();
    else if (event.key === 'd') toggleTheme();
    else if (/^[1-9]$/.test(event.key) && TABS[Number(event.key) - 1]) window.location.hash = `#/${TABS[Number(event.key) - 1][0]}`;
    else if (event.key === '[' || event.key === ']') {
      const link = [...main.querySelectorAll('.step')].find((one) => one.dataset.key === event.key);
      if (link) window.location.hash = link.getAttribute('href');
    }
  });
}

setUpTabs();
setUpSearch();
setUpKeys(setUpTheme());
window.addEventListener('hashchange', () => route());
document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
route(false);
