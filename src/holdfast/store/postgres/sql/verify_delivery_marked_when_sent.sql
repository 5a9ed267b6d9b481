-- verify_delivery_marked_when_sent: a delivery has the instant of its notification exactly when it is sent.
select delivery.id
  from holdfast.delivery
 where (delivery.state = 'sent') <> (delivery.notified_at is not null)
 limit 1000
