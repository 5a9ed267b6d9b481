"""Files for those who run holdfast: a dashboard, rules for alerts, an application to begin with."""
