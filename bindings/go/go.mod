// SPDX-License-Identifier: BSD-2-Clause

module example.org/tenrounds/bindings/go

go 1.24
