"""What backends that keep their jobs in SQL have in common: all but the statements, the connection and the hints."""
