"""Read files that Atheris makes up: ``make fuzz``. A reader returns, or raises ValueError or OSError.

The first byte chooses the reader, and the rest is the content of its file. Arguments are options of libFuzzer
and a folder for inputs that reach new code, which first gets a valid file of each reader. pyarrow, which
reads Parquet, has fuzzers of its own.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["sktopic"]):
    import sktopic
    from sktopic.datasets import (
        iter_ldac,
        iter_matrix_market,
        iter_uci,
        make_bars,
        open_corpus,
        read_ldac,
        read_uci,
        save_corpus,
    )
    from sktopic.lda import OnlineEMLDA

FOLDER = Path(tempfile.mkdtemp())
X = make_bars(5, random_state=0).data
save_corpus(FOLDER / "corpus", X)
HEADER = FOLDER / "corpus" / "header.json"
OnlineEMLDA(2, max_iter=1).fit(X).save(FOLDER / "model.zip")
LDAC = b"2 0:1 3:2\n1 1:4\n"
UCI = b"2\n4\n3\n1 1 1\n1 4 2\n2 2 4\n"
MARKET = b"%%MatrixMarket matrix coordinate integer general\n2 4 3\n1 1 1\n1 4 2\n2 2 4\n"


def corpus_with_header(path):
    HEADER.write_bytes(path.read_bytes())
    corpus = open_corpus(FOLDER / "corpus", verify=True)
    return corpus[: corpus.shape[0]]


# A reader of a path, and the content of a valid file.
READERS = (
    (read_uci, UCI),
    (lambda path: list(iter_uci(path)), UCI),
    (read_ldac, LDAC),
    (lambda path: list(iter_ldac(path, 4)), LDAC),
    (lambda path: list(iter_matrix_market(path)), MARKET),
    (corpus_with_header, HEADER.read_bytes()),
    (sktopic.load, (FOLDER / "model.zip").read_bytes()),
    (lambda path: sktopic.load(path, mmap_mode="r", verify=False), (FOLDER / "model.zip").read_bytes()),
)


def read(data):
    path = FOLDER / "input"
    path.write_bytes(data[1:])
    reader, _ = READERS[data[0] % len(READERS) if data else 0]
    try:
        reader(path)
    except (ValueError, OSError) as error:
        if not str(error):  # what is wrong
            raise


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for inputs in filter(Path.is_dir, map(Path, sys.argv[1:])):
        for number, (_, content) in enumerate(READERS):
            inputs.joinpath(f"valid-{number}").write_bytes(bytes([number]) + content)
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()
