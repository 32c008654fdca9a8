"""Topics: counts of words, priors, and rows of words as documents see them."""
