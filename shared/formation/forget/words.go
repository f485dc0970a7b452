package forget

import "github.com/mneme-memory/mneme/shared/text"

// The words of requests, in English, Spanish, German, French, Portuguese, Italian and Dutch.
var (
	// strong verbs ask to forget.
	strong = text.WordSet(`forget olvida olvide olvidad olvidar olvides vergiss vergesst vergessen oublie oubliez oublier
		esquece esqueça esquecer dimentica dimentichi dimenticare vergeet vergeten`)
	// weak verbs may also concern a task.
	weak = text.WordSet(`delete remove erase wipe borra borre borrad borrar elimina elimine eliminar lösche löscht
		löschen entferne entfernen supprime supprimez supprimer efface effacez effacer apaga apague apagar cancella cancelli
		cancellare rimuovi verwijder verwijderen wis`)
	// keep verbs ask to forget with a negation, or behind "stop".
	keep = text.WordSet(`remember memorize memorise keep store save record remembering keeping storing saving recuerdes
		recordar guardes guardar merk merke merken speichere speichern behalte behalten retiens retenez retenir garde gardez
		garder mémorise mémorisez lembre guarde ricordare ricordarti salvare onthoud onthouden bewaar bewaren`)
	denying = text.WordSet(`don't dont not never stop no nunca nicht nie niemals ne pas jamais n'oublie n'oubliez não
		nunca non mai niet nooit`)
	// own words are possessives of the speaker.
	own = text.WordSet(`my our mi mis nuestro nuestra nuestros nuestras mein meine meinen meinem meiner meines unser
		unsere unseren mon ma mes notre nos meu minha meus minhas mio mia miei mie mijn ons onze`)
	// first and second are the two people of a request.
	first  = text.WordSet(`i i've i'd we yo dije conté mencioné ich wir je j'ai nous eu disse contei io ho ik wij we`)
	second = text.WordSet(`you tú usted du dir sie ihr tu te t'ai vous você lei ti je jij jou u`)
	modal  = text.WordSet(`can could would will should must may please puedes podrías puede podría kannst könntest
		könnten können peux peut pouvez pourrais pourriez pode podes poderia puoi potresti può kun kunt kan zou`)
	wish = text.WordSet(`want like need i'd quiero quisiera möchte will veux voudrais quero queria voglio vorrei wil`)
	// polite words lead up to a request.
	polite = text.WordSet(`please kindly just now so and then also hey ok okay to por favor que bitte mal jetzt also und
		dass s'il plaît et donc e então per favore alsjeblieft alstublieft en nu`)
	// behind words may end a request.
	behind = text.WordSet(`please thanks now again anymore altogether immediately completely for me por favor gracias
		bitte danke jetzt wieder s'il te vous plaît merci obrigado obrigada grazie alsjeblieft dank`)
	// reported words begin a clause about an earlier statement.
	reported = text.WordSet(`what that everything anything all lo que todo was dass alles ce tout o tudo quello che tutto
		wat dat`)
	// between words may stand between the verb and the object.
	between = text.WordSet(`about regarding concerning on of the fact any all memory memories note notes information info
		data said told mentioned wrote shared gave have had dicho contado sobre acerca de del el la los las nota notas über
		von zu den die das dir gesagt erzählt erwähnt geschrieben habe hatte dit raconté parlé sur au sujet propos les dito
		contado do da dos das detto raccontato su il lo i gli le over gezegd verteld het heb`)
	// places name another target than the memory.
	places = text.WordSet(`from in on off at out under inside within`)
	from   = text.WordSet(`from in de del da dal aus uit van`)
	yours  = text.WordSet(`your the what you tu su tus la ta votre vos deinem deinen ihrem ihren dem sua tua je jouw uw`)
	// memories name the memory of the assistant.
	memories = text.WordSet(`memory memories records record notes profile database files know memoria registros
		gedächtnis speicher mémoire memória geheugen`)
)
