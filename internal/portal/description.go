package portal

import "example.com/petstore/api"

// A description has what the reference shows of the OpenAPI description.
type description struct{ *api.Description }

type (
	operation = api.Operation
	response  = api.Response
	schema    = api.Schema
)
