-- deliveries_unchecked: the next marked deliveries to look up; uses delivery_unchecked.
select @delivery_columns@
  from holdfast.delivery
 where delivery.state = 'sent'
   and delivery.checked_at is null
   and delivery.provider = %(provider)s
   and (delivery.notified_at, delivery.id) > (%(since)s, %(after)s)
   and delivery.notified_at <= %(until)s
 order by delivery.notified_at, delivery.id
 limit %(limit)s
