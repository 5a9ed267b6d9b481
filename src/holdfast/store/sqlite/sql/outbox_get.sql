-- outbox_get: a message by its id; uses outbox_id.
select @outbox_columns@ from holdfast_outbox as message where message.id = :id
