-- Where the control plane can be reached from outside at the moment.
select url from published_address
