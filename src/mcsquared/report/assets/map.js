// The map: 100,000 points on a canvas, with pan, zoom, hover, click and keyboard control.

const CELLS = 96; // per side of the grid that finds the point under the pointer

function pointGrid(map) {
  const cell = (x, y) => Math.min(CELLS - 1, Math.floor((x * CELLS) / 65536)) * CELLS + Math.min(CELLS - 1, Math.floor((y * CELLS) / 65536));
  const counts = new Uint32Array(CELLS * CELLS);
  for (let j = 0; j < map.x.length; j += 1) counts[cell(map.x[j], map.y[j])] += 1;
  const first = starts(counts);
  const next = first.slice(0, CELLS * CELLS);
  const points = new Uint32Array(map.x.length);
  for (let j = 0; j < map.x.length; j += 1) { const c = cell(map.x[j], map.y[j]); points[next[c]] = j; next[c] += 1; }
  return { first, points };
}

function rgbOf(colour) {
  if (colour.startsWith('#')) return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return colour.match(/\d+/g).slice(0, 3).map(Number);
}

function mapCanvas({ onhover, onopen }) {
  const canvas = h('canvas', { class: 'map', tabindex: '0', role: 'application', 'aria-label': 'Map of groups. Arrow keys select a group, Enter opens it, plus and minus zoom, 0 resets the view.' });
  let map = groups.maps.clusters;
  let mapName = 'clusters';
  const grids = {};
  let view = { x: 0, y: 0, zoom: 1 };
  let colours = null; // of the discs; grey if colours do not mean clusters
  let classOf = (j) => groups.cluster[j];
  let classColour = [];
  let highlight = null; // a cluster
  let hovered = -1;
  let selected = -1;
  let width = 0; let height = 0; let scale = 1; let ratio = 1;
  let order = null; // groups sorted by class, so that each colour is set once

  const extent = () => {
    let x1 = 0; let y1 = 0;
    for (let j = 0; j < map.x.length; j += 1) { if (map.x[j] > x1) x1 = map.x[j]; if (map.y[j] > y1) y1 = map.y[j]; }
    return [x1 || 1, y1 || 1];
  };
  let [endX, endY] = extent();

  // Map units to pixels.
  const px = (x) => (x - view.x) * scale * view.zoom + width / 2;
  const py = (y) => (y - view.y) * scale * view.zoom + height / 2;

  function fit() {
    ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth; height = canvas.clientHeight;
    if (!width || !height) return false;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    scale = 0.9 * Math.min(width / endX, height / endY);
    if (mapName === 'clusters') scale *= 0.97;
    return true;
  }

  function resetView() { view = { x: endX / 2, y: endY / 2, zoom: 1 }; }

  function sortByClass() {
    const n = groups.n;
    const counts = new Uint32Array(classColour.length);
    for (let j = 0; j < n; j += 1) counts[classOf(j)] += 1;
    const first = starts(counts);
    const next = first.slice(0, classColour.length);
    order = { first, points: new Uint32Array(n) };
    for (let j = 0; j < n; j += 1) { const c = classOf(j); order.points[next[c]] = j; next[c] += 1; }
  }

  function radius() {
    if (mapName === 'clusters') {
      // Groups of a disc are 1.77 units apart: they touch without overlapping.
      return Math.max(0.6, Math.min(9, (0.74 * 65535 * scale * view.zoom) / map.scale));
    }
    const spacing = Math.sqrt((width * height) / Math.max(60, groups.n));
    return Math.max(0.7, Math.min(6, 0.15 * spacing)) * Math.min(3, view.zoom ** 0.6);
  }

  let queued = false;
  function draw() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => { queued = false; paint(); });
  }

  function paint() {
    if (!width && !fit()) return;
    if (!order) sortByClass();
    const ctx = canvas.getContext('2d');
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const r = radius();
    if (mapName === 'clusters') paintDiscs(ctx);
    if (r < 1.6) paintPixels(ctx, r);
    else paintDots(ctx, r);
    ctx.globalAlpha = 1;
    paintLabels(ctx);
    for (const [j, lineWidth] of [[selected, 2.5], [hovered, 1.5]]) {
      if (j < 0) continue;
      ctx.beginPath(); ctx.arc(px(map.x[j]), py(map.y[j]), r + 4, 0, 6.2832);
      ctx.lineWidth = lineWidth; ctx.strokeStyle = css('--ink'); ctx.stroke();
    }
  }

  function paintDots(ctx, r) {
    for (let c = 0; c < classColour.length; c += 1) {
      ctx.fillStyle = classColour[c];
      for (let i = order.first[c]; i < order.first[c + 1]; i += 1) {
        const j = order.points[i];
        const x = px(map.x[j]); const y = py(map.y[j]);
        if (x < -8 || y < -8 || x > width + 8 || y > height + 8) continue;
        const faint = highlight !== null && groups.cluster[j] !== highlight;
        ctx.globalAlpha = faint ? 0.1 : 0.5 + (0.5 * groups.confidence[j]) / 255;
        ctx.beginPath(); ctx.arc(x, y, r, 0, 6.2832); ctx.fill();
      }
    }
  }

  // Small points are written as pixels, ten times faster than arcs.
  let pixelLayer = null;
  function paintPixels(ctx, r) {
    if (!pixelLayer || pixelLayer.canvas.width !== canvas.width || pixelLayer.canvas.height !== canvas.height) {
      const sheet = document.createElement('canvas');
      sheet.width = canvas.width; sheet.height = canvas.height;
      pixelLayer = { canvas: sheet, ctx: sheet.getContext('2d'), image: new ImageData(canvas.width, canvas.height) };
      pixelLayer.pixels = new Uint32Array(pixelLayer.image.data.buffer);
    }
    const { pixels: sheet, image } = pixelLayer;
    sheet.fill(0);
    const side = Math.max(1, Math.round(2 * r * ratio));
    for (let c = 0; c < classColour.length; c += 1) {
      const [red, green, blue] = rgbOf(classColour[c]);
      const colour = (blue << 16) | (green << 8) | red;
      for (let i = order.first[c]; i < order.first[c + 1]; i += 1) {
        const j = order.points[i];
        const x = Math.round(px(map.x[j]) * ratio - side / 2); const y = Math.round(py(map.y[j]) * ratio - side / 2);
        if (x < 0 || y < 0 || x + side > image.width || y + side > image.height) continue;
        const faint = highlight !== null && groups.cluster[j] !== highlight;
        const dot = ((faint ? 26 : 128 + (groups.confidence[j] >> 1)) << 24) | colour;
        for (let a = 0; a < side; a += 1) for (let b = 0; b < side; b += 1) sheet[(y + a) * image.width + x + b] = dot;
      }
    }
    pixelLayer.ctx.putImageData(image, 0, 0);
    ctx.drawImage(pixelLayer.canvas, 0, 0, width, height);
  }

  // Centre and radius of a disc in map units.
  function disc(k) {
    const unit = 65535 / map.scale;
    return [(clusters.centre[k][0] - map.low[0]) * unit, (clusters.centre[k][1] - map.low[1]) * unit, clusters.radius[k] * unit];
  }

  function paintDiscs(ctx) {
    for (let k = 0; k < clusters.n; k += 1) {
      const [x, y, r] = disc(k);
      ctx.beginPath(); ctx.arc(px(x), py(y), r * scale * view.zoom + radius() + 2, 0, 6.2832);
      ctx.fillStyle = colours ? colours[clusters.colour[k]] : css('--soft'); ctx.globalAlpha = highlight === null || highlight === k ? 0.1 : 0.04; ctx.fill();
    }
    ctx.globalAlpha = 1;
  }

  function labelPositions() {
    if (mapName === 'clusters') {
      return Array.from({ length: clusters.n }, (_, k) => { const [x, y, r] = disc(k); return [k, x, y, r]; });
    }
    return Array.from({ length: clusters.n }, (_, k) => {
      const some = groupsOfCluster(k).slice(0, 400);
      const xs = some.map((j) => map.x[j]).sort((a, b) => a - b); const ys = some.map((j) => map.y[j]).sort((a, b) => a - b);
      return [k, xs[xs.length >> 1] || 0, ys[ys.length >> 1] || 0, 0];
    });
  }

  let positions = null;
  function paintLabels(ctx) {
    if (!positions) positions = labelPositions();
    const taken = [];
    ctx.textAlign = 'center'; ctx.lineJoin = 'round';
    for (const [k, x, y, r] of positions) {
      if (highlight !== null && highlight !== k) continue;
      const large = clusters.size[k] > 0.02 * groups.n;
      if (!large && view.zoom < 2 && highlight !== k && clusters.n > 12) continue;
      ctx.font = `${large ? 600 : 500} ${large ? 13 : 12}px system-ui, -apple-system, 'Segoe UI', sans-serif`;
      const narrow = width < 500;
      const text = clusters.names[k] && !(narrow && view.zoom < 1.6) ? `${k} ${clusters.names[k].split(', ').slice(0, 2).join(', ')}` : String(k);
      const reach = r * scale * view.zoom;
      let label = text.length > 30 ? `${text.slice(0, 29)}…` : text;
      // A label much wider than its disc would cover its neighbours.
      if (reach > 26 && ctx.measureText(label).width > 2.1 * reach) label = label.split(', ')[0].replace(/ or .*/, ' or …');
      const labelWidth = ctx.measureText(label).width;
      const cx = Math.min(width - labelWidth / 2 - 4, Math.max(labelWidth / 2 + 4, px(x)));
      // In the centre of a large disc, above a small one.
      const cy = Math.max(14, reach > 26 || !r ? py(y) + 4 : py(y) - reach - radius() - 5);
      const box = [cx - labelWidth / 2 - 3, cy - 12, cx + labelWidth / 2 + 3, cy + 4];
      if (box[0] > width || box[2] < 0 || box[1] > height || box[3] < 0) continue;
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      ctx.globalAlpha = 0.86; ctx.fillStyle = css('--card');
      ctx.beginPath(); (ctx.roundRect || ctx.rect).call(ctx, box[0] - 3, box[1] - 3, box[2] - box[0] + 6, box[3] - box[1] + 6, 6); ctx.fill();
      ctx.globalAlpha = 1; ctx.fillStyle = css('--ink'); ctx.fillText(label, cx, cy);
    }
  }

  // The closest group within a number of pixels of a position, or -1.
  function nearest(x, y, reach) {
    const grid = grids[mapName] || (grids[mapName] = pointGrid(map));
    const mx = (x - width / 2) / (scale * view.zoom) + view.x;
    const my = (y - height / 2) / (scale * view.zoom) + view.y;
    const far = reach / (scale * view.zoom);
    const at = (v) => Math.max(0, Math.min(CELLS - 1, Math.floor((v * CELLS) / 65536)));
    let best = far * far; let found = -1;
    for (let a = at(mx - far); a <= at(mx + far); a += 1) {
      for (let b = at(my - far); b <= at(my + far); b += 1) {
        for (let i = grid.first[a * CELLS + b]; i < grid.first[a * CELLS + b + 1]; i += 1) {
          const j = grid.points[i];
          const d = (map.x[j] - mx) ** 2 + (map.y[j] - my) ** 2;
          if (d < best) { best = d; found = j; }
        }
      }
    }
    return found;
  }

  function zoomAt(x, y, factor) {
    const zoom = Math.max(0.6, Math.min(60, view.zoom * factor));
    const mx = (x - width / 2) / (scale * view.zoom) + view.x;
    const my = (y - height / 2) / (scale * view.zoom) + view.y;
    view = { zoom, x: mx - (x - width / 2) / (scale * zoom), y: my - (y - height / 2) / (scale * zoom) };
    draw();
  }

  // The closest group in one direction from the selected one.
  function step(dx, dy) {
    if (selected < 0) { select(nearest(width / 2, height / 2, Math.max(width, height))); return; }
    let best = Infinity; let found = selected;
    for (let j = 0; j < groups.n; j += 1) {
      const x = map.x[j] - map.x[selected]; const y = map.y[j] - map.y[selected];
      const along = x * dx + y * dy; const across = Math.abs(x * dy) + Math.abs(y * dx);
      if (along > 0 && across <= 1.2 * along && along + 2 * across < best) { best = along + 2 * across; found = j; }
    }
    select(found);
  }

  function select(j) {
    selected = j;
    if (j >= 0) {
      const x = px(map.x[j]); const y = py(map.y[j]);
      if (x < 20 || y < 20 || x > width - 20 || y > height - 20) { view.x = map.x[j]; view.y = map.y[j]; }
      onhover(j, true);
    }
    draw();
  }

  const pointers = new Map();
  let moved = 0; let pinch = 0;
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (pointers.size === 1) moved = 0;
  });
  canvas.addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      const j = nearest(event.offsetX, event.offsetY, Math.max(8, radius() + 3));
      canvas.style.cursor = j >= 0 ? 'pointer' : 'grab';
      if (j !== hovered) { hovered = j; draw(); }
      onhover(j, false, event.clientX, event.clientY);
      return;
    }
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (pointers.size === 2) {
      const [[ax, ay], [bx, by]] = [...pointers.values()];
      const apart = Math.hypot(ax - bx, ay - by);
      if (pinch) zoomAt((ax + bx) / 2, (ay + by) / 2, apart / pinch);
      pinch = apart; moved = 99;
      return;
    }
    moved += Math.abs(event.offsetX - before[0]) + Math.abs(event.offsetY - before[1]);
    view.x -= (event.offsetX - before[0]) / (scale * view.zoom);
    view.y -= (event.offsetY - before[1]) / (scale * view.zoom);
    draw();
  });
  const release = (event) => {
    const known = pointers.delete(event.pointerId);
    pinch = 0;
    if (known && event.type === 'pointerup' && moved < 5) {
      const j = nearest(event.offsetX, event.offsetY, event.pointerType === 'touch' ? 18 : Math.max(8, radius() + 3));
      if (j >= 0 && (event.pointerType !== 'touch' || j === selected)) onopen(j);
      else select(j);
    }
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => { if (hovered >= 0) { hovered = -1; draw(); } onhover(-1); });
  canvas.addEventListener('wheel', (event) => {
    // The wheel scrolls the page unless a modifier key is pressed or the map has the focus.
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoomAt(event.offsetX, event.offsetY, Math.exp(-event.deltaY * 0.0015));
  }, { passive: false });
  canvas.addEventListener('keydown', (event) => {
    const steps = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key in steps) step(...steps[event.key]);
    else if (event.key === 'Enter' && selected >= 0) onopen(selected);
    else if (event.key === '+' || event.key === '=') zoomAt(width / 2, height / 2, 1.4);
    else if (event.key === '-') zoomAt(width / 2, height / 2, 1 / 1.4);
    else if (event.key === '0') { resetView(); draw(); } else return;
    event.preventDefault();
  });
  new ResizeObserver(() => { if (fit()) draw(); }).observe(canvas);
  resetView();

  return {
    element: canvas,
    draw,
    colourBy(next, palette, base) { classOf = next; classColour = palette; colours = base; order = null; draw(); },
    use(name) {
      mapName = name; map = groups.maps[name]; positions = null; [endX, endY] = extent(); resetView(); fit(); draw();
    },
    show(j) { select(j); },
    highlight(k) { highlight = k; draw(); },
    zoom(factor) { zoomAt(width / 2, height / 2, factor); },
    reset() { resetView(); draw(); },
    paint,
    at(j) { return [px(map.x[j]), py(map.y[j])]; },
  };
}
