package embedded

import "github.com/mneme-memory/mneme/shared/text"

// leaning words open a sentence that speaks of what was said before it.
var leaning = text.WordSet(`it it's it'll that that's this these those they they're they've he he's she she's his her their its there
	then such which both him them also plus`)

var copulas = text.WordSet("is isn't are was were has helps makes keeps gives brings can will would")

// droppedGerunds open a sentence that left "I am" out.
var droppedGerunds = text.WordSet("feeling hoping planning looking trying heading considering wondering going working missing")

// droppedPasts open a sentence that left "I" out.
var droppedPasts = text.WordSet(`went got had took spent saw met made found bought ate came ran loved enjoyed finished started tried
	visited moved decided managed wanted needed wished hoped worked learned joined signed booked forgot felt thought did played watched
	read wrote broke quit won lost gave helped stayed travelled traveled`)

// leadingAdverbs may stand before the verb of such a sentence.
var leadingAdverbs = text.WordSet("just also recently finally never still already")
