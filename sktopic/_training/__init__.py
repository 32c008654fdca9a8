"""How training goes: step sizes, rules by which batches enter the counts, monitors."""
