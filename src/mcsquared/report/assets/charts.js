// Charts: bars, curves, traces, images, profiles and a matrix. All adapt to the width of the page.

// A box that is redrawn when its width changes.
function responsive(draw, className) {
  const box = h('div', { class: `chart ${className || ''}` });
  let width = 0;
  const render = () => {
    const found = Math.round(box.clientWidth);
    if (found > 0 && found !== width) {
      width = found;
      box.replaceChildren(draw(width));
    }
  };
  new ResizeObserver(render).observe(box);
  requestAnimationFrame(render);
  return box;
}

// Horizontal bars. Rows: {label (node), value, low, high, mark, text, colour, title}.
function bars(rows, { largest: limit = null, empty = 'No data.', unit = percent, spreadNote = '' } = {}) {
  if (!rows.length) return h('p', { class: 'note' }, empty);
  const largest = limit || Math.max(...rows.map((row) => Math.max(row.value, row.high || 0, row.mark || 0)), 1e-12);
  const at = (x) => `${(100 * Math.max(0, Math.min(1, x / largest))).toFixed(2)}%`;
  const list = h('ul', { class: 'bars' }, rows.map((row) => h('li', { title: row.title },
    h('span', { class: 'bar-label' }, row.label),
    h('span', { class: 'bar-track', 'aria-hidden': 'true' },
      h('span', { class: 'bar-fill', style: { width: at(row.value), background: row.colour || 'var(--accent)' } }),
      row.high > row.low && h('span', {
        class: 'bar-spread', title: spreadNote, style: { left: at(row.low), width: `calc(${at(row.high)} - ${at(row.low)})` },
      }),
      Number.isFinite(row.mark) && h('span', { class: 'bar-mark', style: { left: at(row.mark) } })),
    h('span', { class: 'bar-value' }, row.text || unit(row.value)))));
  const ranged = rows.some((row) => row.high > row.low);
  list.csv = () => [['name', 'value', ...(ranged ? ['low', 'high'] : [])],
    ...rows.map((row) => [row.label.textContent ?? row.label, row.value, ...(ranged ? [row.low, row.high] : [])])];
  return list;
}

function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((f) => f >= rough) || rough;
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * span; x += step) found.push(Math.abs(x) < 1e-12 * span ? 0 : x);
  return found;
}

// A label below a chart, moved inwards at its ends.
function tickText(text, x, width, height) {
  const half = Math.max(16, 3.4 * String(text).length);
  return s('text', { class: 'tick', x: Math.min(width - half, Math.max(half, x)), y: height - 6, 'text-anchor': 'middle' }, text);
}

function path(xs, ys) {
  let text = '';
  for (let i = 0; i < xs.length; i += 1) text += `${i ? 'L' : 'M'}${xs[i].toFixed(1)} ${ys[i].toFixed(1)}`;
  return text;
}

// Curves over points. Series: {values, low, high, colour, faint}; with `steps`, bars are drawn instead of lines.
function curves(points, series, { label, format = formatNumber, height = 150, steps = false, range = null, columns = null, dots = false, scale = false } = {}) {
  return responsive((width) => {
    const [left, right, top, bottom] = [scale ? 42 : 8, 8, 8, 22];
    let from = 0;
    let to = points.length - 1;
    if (range && points.length > 20) {
      while (from < to - 2 && points[from + 1] < range[0]) from += 1;
      while (to > from + 2 && points[to - 1] > range[1]) to -= 1;
    }
    const low = points[from];
    const high = points[to];
    const x = (v) => left + ((v - low) / (high - low || 1)) * (width - left - right);
    let largest = 1e-300;
    for (const curve of series) for (let i = from; i <= to; i += 1) largest = Math.max(largest, curve.values[i], curve.high ? curve.high[i] : 0);
    for (const column of columns || []) largest = Math.max(largest, Math.min(column.value, 3 * largest));
    const y = (v) => height - bottom - Math.min(1, v / largest) * (height - top - bottom);
    const xs = [];
    for (let i = from; i <= to; i += 1) xs.push(x(points[i]));
    const base = height - bottom;
    const marks = ticks(low, high, Math.max(2, Math.floor(width / 70))).filter((t) => t >= low);
    return s('svg', { width, height, role: 'img', 'aria-label': label || 'curve' },
      marks.map((t) => s('g', {},
        s('line', { class: 'grid', x1: x(t), x2: x(t), y1: top, y2: base }),
        tickText(format(t), x(t), width, height))),
      scale && ticks(0, largest, 3).map((t) => s('g', {}, s('line', { class: 'grid', x1: left, x2: width - right, y1: y(t), y2: y(t) }), s('text', { class: 'tick', x: left - 6, y: y(t) + 4, 'text-anchor': 'end' }, percent(t)))),
      (columns || []).map((column) => {
        const [x1, x2] = [Math.max(left, x(column.from)), Math.min(width - right, x(column.to))];
        return x2 > x1 && s('rect', { class: 'observed', x: x1 + 0.5, width: Math.max(1, x2 - x1 - 1), y: y(column.value), height: base - y(column.value) });
      }),
      s('line', { class: 'axis', x1: left, x2: width - right, y1: base, y2: base }),
      series.map((curve) => {
        const ys = [];
        for (let i = from; i <= to; i += 1) ys.push(y(curve.values[i]));
        if (steps) {
          const barWidth = Math.max(1, ((width - left - right) / xs.length) * (curve.faint ? 0.9 : 0.55));
          return s('g', {}, xs.map((px, i) => s('rect', {
            x: px - barWidth / 2, y: ys[i], width: barWidth, height: Math.max(0, base - ys[i]),
            style: { fill: curve.colour, opacity: curve.faint ? 0.35 : 0.85 },
          })));
        }
        const line = path(xs, ys);
        const band = curve.low && path([...xs, ...[...xs].reverse()], [...xs.map((_, i) => y(curve.high[from + i])), ...xs.map((_, i) => y(curve.low[to - i]))]);
        return s('g', curve.thin ? { opacity: Math.max(0.15, Math.min(0.45, 20 / series.length)) } : {},
          curve.title && s('title', {}, curve.title),
          band && s('path', { d: `${band}Z`, style: { fill: curve.colour, opacity: curve.band || 0.18 } }),
          !curve.faint && !curve.thin && !curve.open && !columns && !curve.low && s('path', { d: `${line}L${xs[xs.length - 1]} ${base}L${xs[0]} ${base}Z`, style: { fill: curve.colour, opacity: 0.14 } }),
          s('path', { d: line, style: { fill: 'none', stroke: curve.colour, 'stroke-width': curve.faint || curve.thin ? 1.25 : 2.25, 'stroke-dasharray': curve.faint ? '4 3' : 'none' } }),
          dots && !curve.faint && !curve.thin && xs.map((px, i) => s('circle', { cx: px, cy: ys[i], r: 3, style: { fill: curve.colour } })));
      }));
  });
}

// Traces of several chains, with burn-in shaded.
function traceChart(trace, bound, height = 150) {
  return responsive((width) => {
    const [right, top, bottom] = [8, 8, 22];
    let lowX = Infinity; let highX = -Infinity; let lowY = Infinity; let highY = -Infinity;
    const firstKept = Math.max(...trace.chains.map((chain) => chain.first_kept || 0));
    for (const chain of trace.chains) {
      chain.sweeps.forEach((sweep, i) => {
        lowX = Math.min(lowX, sweep); highX = Math.max(highX, sweep);
        // The first few sweeps would dominate the scale.
        if (sweep < 0.04 * chain.sweeps[chain.sweeps.length - 1] && chain.sweeps.length > 40) return;
        if (Number.isFinite(chain.values[i])) { lowY = Math.min(lowY, chain.values[i]); highY = Math.max(highY, chain.values[i]); }
      });
    }
    const keptValues = trace.chains.flatMap((chain) => chain.values.filter((v, i) => Number.isFinite(v) && chain.sweeps[i] >= firstKept)).sort((a, b) => a - b);
    if (keptValues.length > 50) {
      // Outliers must not dominate the scale, which is set by the quartiles of the kept sweeps.
      const [q1, q3] = [keptValues[Math.floor(keptValues.length / 4)], keptValues[Math.floor((3 * keptValues.length) / 4)]];
      const reach = 8 * (q3 - q1) || Infinity;
      lowY = Math.max(lowY, q1 - reach); highY = Math.min(highY, q3 + reach);
    }
    if (bound) highY = Math.max(highY, bound);
    if (!(highY > lowY)) { lowY -= 0.5; highY += 0.5; }
    const labels = ticks(lowY, highY, 3).map((t) => [t, formatNumber(t, 3)]);
    const left = Math.max(54, 8 + 7 * Math.max(...labels.map(([, label]) => label.length)));
    const x = (v) => left + ((v - lowX) / (highX - lowX || 1)) * (width - left - right);
    const y = (v) => Math.max(top - 4, Math.min(height - bottom + 4, height - bottom - ((v - lowY) / (highY - lowY)) * (height - top - bottom)));
    return s('svg', { width, height, role: 'img', 'aria-label': `trace of ${trace.label}` },
      firstKept > lowX && s('rect', { class: 'burnin', x: left, y: top, width: Math.max(0, x(firstKept) - left), height: height - top - bottom }),
      labels.map(([t, label]) => s('g', {},
        s('line', { class: 'grid', x1: left, x2: width - right, y1: y(t), y2: y(t) }),
        s('text', { class: 'tick', x: left - 6, y: y(t) + 4, 'text-anchor': 'end' }, label))),
      ticks(lowX, highX, Math.max(2, Math.floor(width / 110))).map((t) => s('text', { class: 'tick', x: Math.min(x(t), width - 14), y: height - 6, 'text-anchor': 'middle' }, formatInteger(t))),
      bound && s('line', { class: 'bound', x1: left, x2: width - right, y1: y(bound), y2: y(bound) }),
      trace.chains.map((chain, i) => s('path', {
        d: path(chain.sweeps.map(x), chain.values.map((v) => y(v ?? lowY))),
        style: { fill: 'none', stroke: colourOf(i), 'stroke-width': 1.3, 'stroke-linejoin': 'round' },
      })));
  });
}

// An image: one number per pixel, in strong colours for large values.
function pixels(values, from, shape, size, label) {
  const [rows, columns] = shape;
  const scale = Math.max(1, Math.floor(size / Math.max(rows, columns)));
  const canvas = h('canvas', { class: 'pixels', width: columns * scale, height: rows * scale, role: 'img', 'aria-label': label });
  const ctx = canvas.getContext('2d');
  let low = Infinity; let high = -Infinity;
  for (let i = 0; i < rows * columns; i += 1) { low = Math.min(low, values[from + i]); high = Math.max(high, values[from + i]); }
  if (!vectors) low = 0;
  const background = isDark() ? [30, 34, 41] : [244, 243, 239];
  const foreground = isDark() ? [240, 216, 120] : [18, 42, 84];
  for (let i = 0; i < rows * columns; i += 1) {
    const t = (values[from + i] - low) / (high - low || 1);
    ctx.fillStyle = `rgb(${background.map((from, c) => Math.round(from + t * (foreground[c] - from))).join(',')})`;
    ctx.fillRect((i % columns) * scale, Math.floor(i / columns) * scale, scale, scale);
  }
  return canvas;
}

// One row per dimension: mean and standard deviation, over the band of the overall distribution.
function profile(names, mean, sd, allMean, allSd, colour, label) {
  const order = names.map((_, d) => d);
  const deviation = (d) => Math.abs(mean[d] - allMean[d]) / ((allSd && allSd[d]) || 1);
  const limit = 24;
  const chosen = order.length > limit ? order.sort((a, b) => deviation(b) - deviation(a)).slice(0, limit) : order;
  const body = responsive((width) => {
    const row = 26;
    const left = Math.min(130, Math.round(width * 0.34));
    const height = chosen.length * row + 22;
    // Dimensions are standardised to share one axis.
    const unit = (x, d) => (x - allMean[d]) / ((allSd && allSd[d]) || 1);
    const reach = Math.max(2, ...chosen.map((d) => Math.abs(unit(mean[d], d)) + (sd ? sd[d] / ((allSd && allSd[d]) || 1) : 0)));
    const x = (t) => left + ((t + reach) / (2 * reach)) * (width - left - 60);
    return s('svg', { width, height, role: 'img', 'aria-label': label },
      s('rect', { class: 'band', x: x(-1), width: x(1) - x(-1), y: 0, height: height - 20 }),
      s('line', { class: 'axis', x1: x(0), x2: x(0), y1: 0, y2: height - 20 }),
      s('text', { class: 'tick', x: x(0), y: height - 5, 'text-anchor': 'middle' }, 'overall mean'),
      chosen.map((d, i) => {
        const y = i * row + row / 2;
        const t = unit(mean[d], d);
        const spread = sd ? sd[d] / ((allSd && allSd[d]) || 1) : 0;
        return s('g', {},
          s('text', { class: 'row-label', x: 0, y: y + 4 }, names[d].length > 20 ? `${names[d].slice(0, 19)}…` : names[d]),
          sd && s('line', { x1: x(t - spread), x2: x(t + spread), y1: y, y2: y, style: { stroke: colour, 'stroke-width': 4, opacity: 0.35, 'stroke-linecap': 'round' } }),
          s('circle', { cx: x(t), cy: y, r: 5, style: { fill: colour } }),
          s('text', { class: 'tick', x: width, y: y + 4, 'text-anchor': 'end' }, formatNumber(mean[d])));
      }));
  });
  const note = order.length > limit ? `The ${limit} of ${order.length} dimensions that differ most from the overall mean. ` : '';
  return h('div', {}, body, h('p', { class: 'note' },
    `${note}Dot: mean${sd ? '; line: ± one standard deviation' : ''}. Shaded: overall mean ± one standard deviation.`));
}

// A square matrix of shares with tooltips.
function matrixChart(values, n, cellLabel, rowLink) {
  return responsive((width) => {
    const left = 34;
    const size = Math.max(4, Math.min(26, Math.floor((width - left - 4) / n)));
    const canvas = h('canvas', { width: left + n * size + 1, height: left + n * size + 1, class: 'matrix', role: 'img', 'aria-label': 'Overlap of clusters', tabindex: '0' });
    const ctx = canvas.getContext('2d');
    ctx.font = '11px system-ui, sans-serif';
    ctx.fillStyle = css('--soft');
    const every = Math.ceil(13 / size);
    for (let i = 0; i < n; i += every) {
      ctx.textAlign = 'right'; ctx.fillText(String(i), left - 5, left + i * size + size / 2 + 4);
      ctx.textAlign = 'center'; ctx.fillText(String(i), left + i * size + size / 2, left - 6);
    }
    for (let a = 0; a < n; a += 1) {
      for (let b = 0; b < n; b += 1) {
        ctx.fillStyle = scaleColour(values[a * n + b]);
        ctx.fillRect(left + b * size, left + a * size, size - (size > 8 ? 1 : 0), size - (size > 8 ? 1 : 0));
      }
    }
    const cell = (event) => {
      const box = canvas.getBoundingClientRect();
      const b = Math.floor((event.clientX - box.left - left) / size);
      const a = Math.floor((event.clientY - box.top - left) / size);
      return a >= 0 && b >= 0 && a < n && b < n ? [a, b] : null;
    };
    canvas.addEventListener('pointermove', (event) => {
      const found = cell(event);
      if (found) showTip(event.clientX, event.clientY, cellLabel(...found)); else hideTip();
    });
    canvas.addEventListener('pointerleave', hideTip);
    canvas.addEventListener('click', (event) => { const found = cell(event); if (found) window.location.hash = rowLink(...found); });
    return canvas;
  }, 'painted');
}

// A blue to yellow scale, safe for colour-blind readers.
function scaleStops() {
  return isDark()
    ? [[47, 62, 98], [76, 99, 138], [122, 132, 134], [178, 166, 112], [222, 200, 92], [254, 232, 80]]
    : [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [240, 214, 60]];
}

function scaleColour(t) {
  const stops = scaleStops();
  const position = Math.max(0, Math.min(1, Number.isFinite(t) ? t : 0)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(position));
  const part = position - i;
  return `rgb(${stops[i].map((c, d) => Math.round(c + part * (stops[i + 1][d] - c))).join(',')})`;
}
