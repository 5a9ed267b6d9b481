"""What a request asks: who visits, which rows, which action to confirm."""
