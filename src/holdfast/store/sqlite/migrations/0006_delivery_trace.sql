-- Deliveries carry the trace of whoever wanted them on to their providers.
alter table holdfast_delivery add column trace text;
