"""The kit for testing programs that use holdfast, and holdfast itself.

Import what you need from its modules; none is imported by the engine.
"""
