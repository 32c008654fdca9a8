"""What the variational Bayesian methods for LDA share beside their document step."""

# The share of a topic that the words which its prior prefers have at the start. Mean-field inference moves
# topics little: where seeds had half of one, its other words went to others.
LEANING = 0.1
