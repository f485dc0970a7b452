package reader

import _ "embed"

//go:embed model.onnx
var shippedNetwork []byte
