"""What training has learned, as values: dataclasses of arrays and numbers that declare each field once."""
