"""The exceptions of brokers, mail servers and SDKs."""
