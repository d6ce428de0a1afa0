"""Makes the embedded graph from the data of packages. Only those who change the graph need it."""
