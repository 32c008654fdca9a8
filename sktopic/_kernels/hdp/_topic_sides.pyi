from sktopic._kernels._groups import TokensByDocument

def compare_topics(
    first_topic: TokensByDocument,
    second_topic: TokensByDocument,
    prior: float,
    share: float,
    topic_word_prior: float,
    n_features: int,
) -> tuple[float, float, tuple[float, float]]:
    """log_ratio, log_q, tables of both topics."""
