"""Grading over HTTP: routes for learners, teachers, operators and graders."""
