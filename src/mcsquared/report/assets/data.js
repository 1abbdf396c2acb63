// Decode the data of the report: arrays in base64, concatenated lists.

const page = JSON.parse(document.getElementById('data').textContent);

const ARRAYS = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array,
};

function unpack(packed) {
  if (!packed) return null;
  const text = atob(packed.base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  if (packed.type === 'i8') return Array.from(new BigInt64Array(bytes.buffer), Number);
  return new ARRAYS[packed.type](bytes.buffer);
}

// Offsets of the parts of a concatenated list.
function starts(lengths) {
  const first = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i += 1) first[i + 1] = first[i] + lengths[i];
  return first;
}

const groups = {
  n: page.groups.n,
  names: page.groups.names,
  numbers: unpack(page.groups.numbers),
  cluster: unpack(page.groups.cluster),
  confidence: unpack(page.groups.confidence),
  choice: unpack(page.groups.choice),
  choiceProbability: unpack(page.groups.choice_probability),
  tokens: unpack(page.groups.tokens),
  topic: unpack(page.groups.topic),
  topicShare: unpack(page.groups.topic_share),
  groupShares: page.groups.group_shares,
  maps: {},
};
groups.choicesPerGroup = groups.n ? groups.choice.length / groups.n : 0;
groups.topicsPerGroup = groups.n ? groups.topic.length / groups.n : 0;
for (const [name, map] of Object.entries(page.groups.maps)) {
  groups.maps[name] = { x: unpack(map.x), y: unpack(map.y), low: map.low, scale: map.scale };
}

const clusters = {
  ...page.clusters,
  size: unpack(page.clusters.size),
  tokens: unpack(page.clusters.tokens),
  stability: unpack(page.clusters.stability),
  colour: unpack(page.clusters.colour),
  overlap: unpack(page.clusters.overlap),
  images: unpack(page.clusters.images),
};
clusters.nOverlap = Math.round(Math.sqrt(clusters.overlap.length));

const topics = {
  ...page.topics,
  tokens: unpack(page.topics.tokens),
  share: unpack(page.topics.share),
  images: unpack(page.topics.images),
};

const words = page.words && {
  vocabulary: page.words.vocabulary,
  frequency: unpack(page.words.frequency),
  overall: unpack(page.words.overall),
  topicOfWord: unpack(page.words.topic_of_word),
  topicShare: unpack(page.words.topic_share),
  topicsPerWord: page.words.n_topics_of_word,
  first: starts(unpack(page.words.lengths)),
  words: unpack(page.words.values),
  shares: unpack(page.words.shares),
};

const vectors = page.vectors && {
  width: page.vectors.width,
  topicMean: unpack(page.vectors.topic_mean),
  clusterMean: unpack(page.vectors.cluster_mean),
  overallMean: unpack(page.vectors.overall_mean),
  topicSd: unpack(page.vectors.topic_sd),
  clusterSd: unpack(page.vectors.cluster_sd),
  overallSd: unpack(page.vectors.overall_sd),
  topicCovariance: unpack(page.vectors.topic_covariance),
};

function unpackShortlist(list) {
  return { first: starts(unpack(list.lengths)), values: unpack(list.values), shares: unpack(list.shares) };
}

function unpackContext(raw) {
  const context = { ...raw, missingInCluster: unpack(raw.missing_in_cluster) };
  if (raw.kind === 'bag' && raw.values) {
    context.first = starts(unpack(raw.values.lengths));
    context.items = unpack(raw.values.items);
  } else {
    context.values = unpack(raw.values);
  }
  if (raw.table === 'categories') {
    context.overall = unpack(raw.overall);
    context.groupsWith = unpack(raw.groups_with);
    context.by_cluster = unpackShortlist(raw.by_cluster);
    context.by_topic = unpackShortlist(raw.by_topic);
  } else if (raw.table) {
    for (const part of ['points', 'by_cluster', 'by_topic', 'overall', 'cluster_mean', 'topic_mean']) {
      if (raw[part]) context[part] = unpack(raw[part]);
    }
    if (raw.by_value) {
      const { points, groups: counts, by_topic: byTopic } = raw.by_value;
      context.byValue = { points: unpack(points), groups: unpack(counts), byTopic: unpack(byTopic) };
    }
  }
  return context;
}

// `number` is that of the pages of its values; `itemsOf` returns the groups of a cluster.
const contexts = page.contexts.map((raw, number) => ({ ...unpackContext(raw), number, n: groups.n, itemsOf: groupsOfCluster }));

const levels = page.levels.map((raw, number) => {
  const level = { ...raw, number, types: { ...raw.types } };
  for (const part of ['type', 'confidence', 'choice', 'choice_probability', 'n_children', 'parent']) level[part] = unpack(raw[part]);
  for (const part of ['size', 'stability', 'shares']) level.types[part] = unpack(raw.types[part]);
  level.childrenOf = positionsOf(level.parent, level.n, 1);
  level.unitsOf = positionsOf(level.type, level.types.n, 0);
  level.contexts = raw.contexts.map((one) => ({ ...unpackContext(one), n: level.n, itemsOf: (t) => level.unitsOf[t] }));
  return level;
});

// Positions of each label; labels start at `first`.
function positionsOf(labels, n, first) {
  const found = Array.from({ length: n }, () => []);
  labels.forEach((label, i) => { if (label >= first) found[label - first].push(i); });
  return found;
}

const hierarchies = Object.fromEntries(Object.entries(page.hierarchy).map(([of, found]) => [of, found && {
  first: unpack(found.first), second: unpack(found.second), distance: unpack(found.distance), weight: unpack(found.weight),
}]));

const prevalence = page.prevalence.map((found) => found && {
  values: found.values, points: unpack(found.points), groups: unpack(found.groups), share: unpack(found.share), low: unpack(found.low), high: unpack(found.high),
  effects: found.effects && { values: found.effects.values, effect: unpack(found.effects.effect), low: unpack(found.effects.low), high: unpack(found.effects.high) },
});

// The categories of group j.
function valuesOf(context, j) {
  if (context.kind === 'bag') {
    return context.items ? Array.from(context.items.subarray(context.first[j], context.first[j + 1])) : [];
  }
  return context.values[j] > 0 ? [context.values[j] - 1] : [];
}

// Distinct values of a number or a date as text, with their groups; null if there are too many.
const MAX_DISTINCT_VALUES = 3000;
const distinctValuesOf = new Map();

function distinctValues(context) {
  if (!distinctValuesOf.has(context)) distinctValuesOf.set(context, /^(number|count|date)$/.test(context.kind) ? groupsByValue(context) : null);
  return distinctValuesOf.get(context);
}

function groupsByValue(context) {
  const byNumber = new Map();
  for (let j = 0; j < context.values.length && byNumber.size <= MAX_DISTINCT_VALUES; j += 1) {
    const x = context.values[j];
    if (!Number.isFinite(x)) continue;
    if (!byNumber.has(x)) byNumber.set(x, []);
    byNumber.get(x).push(j);
  }
  if (!byNumber.size || byNumber.size > MAX_DISTINCT_VALUES) return null;
  const byText = new Map();
  for (const [x, found] of [...byNumber].sort((a, b) => a[0] - b[0])) {
    const text = formatValue(context, x);
    byText.set(text, [...(byText.get(text) || []), ...found]);
  }
  const names = [...byText.keys()];
  return { names, groups: [...byText.values()], index: new Map(names.map((text, i) => [text, i])) };
}

// Names of the values that have a page.
function valueNames(context) { return context.categories || distinctValues(context)?.names || null; }

function groupsWithValue(context, value) {
  if (!context.categories) return distinctValues(context).groups[value];
  const found = [];
  if (context.kind === 'bag') {
    if (!context.items) return found;
    let j = 0;
    for (let i = 0; i < context.items.length; i += 1) {
      while (i >= context.first[j + 1]) j += 1;
      if (context.items[i] === value) found.push(j);
    }
    return found;
  }
  for (let j = 0; j < groups.n; j += 1) if (context.values[j] === value + 1) found.push(j);
  return found;
}

// Groups of each cluster, computed on first use.
let groupsByCluster = null;
function groupsOfCluster(k) {
  if (!groupsByCluster) {
    groupsByCluster = Array.from({ length: clusters.n }, () => []);
    for (let j = 0; j < groups.n; j += 1) groupsByCluster[groups.cluster[j]].push(j);
  }
  return groupsByCluster[k] || [];
}

// Whether no cluster has half of a group's probability.
function isUnsettled(j) { return groups.choicesPerGroup > 0 && groups.choiceProbability[j * groups.choicesPerGroup] < 127.5 && groups.confidence[j] < 127.5; }

// The share of a topic in a group; 0 if it is not among the largest.
function topicShareOf(j, m) {
  for (let i = j * groups.topicsPerGroup; i < (j + 1) * groups.topicsPerGroup; i += 1) {
    if (groups.topic[i] === m) return groups.topicShare[i] / 255;
  }
  return 0;
}
