#include "textflag.h"

DATA absolute<>+0(SB)/4, $0x7fffffff
GLOBL absolute<>(SB), RODATA|NOPTR, $4

// func largest(from *float32, n int, most *[16]float32)
TEXT ·largest(SB), NOSPLIT, $0-24
	MOVQ         from+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         most+16(FP), DI
	VPBROADCASTD absolute<>(SB), Y4
	VPXOR        Y0, Y0, Y0
	VPXOR        Y1, Y1, Y1

next:
	VPAND   (SI), Y4, Y2
	VPAND   32(SI), Y4, Y3
	VPMAXUD Y2, Y0, Y0 // as whole numbers, which are in the order of the numbers, and in which NaN is the largest
	VPMAXUD Y3, Y1, Y1
	ADDQ   $64, SI
	SUBQ   $16, CX
	JNZ    next
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// func quantizeToBytes(to *int8, from *float32, n int, by float32, sums *[16]int32)
TEXT ·quantizeToBytes(SB), NOSPLIT, $0-40
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

// func tileOfBytes(out *float32, steps *int8, packed *uint8, columnFactors, rowFactors *float32, offsets *int32, stride, height, count int)
TEXT ·tileOfBytes(SB), NOSPLIT, $0-72
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

// func quantizeToWords(to *int16, from *float32, n int, by float32, sums *[16]int32)
TEXT ·quantizeToWords(SB), NOSPLIT, $0-40
	MOVQ         to+0(FP), DI
	MOVQ         from+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS by+24(FP), Y1

next:
	VMULPS    (SI), Y1, Y2
	VMULPS    32(SI), Y1, Y3
	VCVTPS2DQ Y2, Y2
	VCVTPS2DQ Y3, Y3
	VPACKSSDW Y3, Y2, Y2
	VPERMQ    $0xd8, Y2, Y2
	VMOVDQU   Y2, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JNZ       next
	VZEROUPPER
	RET

// WORDS adds two products to each of the 16 sums of a row: its two numbers with the two registers of the packed matrix.
#define WORDS(numbers, left, right) \
	VPBROADCASTD numbers, Y14     \
	VPMADDWD     Y14, Y12, Y15    \
	VPMADDWD     Y14, Y13, Y14    \
	VPADDD       Y15, left, left  \
	VPADDD       Y14, right, right

// WRITE writes the sums of a row as numbers, and goes to the next.
#define WRITE(at, left, right) \
	VBROADCASTSS at(BX), Y14   \
	VCVTDQ2PS    left, left    \
	VCVTDQ2PS    right, right  \
	VMULPS       Y14, left, left \
	VMULPS       Y14, right, right \
	VMULPS       Y12, left, left \
	VMULPS       Y13, right, right \
	VMOVUPS      left, (DI)    \
	VMOVUPS      right, 32(DI) \
	ADDQ         SI, DI

// func tileOfWords(out *float32, steps *int16, packed *uint8, columnFactors, rowFactors *float32, offsets *int32, stride, height, count int)
TEXT ·tileOfWords(SB), NOSPLIT, $0-72
	MOVQ out+0(FP), DI
	MOVQ steps+8(FP), R8
	MOVQ packed+16(FP), DX
	MOVQ columnFactors+24(FP), AX
	MOVQ rowFactors+32(FP), BX
	MOVQ stride+48(FP), SI
	MOVQ height+56(FP), R9
	MOVQ count+64(FP), CX
	ADDQ R9, R9
	LEAQ (R9)(R9*2), R10
	LEAQ (R8)(R10*1), R11
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11

next:
	VPMOVSXBW (DX), Y12
	VPMOVSXBW 16(DX), Y13
	WORDS((R8), Y0, Y1)
	WORDS((R8)(R9*1), Y2, Y3)
	WORDS((R8)(R9*2), Y4, Y5)
	WORDS((R8)(R10*1), Y6, Y7)
	WORDS((R11)(R9*1), Y8, Y9)
	WORDS((R11)(R9*2), Y10, Y11)
	ADDQ $4, R8
	ADDQ $4, R11
	ADDQ $32, DX
	DECQ CX
	JNZ  next

	VMOVUPS (AX), Y12
	VMOVUPS 32(AX), Y13
	WRITE(0, Y0, Y1)
	WRITE(4, Y2, Y3)
	WRITE(8, Y4, Y5)
	WRITE(12, Y6, Y7)
	WRITE(16, Y8, Y9)
	WRITE(20, Y10, Y11)
	VZEROUPPER
	RET
