"""The model: its hyper-parameters, declared once, and the priors of one fit."""
