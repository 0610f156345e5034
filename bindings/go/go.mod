// SPDX-License-Identifier: BSD-2-Clause

// The repository has no address yet. Its module's path is in other files, too; this changes all:
// git grep -l example.org/tenrounds | xargs sed -i 's|example.org/tenrounds|HOST/OWNER/tenrounds|'
module example.org/tenrounds/bindings/go

go 1.24
