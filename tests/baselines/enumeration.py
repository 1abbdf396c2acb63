"""Exact posteriors of topics in groups that mix them by weights of their own, and chains beside.

The hierarchical Dirichlet process is the paper's model with every group a cluster of its own, so
its posterior is that of `tests.statistics.tiny` given z_j = j. With times, each topic's tokens are
seated at components of time as well, which are listed too:

    p(l, s, w, t)  =  p(l, w)  Π_m [ Γ(α) / Γ(α + N_m) Π_c α Γ(n_mc) p(times of c) ]
"""

from itertools import product

import numpy as np
from scipy.special import gammaln

from tests.statistics.agreement import Visits
from tests.statistics.tiny import Posterior, blocks, canonical, partitions


def without_clusters(tiny):
    """{columns: probability}: counts per (group, word, topic), every group its own cluster."""
    posterior = Posterior(tiny)
    alone = tuple(range(posterior.n_groups))
    found = {columns: chance for (z, columns), chance in posterior.states.items() if z == alone}
    total = sum(found.values())
    return posterior, {columns: chance / total for columns, chance in found.items()}


def with_times(tiny, family, times, alpha):
    """{(topics, components): probability}: labels of all tokens, numbered by first appearance.

    Parameters
    ----------
    family : Gaussian
        Of the times.
    times : list of float
        Of each group, NaN where missing.
    alpha : float
    """
    posterior = Posterior(tiny)
    groups = range(posterior.n_groups)
    time = np.asarray(times)[posterior.group_of_token]
    found = {}
    for topics in partitions(posterior.n_tokens):
        tokens = blocks(topics)
        weight = posterior.topics(groups, tokens)
        weight *= np.prod([posterior.content(block) for block in tokens])
        timed = [[i for i in block if not np.isnan(time[i])] for block in tokens]
        for partition_of_topic in product(*(partitions(len(block)) for block in timed)):
            density = np.prod(
                [
                    times_density(np.array(partition), time[block], family, alpha)
                    for partition, block in zip(partition_of_topic, timed, strict=True)
                ]
            )
            found[topics, components(topics, timed, partition_of_topic)] = weight * density
    total = sum(found.values())
    return {state: chance / total for state, chance in found.items()}


def times_density(partition, time, family, alpha):
    """Density of the times of one topic's tokens, seated in this way."""
    if not len(time):
        return 1.0
    log_density = gammaln(alpha) - gammaln(alpha + len(time))
    for c in range(max(partition) + 1):
        x = time[partition == c]
        log_density += np.log(alpha) + gammaln(len(x))
        log_density += family.log_marginal(family.statistics(x).sum(axis=0)) + family.log_base(
            x
        ).sum(axis=0)
    return float(np.exp(log_density))


def components(topics, timed, partition_of_topic):
    """One label for every token's topic and component; -1 in place of the latter without a time."""
    label = [(m, -1) for m in topics]
    for m, (block, partition) in enumerate(zip(timed, partition_of_topic, strict=True)):
        for i, c in zip(block, partition, strict=True):
            label[i] = (m, c)
    return canonical(label)


def visit(sweep, see, n_sweeps, exact, burn_in=100):
    """Run a chain and note what is seen of it after every sweep."""
    numbers, number_in_sweep = {}, np.empty(n_sweeps, int)
    for t in range(-burn_in, n_sweeps):
        sweep()
        if t >= 0:
            number_in_sweep[t] = numbers.setdefault(see(), len(numbers))
    return Visits(list(numbers), number_in_sweep, exact)
