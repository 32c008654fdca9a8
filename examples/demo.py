"""
Topics of a real corpus
=======================

Fits a topic model to the docstrings of numpy, scipy and scikit-learn, prints its topics and how well it
predicts documents it has not seen, and draws both.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy
import sklearn
from matplotlib.figure import Figure
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.model_selection import train_test_split

from sktopic.datasets import load_docstrings
from sktopic.inspection import plot_scores, plot_topics, top_words
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import document_completion

N_TOPICS = 30
N_PASSES = 20
CHUNK_SIZE = 400

# Docstrings name types, defaults and packages at every turn, whatever they are about.
# fmt: off
SIGNATURE_WORDS = [
    "args", "attribute", "attributes", "bool", "boolean", "callable", "cls", "dict", "dtype", "false",
    "float", "func", "int", "integer", "kwargs", "keyword", "kwds", "nan", "none", "numpy", "object",
    "optional", "param", "parameter", "rng", "scalar", "scipy", "self", "sklearn", "str", "string",
    "true", "tuple", "type", "types", "ufunc", "uninitialized",
]
# fmt: on

# Lower-case words of three letters or more, but not the names of roles, directives and LaTeX commands.
WORD = r"(?<![:\\\w])[a-z]{3,}(?!::|\w)"


def main():
    parser = argparse.ArgumentParser(description="Fit topics to docstrings, print them and draw them.")
    parser.add_argument("--output", type=Path, default=Path("demo"), metavar="DIR", help="for the picture")
    output = parser.parse_args().output

    docs = load_docstrings()
    train_texts, test_texts = train_test_split(docs.data, test_size=0.1, random_state=0)
    vectorizer = CountVectorizer(
        token_pattern=WORD,
        stop_words=list(ENGLISH_STOP_WORDS.union(SIGNATURE_WORDS)),
        min_df=10,  # documents
        max_df=0.1,  # share of the documents: what more of them have in common is boilerplate
    )
    train, test = vectorizer.fit_transform(train_texts), vectorizer.transform(test_texts)
    words = vectorizer.get_feature_names_out()
    packages = [f"{package.__name__} {package.__version__}" for package in (np, scipy, sklearn)]
    report("corpus", f"docstrings of {', '.join(packages)}")
    report("documents", f"{train.shape[0]:,} to learn from, {test.shape[0]:,} held out")
    report("vocabulary", f"{len(words):,} words")
    report("tokens", f"{train.sum():,} to learn from, {test.sum():,} held out")

    model = OnlineEMLDA(
        N_TOPICS,
        total_samples=train.shape[0],
        random_state=0,
    )
    seen, scores, seconds = learn(model, train, test)
    report("model", f"OnlineEMLDA, {N_TOPICS} topics, {N_PASSES} passes")
    report("fit time", f"{seconds:.1f} s")
    report("speed", f"{N_PASSES * train.sum() / seconds:,.0f} tokens per second")

    # One topic for all documents: the frequencies of words, and what a topic model has to beat.
    frequencies = np.asarray(train.sum(axis=0)) + model.topic_word_prior_
    baseline = document_completion(frequencies, test, doc_topic_prior=1.0)
    report("held out", f"{scores[-1]:.3f} nats per word, perplexity {np.exp(-scores[-1]):.0f}")
    report("no topics", f"{baseline:.3f} nats per word, perplexity {np.exp(-baseline):.0f}")

    tokens = model.topic_word_counts_.sum(axis=1)
    shares = tokens / tokens.sum()
    by_size = np.argsort(-shares)
    print("\nshare  most probable words of each topic")
    for share, topic_words in zip(shares[by_size], top_words(model, words)[by_size]):
        print(f"{share:5.1%}  {' '.join(topic_words)}")

    output.mkdir(parents=True, exist_ok=True)
    path = output / "demo.png"
    titles = [f"{share:.1%} of the tokens" for share in shares[by_size]]
    draw(model, words, by_size, titles, seen, scores, baseline).savefig(path, dpi=120)
    print(f"\nThe picture is in {path}")


def report(name, value):
    print(f"{name:<11} {value}", flush=True)


def learn(model, train, test):
    """Train chunk by chunk; return documents seen, the score after each of them, and seconds of training."""
    rng = np.random.RandomState(0)
    seen, scores, seconds = [], [], 0.0
    for n_pass in range(N_PASSES):
        shuffled = train[rng.permutation(train.shape[0])]
        for first in range(0, train.shape[0], CHUNK_SIZE):
            chunk = shuffled[first : first + CHUNK_SIZE]
            start = time.perf_counter()
            model.partial_fit(chunk)
            seconds += time.perf_counter() - start
            # Progress is quick at first: score after each chunk of the first pass, then after each pass.
            if n_pass == 0 or first + CHUNK_SIZE >= train.shape[0]:
                seen.append(model.n_samples_seen_)
                scores.append(model.score(test))
    return seen, scores, seconds


def draw(model, words, topics, titles, seen, scores, baseline):
    """Topics above, held-out score against documents seen below."""
    fig = Figure(figsize=(16, 14), layout="constrained")
    above, below = fig.subfigures(2, 1, height_ratios=[4, 1], hspace=0.02)
    above.suptitle(f"{len(topics)} topics and their most probable words", fontsize="x-large")
    plot_topics(model, words, topics=topics, titles=titles, n_words=8, n_columns=6, fig=above)

    below.suptitle("How well the hidden words of held-out documents are predicted", fontsize="x-large")
    ax = below.subplots()
    ax.set_xscale("log")
    plot_scores(seen, scores, ax=ax)
    ax.axhline(baseline, color="grey", linestyle="--")
    label, above_line = "word frequencies alone, no topics", (0, 4)
    ax.annotate(label, (seen[-1], baseline), above_line, textcoords="offset points", color="grey", ha="right")
    return fig


if __name__ == "__main__":
    main()
