#include "textflag.h"

DATA absolute<>+0(SB)/4, $0x7fffffff
GLOBL absolute<>(SB), RODATA|NOPTR, $4

// func largest(from *float32, n int, most *[16]float32)
TEXT ·largest(SB), NOSPLIT, $0-24
	MOVQ         from+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         most+16(FP), DI
	VPBROADCASTD absolute<>(SB), Z1
	VPXORD       Z0, Z0, Z0

next:
	VPANDD  (SI), Z1, Z2
	VPMAXUD Z2, Z0, Z0 // as whole numbers, which are in the order of the numbers, and in which NaN is the largest
	ADDQ   $64, SI
	SUBQ   $16, CX
	JNZ    next
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func quantize(to *int8, from *float32, n int, by float32, sums *[16]int32)
TEXT ·quantize(SB), NOSPLIT, $0-40
	MOVQ         to+0(FP), DI
	MOVQ         from+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS by+24(FP), Z1
	MOVQ         sums+32(FP), DX
	VPXORD       Z0, Z0, Z0

next:
	VMULPS    (SI), Z1, Z2
	VCVTPS2DQ Z2, Z2
	VPADDD    Z2, Z0, Z0
	VPMOVSDB  Z2, (DI)
	ADDQ      $64, SI
	ADDQ      $16, DI
	SUBQ      $16, CX
	JNZ       next
	VMOVDQU32 Z0, (DX)
	VZEROUPPER
	RET

// STEP adds four products to each of the 32 sums of a row: its four bytes with the two registers of the packed matrix.
#define STEP(bytes, left, right) \
	VPBROADCASTD bytes, Z18       \
	VPDPBUSD     Z18, Z16, left   \
	VPDPBUSD     Z18, Z17, right

// ROW writes the sums of a row as numbers, and goes to the next.
#define ROW(at, left, right) \
	VPBROADCASTD at(R12), Z18  \
	VPSUBD       Z18, left, left \
	VPSUBD       Z18, right, right \
	VCVTDQ2PS    left, left    \
	VCVTDQ2PS    right, right  \
	VBROADCASTSS at(BX), Z19   \
	VMULPS       Z19, left, left \
	VMULPS       Z19, right, right \
	VMULPS       Z16, left, left \
	VMULPS       Z17, right, right \
	VMOVUPS      left, (DI)    \
	VMOVUPS      right, 64(DI) \
	ADDQ         SI, DI

// func tile(out *float32, steps *int8, packed *uint8, columnFactors, rowFactors *float32, offsets *int32, stride, height, count int)
TEXT ·tile(SB), NOSPLIT, $0-72
	MOVQ out+0(FP), DI
	MOVQ steps+8(FP), R8
	MOVQ packed+16(FP), DX
	MOVQ columnFactors+24(FP), AX
	MOVQ rowFactors+32(FP), BX
	MOVQ offsets+40(FP), R12
	MOVQ stride+48(FP), SI
	MOVQ height+56(FP), R9
	MOVQ count+64(FP), CX
	LEAQ (R9)(R9*2), R10
	LEAQ (R8)(R9*4), R11
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	VPXORD Z12, Z12, Z12
	VPXORD Z13, Z13, Z13
	VPXORD Z14, Z14, Z14
	VPXORD Z15, Z15, Z15

next:
	VMOVDQU32 (DX), Z16
	VMOVDQU32 64(DX), Z17
	STEP((R8), Z0, Z1)
	STEP((R8)(R9*1), Z2, Z3)
	STEP((R8)(R9*2), Z4, Z5)
	STEP((R8)(R10*1), Z6, Z7)
	STEP((R11), Z8, Z9)
	STEP((R11)(R9*1), Z10, Z11)
	STEP((R11)(R9*2), Z12, Z13)
	STEP((R11)(R10*1), Z14, Z15)
	ADDQ $4, R8
	ADDQ $4, R11
	ADDQ $128, DX
	DECQ CX
	JNZ  next

	VMOVUPS (AX), Z16
	VMOVUPS 64(AX), Z17
	ROW(0, Z0, Z1)
	ROW(4, Z2, Z3)
	ROW(8, Z4, Z5)
	ROW(12, Z6, Z7)
	ROW(16, Z8, Z9)
	ROW(20, Z10, Z11)
	ROW(24, Z12, Z13)
	ROW(28, Z14, Z15)
	VZEROUPPER
	RET
