-- token_any: a row when there ever was an API token.
select 1 from holdfast.api_token limit 1
