"""Forms: a widget for every input of a model, drawn from its class alone."""
