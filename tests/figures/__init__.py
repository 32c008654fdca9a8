"""Sentences of pages that have figures of tables: a module for each page, with its SENTENCES."""
