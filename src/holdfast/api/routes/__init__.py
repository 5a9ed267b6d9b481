"""Routes, one file for each noun; `NOUNS` of `holdfast.api.app` says which are served."""
