"""Main: submissions, their deadlines, the callbacks of graders, and reviews by teachers."""
