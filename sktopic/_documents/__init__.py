"""What X may be, as batches of documents: matrices, blocks, corpora on disk, weights, messages."""
