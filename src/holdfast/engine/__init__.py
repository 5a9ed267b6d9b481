"""The verbs of an application: what programs, operators and the other layers ask for."""
