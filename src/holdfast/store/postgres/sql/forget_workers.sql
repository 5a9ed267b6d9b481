-- forget_workers: remove workers not seen for long.
delete from holdfast.worker where seen_at < %(seen_before)s
