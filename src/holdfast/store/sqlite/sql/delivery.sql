-- delivery: one delivery.
select @delivery_columns@ from holdfast_delivery as delivery where delivery.id = :id
