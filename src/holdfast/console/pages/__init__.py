"""The screens, one file each; `add_to` of a file routes to its pages and actions."""
