"""Online EM for the HDP, as printed (the twin of hdp._online_em_method)."""

import numpy as np


def conditional(n, alpha, b, phi_w, n_features):
    """Of a token of one word, given the tokens n of its document in topics: those, then a new one."""
    weights = np.append((n + alpha) * phi_w, (b - alpha.sum()) / n_features)
    return weights / weights.sum()


def stick(u, topic_concentration):
    """What a topic takes of the weight that is left, from a uniform number: Beta(1, alpha) by inversion."""
    return 1.0 - (1.0 - u) ** (1.0 / topic_concentration)


def shares(left, u, topic_concentration):
    """What topics to come get of what is left, one after the other."""
    found = []
    for x in u:
        found.append(left * stick(x, topic_concentration))
        left -= found[-1]
    return np.array(found)
