"""What secrets and personal data look like in text: names, shapes, pairs, headers, addresses."""
