"""A gateway that takes its time, and clients that send files to the converter."""
