# SPDX-License-Identifier: GPL-2.0-only
#
# Compiler flags of GCC that the Clang inside bindgen does not know.  The list is
# that of the kernel's rust/Makefile (7.3), which external modules cannot reach;
# a flag that a newer kernel adds shows as an error of bindgen that names it.
gp_bindgen_skip := -mno-fp-ret-in-387 -mpreferred-stack-boundary=% \
	-mskip-rax-setup -mgeneral-regs-only -msign-return-address=% \
	-mindirect-branch=thunk-extern -mindirect-branch-register \
	-mfunction-return=thunk-extern -mrecord-mcount -mabi=lp64 \
	-mindirect-branch-cs-prefix -mstack-protector-guard% -mtraceback=no \
	-mno-pointers-to-nested-functions -mno-string \
	-mno-strict-align -mstrict-align -mdirect-extern-access \
	-mexplicit-relocs -mno-check-zero-division \
	-fconserve-stack -falign-jumps=% -falign-loops=% \
	-femit-struct-debug-baseonly -fno-ipa-cp-clone -fno-ipa-sra \
	-fno-partial-inlining -fno-reorder-blocks -fno-allow-store-data-races \
	-fzero-call-used-regs=% -fno-stack-clash-protection \
	-fno-inline-functions-called-once -fsanitize=bounds-strict \
	-fstrict-flex-arrays=% -fmin-function-alignment=% \
	-fzero-init-padding-bits=% -fdiagnostics-show-context \
	-fdiagnostics-show-context=% --param=% --param asan-% \
	-fno-isolate-erroneous-paths-dereference
