"""What the commands do: a function each, named after its command. `cli` has the table; what is here is imported for one of them only."""
