-- What all calls of a job took is added up when it is scored.
create index grading_answer_by_job on grading.answer (job_id);
