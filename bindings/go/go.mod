module example.org/tenrounds/bindings/go

go 1.24
