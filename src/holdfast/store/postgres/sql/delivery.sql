-- delivery: one delivery.
select @delivery_columns@ from holdfast.delivery where delivery.id = %(id)s
