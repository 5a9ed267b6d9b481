-- verify_delivery_leased_while_open: a delivery is leased, to one courier until an instant, only while it is open.
select delivery.id
  from holdfast_delivery as delivery
 where (delivery.holder is null) <> (delivery.lease_until is null)
    or (delivery.holder is not null and delivery.state not in ('intent', 'sending'))
 limit 1000
