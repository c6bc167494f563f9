"""Programming languages: how their code is compiled, tested and linted in a sandbox."""
