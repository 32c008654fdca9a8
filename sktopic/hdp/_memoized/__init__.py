"""Memoized variational inference for the direct-assignment HDP (Hughes and Sudderth, 2013).

Each batch of documents leaves a summary behind, and the bound of the whole corpus follows from the summaries:
so a visit to a batch replaces what it left before, and moves of topics are judged on all documents.
"""
