#include "textflag.h"

// What a number is rounded to: log2(e), the least argument of exp, the seven coefficients of 2^x between -1/2 and 1/2 (interpolated at
// Chebyshev's nodes), 1, 2, 1/2, sqrt(1/2), and p, the largest argument and a1 to a5 of formula 7.1.26 of Abramowitz and Stegun.
DATA numbers<>+0(SB)/4, $0x3fb8aa3b
DATA numbers<>+4(SB)/4, $0xc2d00000
DATA numbers<>+8(SB)/4, $0x3f800000
DATA numbers<>+12(SB)/4, $0x3f317218
DATA numbers<>+16(SB)/4, $0x3e75fdf0
DATA numbers<>+20(SB)/4, $0x3d635766
DATA numbers<>+24(SB)/4, $0x3c1d950e
DATA numbers<>+28(SB)/4, $0x3aafa460
DATA numbers<>+32(SB)/4, $0x39222000
DATA numbers<>+36(SB)/4, $0x3f800000
DATA numbers<>+40(SB)/4, $0x40000000
DATA numbers<>+44(SB)/4, $0x3f000000
DATA numbers<>+48(SB)/4, $0x3f3504f3
DATA numbers<>+52(SB)/4, $0x3ea7ba05
DATA numbers<>+56(SB)/4, $0x41a00000
DATA numbers<>+60(SB)/4, $0x3e827906
DATA numbers<>+64(SB)/4, $0xbe91a98e
DATA numbers<>+68(SB)/4, $0x3fb5f0e3
DATA numbers<>+72(SB)/4, $0xbfba00e3
DATA numbers<>+76(SB)/4, $0x3f87dc22
DATA numbers<>+80(SB)/4, $0x7fffffff
GLOBL numbers<>(SB), RODATA|NOPTR, $84

// EXP makes e to the power of x; uses Z1 and Z2. What is not a number stays none.
#define EXP(x) \
	VMAXPS       x, Z17, Z1      \
	VMULPS       Z16, Z1, Z1     \
	VRNDSCALEPS  $0, Z1, Z2      \
	VSUBPS       Z2, Z1, Z1      \
	VMOVAPS      Z24, x          \
	VFMADD213PS  Z23, Z1, x      \
	VFMADD213PS  Z22, Z1, x      \
	VFMADD213PS  Z21, Z1, x      \
	VFMADD213PS  Z20, Z1, x      \
	VFMADD213PS  Z19, Z1, x      \
	VFMADD213PS  Z18, Z1, x      \
	VSCALEFPS    Z2, x, x

// MASK makes K1 the bits of the first R10 of sixteen numbers, R10 being from 1 to 16.
#define MASK \
	MOVL  $0xffff, AX \
	MOVQ  $16, R9     \
	SUBQ  R10, R9     \
	MOVQ  R9, CX      \
	SHRL  CX, AX      \
	KMOVW AX, K1

// func exponentials512(to, from *float32, n int, most float32, sums *[16]float32)
TEXT ·exponentials512(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ n+16(FP), R8
	VBROADCASTSS most+24(FP), Z3
	MOVQ sums+32(FP), DX
	VBROADCASTSS numbers<>+0(SB), Z16
	VBROADCASTSS numbers<>+4(SB), Z17
	VBROADCASTSS numbers<>+8(SB), Z18
	VBROADCASTSS numbers<>+12(SB), Z19
	VBROADCASTSS numbers<>+16(SB), Z20
	VBROADCASTSS numbers<>+20(SB), Z21
	VBROADCASTSS numbers<>+24(SB), Z22
	VBROADCASTSS numbers<>+28(SB), Z23
	VBROADCASTSS numbers<>+32(SB), Z24
	VPXORD Z4, Z4, Z4

next:
	MOVQ R8, R10
	CMPQ R10, $16
	JLE  last
	MOVQ $16, R10

last:
	MASK
	VMOVUPS.Z (SI), K1, Z0
	VSUBPS    Z3, Z0, Z0
	EXP(Z0)
	VMOVUPS   Z0, K1, (DI)
	VADDPS    Z0, Z4, K1, Z4
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $16, R8
	JGT  next
	VMOVUPS Z4, (DX)
	VZEROUPPER
	RET

// func gelu512(to, from *float32, n int)
TEXT ·gelu512(SB), NOSPLIT, $0-24
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ n+16(FP), R8
	VBROADCASTSS numbers<>+0(SB), Z16
	VBROADCASTSS numbers<>+4(SB), Z17
	VBROADCASTSS numbers<>+8(SB), Z18
	VBROADCASTSS numbers<>+12(SB), Z19
	VBROADCASTSS numbers<>+16(SB), Z20
	VBROADCASTSS numbers<>+20(SB), Z21
	VBROADCASTSS numbers<>+24(SB), Z22
	VBROADCASTSS numbers<>+28(SB), Z23
	VBROADCASTSS numbers<>+32(SB), Z24
	VBROADCASTSS numbers<>+36(SB), Z25
	VBROADCASTSS numbers<>+40(SB), Z26
	VBROADCASTSS numbers<>+44(SB), Z27
	VBROADCASTSS numbers<>+48(SB), Z28
	VBROADCASTSS numbers<>+52(SB), Z29
	VBROADCASTSS numbers<>+56(SB), Z30
	VBROADCASTSS numbers<>+60(SB), Z10
	VBROADCASTSS numbers<>+64(SB), Z11
	VBROADCASTSS numbers<>+68(SB), Z12
	VBROADCASTSS numbers<>+72(SB), Z13
	VBROADCASTSS numbers<>+76(SB), Z14
	VPBROADCASTD numbers<>+80(SB), Z31
	VPXORD Z15, Z15, Z15

next:
	MOVQ R8, R10
	CMPQ R10, $16
	JLE  last
	MOVQ $16, R10

last:
	MASK
	VMOVUPS.Z    (SI), K1, Z3
	VMULPS       Z28, Z3, Z4
	VPANDD       Z31, Z4, Z4
	VMINPS       Z4, Z30, Z4  // z = |x| / sqrt(2)
	VMOVAPS      Z25, Z5
	VFMADD231PS  Z29, Z4, Z5  // 1 + p z
	VRCP14PS     Z5, Z6
	VFNMADD213PS Z26, Z6, Z5  // 2 - (1 + p z) t, for a step of Newton's
	VMULPS       Z5, Z6, Z6   // t
	VMULPS       Z4, Z4, Z0
	VSUBPS       Z0, Z15, Z0
	EXP(Z0)
	VMOVAPS      Z14, Z7
	VFMADD213PS  Z13, Z6, Z7
	VFMADD213PS  Z12, Z6, Z7
	VFMADD213PS  Z11, Z6, Z7
	VFMADD213PS  Z10, Z6, Z7
	VMULPS       Z6, Z7, Z7
	VMULPS       Z0, Z7, Z7
	VMULPS       Z27, Z7, Z7  // half of erfc(z)
	VSUBPS       Z7, Z25, Z8
	VCMPPS       $1, Z15, Z3, K2 // x < 0
	VMOVAPS      Z7, K2, Z8
	VSUBPS       Z30, Z15, Z9
	VMAXPS       Z3, Z9, Z9 // far below zero it is 0, whatever x is
	VMULPS       Z9, Z8, Z8
	VMOVUPS      Z8, K1, (DI)
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $16, R8
	JGT  next
	VZEROUPPER
	RET
