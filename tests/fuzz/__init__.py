"""Random damage to files: ``make fuzz`` runs many cases, ``make test`` a few of each kind."""
