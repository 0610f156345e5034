// SPDX-License-Identifier: BSD-2-Clause

package tenrounds

//go:generate go run ./internal/generate
