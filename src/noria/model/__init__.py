"""Values of the domain, without I/O."""
