-- held_by: the jobs leased to one worker; uses job_leased.
select @job_columns@ from holdfast.job where state = 'processing' and holder = %(holder)s
