"""The endpoints of the API. Routes and the OpenAPI document are made of them."""
