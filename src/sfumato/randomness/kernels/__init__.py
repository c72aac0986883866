"""The cipher stream inside compiled loops; its plain twin is the library that `randomness` uses everywhere else."""
