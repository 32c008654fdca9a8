"""What the rest stands on: arrays, files, threads, interrupts, progress, optional imports."""
