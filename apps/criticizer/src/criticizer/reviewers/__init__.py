"""Who looks at a change: a model behind an API, or rules that need nobody."""
