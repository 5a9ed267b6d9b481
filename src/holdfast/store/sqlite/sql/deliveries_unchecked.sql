-- deliveries_unchecked: the next marked deliveries to look up; uses its index.
select @delivery_columns@
  from holdfast_delivery as delivery
 where delivery.state = 'sent'
   and delivery.checked_at is null
   and delivery.provider = :provider
   and (delivery.notified_at, delivery.id) > (:since, :after)
   and delivery.notified_at <= :until
 order by delivery.notified_at, delivery.id
 limit :limit
