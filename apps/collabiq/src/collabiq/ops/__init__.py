"""Alert rules and a dashboard, for `holdfast export --system collabiq`."""
