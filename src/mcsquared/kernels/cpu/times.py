"""Times of topics in nonparametric Topics over Time (npTOT): a mixture of Gaussians per topic.

The mixtures are Dirichlet process mixtures with concentration α. The topic and the component of a
token are drawn jointly: first the topic, with its components summed out.
The density of a topic at the time t of a group is

    f_m(t)  =  [ Σ_c n_mc p(t | times of c) + α p(t) ] / (Σ_c n_mc + α)

Then the component is drawn from p(s_ji = c | m) ∝ n_mc p(t_j | times of c), or α p(t_j) for a new
one. p is the Student-t of a Normal-Gamma prior. All tokens of a group have the same time, so the
densities of all components at that time are stored; a token that moves changes two of them. A group
without a time has f = 1, and its tokens have no component.
"""

import math
from typing import NamedTuple

import numpy as np

from mcsquared.kernels.caching import njit
from mcsquared.kernels.cpu.predictive import prepare_gaussian


class Times(NamedTuple):
    """Times of groups and components of topics. A component slot without tokens is empty."""

    time: np.ndarray  # float64 (n_groups,): NaN where it is missing
    component_of_token: np.ndarray  # int32 (n_tokens,): −1 if the time is missing
    alpha: float
    parameters: np.ndarray  # float64 (4,): Normal-Gamma mean, strength, shape, rate
    statistics: np.ndarray  # float64 (topic slots, component slots, 3): n, Σt, Σt²
    prepared: np.ndarray  # float64 (topic slots, component slots, 4): see `prepare_gaussian`
    prior: np.ndarray  # float64 (4,): the prepared row of a component without tokens
    density: np.ndarray  # float64 (topic slots, component slots): at ``density_time``
    density_time: np.ndarray  # float64 (1,): time of the last group that has one
    factor: np.ndarray  # float64 (topic slots,): f_m of the current group


def make_times(time, component_of_token, alpha, parameters, statistics) -> Times:
    """Return `Times` with scratch arrays for one call of a kernel."""
    n_topic_slots, n_component_slots, _ = statistics.shape
    return Times(
        time,
        component_of_token,
        alpha,
        parameters,
        statistics,
        prepared=np.zeros((n_topic_slots, n_component_slots, 4)),
        prior=np.zeros(4),
        density=np.zeros((n_topic_slots, n_component_slots)),
        density_time=np.full(1, math.nan),
        factor=np.ones(n_topic_slots),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def sum_times(group_start, time, topic_of_token, component_of_token, statistics):
    """Sum 1, t and t² over the tokens of every component, in order."""
    statistics[:] = 0.0
    for j in range(group_start.size - 1):
        for i in range(group_start[j], group_start[j + 1]):
            c = component_of_token[i]
            if c >= 0:
                row = statistics[topic_of_token[i], c]
                row[0] += 1.0
                row[1] += time[j]
                row[2] += time[j] * time[j]


@njit(cache=True, error_model="numpy")
def density_at(prepared, t):
    """Return the density of a Student-t at ``t``, given its prepared row."""
    distance = t - prepared[0]
    return math.exp(prepared[1] - prepared[2] * math.log1p(prepared[3] * distance * distance))


@njit(cache=True, error_model="numpy")
def prepare_components(times):
    """Prepare every occupied component; return whether some topic has no empty slot."""
    prepare_gaussian(times.parameters, np.zeros(3), times.prior)
    times.density_time[0] = math.nan
    full = False
    for m in range(times.density.shape[0]):
        full |= is_full(times.statistics[m])
        for c in range(times.density.shape[1]):
            if times.statistics[m, c, 0] > 0.0:
                prepare_gaussian(times.parameters, times.statistics[m, c], times.prepared[m, c])
    return full


@njit(cache=True, error_model="numpy")
def is_full(statistics):
    """Return whether all component slots of a topic are occupied."""
    n_occupied = 0
    for c in range(statistics.shape[0]):
        n_occupied += statistics[c, 0] > 0.0
    return n_occupied == statistics.shape[0]


@njit(cache=True, error_model="numpy")
def begin_group(j, times):
    """Compute all densities at the time of group ``j``; return that of a new component."""
    t = times.time[j]
    if math.isnan(t):
        times.factor[:] = 1.0
        return 1.0
    new_density = density_at(times.prior, t)
    for m in range(times.factor.size):
        if t != times.density_time[0]:
            for c in range(times.density.shape[1]):
                is_occupied = times.statistics[m, c, 0] > 0.0
                density = density_at(times.prepared[m, c], t) if is_occupied else 0.0
                times.density[m, c] = density
        times.factor[m] = mixture_at(m, new_density, times)
    times.density_time[0] = t
    return new_density


@njit(cache=True, error_model="numpy")
def mixture_at(m, new_density, times):
    """Return f_m at the time of the current group."""
    statistics, density = times.statistics[m], times.density[m]
    total = n_tokens = 0.0
    for c in range(density.size):
        total += statistics[c, 0] * density[c]
        n_tokens += statistics[c, 0]
    return (total + times.alpha * new_density) / (n_tokens + times.alpha)


@njit(cache=True, error_model="numpy")
def change_component(m, c, t, sign, new_density, times):
    """Add (sign 1) or remove (sign -1) a token at ``t``, the time of the current group."""
    row, prepared = times.statistics[m, c], times.prepared[m, c]
    row[0] += sign
    row[1] += sign * t
    row[2] += sign * t * t
    if row[0] < 0.5:  # empty: discards the rounding errors of removals
        row[:] = 0.0
        times.density[m, c] = 0.0
    else:
        prepare_gaussian(times.parameters, row, prepared)
        times.density[m, c] = density_at(prepared, t)
    times.factor[m] = mixture_at(m, new_density, times)


@njit(cache=True, error_model="numpy")
def leave_component(i, j, m, new_density, times):
    """Remove token ``i`` of group ``j`` from its component of topic ``m``."""
    t = times.time[j]
    if not math.isnan(t):
        change_component(m, times.component_of_token[i], t, -1, new_density, times)


@njit(cache=True, error_model="numpy")
def join_component(i, j, m, new_density, u, times):
    """Draw the component of a token of topic ``m``; return whether it took the last empty slot."""
    t = times.time[j]
    if math.isnan(t):
        return False
    c = pick_component(m, new_density, u, times)
    is_new = times.statistics[m, c, 0] == 0.0
    change_component(m, c, t, 1, new_density, times)
    times.component_of_token[i] = c
    return is_new and is_full(times.statistics[m])


@njit(cache=True, error_model="numpy")
def pick_component(m, new_density, u, times):
    """Draw a component of topic ``m``; an empty slot is a new component."""
    statistics, density = times.statistics[m], times.density[m]
    total = times.alpha * new_density
    for c in range(density.size):
        total += statistics[c, 0] * density[c]
    # The new component comes first, so that rounding at the end favours an occupied component.
    threshold = u * total - times.alpha * new_density
    chosen = -1
    if threshold >= 0.0:
        for c in range(density.size):
            if statistics[c, 0] > 0.0:
                chosen = c
                threshold -= statistics[c, 0] * density[c]
                if threshold < 0.0:
                    break
    if chosen < 0:
        chosen = 0
        while chosen < density.size - 1 and statistics[chosen, 0] > 0.0:
            chosen += 1
    return chosen
