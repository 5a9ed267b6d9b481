"""Where changes come from: Git repositories, GitHub, GitLab, or any place that serves diffs."""
