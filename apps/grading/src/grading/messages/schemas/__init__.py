"""The JSON Schemas of the messages, for programs in any language."""
