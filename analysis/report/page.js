// What a report can do with scripts beyond what it shows without: read-outs of charts and attention
// maps by pointer and keyboard, a choice of theme, commands to copy. It keeps to the page: no
// network, no storage. All values are read off the pictures themselves.
'use strict';

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const shape = (tag, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

// A number with as many digits as the picture can tell apart.
const written = (value, resolution) => {
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(resolution))));
  const size = Math.abs(value);
  if (size > 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  const unit = 10 ** Math.ceil(Math.log10(resolution));
  const rounded = unit > 1 ? Math.round(value / unit) * unit : value;
  return rounded.toLocaleString('en', {maximumFractionDigits: digits, useGrouping: 'min2'});
};

// From pixels to values along one axis; `ends` is "low high" or "low high log".
const axis = (ends, from, to) => {
  const [low, high, kind] = ends.split(' ');
  const log = kind === 'log';
  const a = log ? Math.log(+low) : +low, b = log ? Math.log(+high) : +high;
  return pixel => {
    const plain = a + (pixel - from) / (to - from) * (b - a);
    const value = log ? Math.exp(plain) : plain;
    const step = Math.abs((b - a) / (to - from)) * 0.02;  // coordinates have two digits
    return written(value, log ? value * step : step);
  };
};

function readable(svg) {
  const frame = svg.querySelector('.frame[data-x]');
  if (!frame) return;
  const at = name => +frame.getAttribute(name);
  const left = at('x'), right = left + at('width'), top = at('y'), bottom = top + at('height');
  const x = axis(frame.dataset.x, left, right), y = axis(frame.dataset.y, bottom, top);
  const series = [...svg.querySelectorAll('g[data-name]')].filter(group => group.dataset.name)
    .map(group => ({
      group,
      points: [...group.querySelectorAll('polyline, circle')].flatMap(part =>
        part.tagName === 'circle' ? [[+part.getAttribute('cx'), +part.getAttribute('cy')]] :
        part.getAttribute('points').trim().split(' ').map(point => point.split(',').map(Number))),
    })).filter(one => one.points.length);
  if (!series.length) return;

  const figure = svg.closest('figure');
  const tip = make('div', {className: 'tip'});
  tip.setAttribute('role', 'status');
  figure.append(tip);
  const cursor = shape('path', {class: 'cursor', d: ''});
  svg.append(cursor);
  let place = NaN;  // of the cursor, in the picture's pixels

  const hide = () => {
    tip.textContent = '';
    cursor.setAttribute('d', '');
  };
  const shown = () => series.filter(one => getComputedStyle(one.group).display !== 'none');
  const show = wanted => {
    let nearest = null;
    for (const {points} of shown())
      for (const [px] of points)
        if (nearest === null || Math.abs(px - wanted) < Math.abs(nearest - wanted)) nearest = px;
    if (nearest === null) return hide();
    place = nearest;
    cursor.setAttribute('d', `M${place} ${top}V${bottom}`);
    tip.replaceChildren(make('div', {className: 'soft'},
                             `${figure.dataset.x || 'x'} ${x(place)}`));
    const reach = (right - left) / 40;
    for (const {group, points} of shown()) {
      const point = points.reduce((a, b) => Math.abs(b[0] - place) < Math.abs(a[0] - place) ? b : a);
      if (Math.abs(point[0] - place) > reach) continue;
      const swatch = make('span', {className: `swatch ${group.getAttribute('class').replace('p', 'r')}`});
      tip.append(make('div', {}, make('span', {className: 'run'}, swatch, make('bdi', {}, group.dataset.name)), y(point[1])));
    }
    const outer = figure.getBoundingClientRect(), inner = svg.getBoundingClientRect();
    const scale = inner.width / svg.viewBox.baseVal.width, wide = tip.offsetWidth;
    const middle = inner.left - outer.left + place * scale;
    const beside = middle + 12 + wide > outer.width ? middle - 12 - wide : middle + 12;
    tip.style.left = `${Math.max(0, beside)}px`;
    tip.style.top = `${inner.top - outer.top + top * scale + 8}px`;
  };

  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect();
    show((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width);
  });
  svg.addEventListener('pointerleave', hide);
  svg.setAttribute('tabindex', '0');
  svg.addEventListener('focus', () => { if (svg.matches(':focus-visible')) show(isNaN(place) ? right : place); });
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    if (event.key === 'Escape') return hide();
    const places = [...new Set(shown().flatMap(one => one.points.map(point => point[0])))].sort((a, b) => a - b);
    const now = places.findIndex(one => one >= place);
    const next = {
      ArrowLeft: now - 1, ArrowRight: now + 1, PageUp: now + 10, PageDown: now - 10,
      Home: 0, End: places.length - 1,
    }[event.key];
    if (next === undefined || !places.length) return;
    event.preventDefault();
    show(places[Math.min(places.length - 1, Math.max(0, next))]);
  });
}
document.querySelectorAll('svg.zoo-plot').forEach(readable);

// Attention: which cell is pointed at, and its weight.
function explorable(field) {
  const svg = field.querySelector('.map svg'), read = field.querySelector('.read');
  const rows = JSON.parse(field.dataset.rows), columns = JSON.parse(field.dataset.columns);
  const [left, top, size] = field.dataset.frame.split(' ').map(Number);
  const cell = svg.appendChild(shape('rect', {class: 'cell', width: size, height: size, visibility: 'hidden'}));
  const weights = {};
  let row = 0, column = 0;

  const chosen = () => field.querySelector('input:checked');
  const values = id => weights[id] ??= (() => {
    const bytes = atob(document.getElementById(id).dataset.weights);
    return (r, c) => {
      const place = 2 * (r * columns.length + c);
      return (bytes.charCodeAt(place) + 256 * bytes.charCodeAt(place + 1)) / 65535;
    };
  })();
  const show = () => {
    const weight = values(chosen().value)(row, column);
    cell.setAttribute('x', left + column * size);
    cell.setAttribute('y', top + row * size);
    cell.setAttribute('visibility', 'visible');
    read.textContent = `${rows[row]} → ${columns[column]}: ${weight.toPrecision(3)}`;
  };
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const c = Math.floor(((event.clientX - box.left) * scale - left) / size);
    const r = Math.floor(((event.clientY - box.top) * scale - top) / size);
    if (r < 0 || c < 0 || r >= rows.length || c >= columns.length) return;
    [row, column] = [r, c];
    show();
  });
  svg.setAttribute('tabindex', '0');
  svg.addEventListener('focus', () => { if (svg.matches(':focus-visible')) show(); });
  svg.addEventListener('keydown', event => {
    const [down, right] = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    }[event.key] || [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    row = Math.min(rows.length - 1, Math.max(0, row + down));
    column = Math.min(columns.length - 1, Math.max(0, column + right));
    show();
  });
  // Radio buttons go through all heads with any arrow key; up and down shall go to the same head of
  // the next layer.
  const inputs = [...field.querySelectorAll('input')], heads = +field.dataset.heads;
  field.addEventListener('keydown', event => {
    const step = {ArrowUp: -heads, ArrowDown: heads}[event.key];
    if (!step || event.target.type !== 'radio') return;
    event.preventDefault();
    const next = inputs[inputs.indexOf(event.target) + step];
    if (!next) return;
    next.checked = true;
    next.focus();
    next.dispatchEvent(new Event('change', {bubbles: true}));
  });
  field.addEventListener('change', () => { if (cell.getAttribute('visibility') === 'visible') show(); });
}
document.querySelectorAll('.attention').forEach(explorable);

// Light, dark, or as the system has it.
const themes = ['auto', 'light', 'dark'];
const theme = make('button', {type: 'button', textContent: 'Theme: auto'});
theme.addEventListener('click', () => {
  const root = document.documentElement;
  const next = themes[(themes.indexOf(root.dataset.theme || 'auto') + 1) % themes.length];
  if (next === 'auto') delete root.dataset.theme;
  else root.dataset.theme = next;
  theme.textContent = `Theme: ${next}`;
});
document.querySelector('header nav').append(theme);

for (const box of document.querySelectorAll('.command')) {
  const button = make('button', {type: 'button', textContent: 'Copy'});
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(box.querySelector('pre').textContent);
      button.textContent = 'Copied';
    } catch {  // a page from a file may have no clipboard
      getSelection().selectAllChildren(box.querySelector('pre'));
      button.textContent = 'Selected';
    }
  });
  box.append(button);
}

// Paper has no way to open what is folded.
let folded = [];
addEventListener('beforeprint', () => {
  folded = [...document.querySelectorAll('details:not([open])')];
  for (const one of folded) one.open = true;
});
addEventListener('afterprint', () => {
  for (const one of folded) one.open = false;
});
