"""What a terminal shows: text, tables, bars."""
