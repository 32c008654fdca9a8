"""The short tables of the pages: each module has TABLES, from a name to what returns head and rows."""
