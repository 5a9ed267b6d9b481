-- deliveries_lost: deliveries of one provider whose courier's lease has ended; uses its index.
select @delivery_columns@
  from holdfast_delivery as delivery
 where delivery.provider = :provider
   and delivery.lease_until < :now
   and delivery.holder is not null
 order by delivery.lease_until, delivery.id
 limit :limit
