"""The tables: what each may hold, and what builds its flows (PIPELINE.md has it all)."""
