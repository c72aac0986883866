"""Publishing where rows stay on the cluster, one file per family of methods; to be replaced by the engine protocol."""
