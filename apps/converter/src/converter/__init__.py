"""The converter: PDF in, XML out, whatever the gateway does."""
