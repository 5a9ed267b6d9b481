-- deliveries_unknown: unknown deliveries that nobody has looked up of late; uses delivery_unknown.
select @delivery_columns@
  from holdfast.delivery
 where delivery.state = 'unknown'
   and delivery.provider = %(provider)s
   and coalesce(delivery.checked_at, 0) <= %(until)s
 order by delivery.id
 limit %(limit)s
