package text_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/text"
)

// Each language has typical texts with a date. Each entry has the text, the expression, the first day of its time,
// and its unit.
var foreignDates = map[string][]struct {
	text, expression, first string
	unit                    text.Unit
}{
	"de": {
		{"gestern war ich beim Zahnarzt", "gestern", "2023-05-24", text.Day},
		{"letzten Montag haben wir uns getroffen", "letzten Montag", "2023-05-22", text.Day},
		{"nächsten montag bin ich in Köln", "nächsten montag", "2023-05-29", text.Day},
		{"am 3. märz fliege ich nach Rom", "3. märz", "2023-03-03", text.Day},
		{"am 03.05.2023 war es so weit", "03.05.2023", "2023-05-03", text.Day},
		{"nächste woche bin ich im Urlaub", "nächste woche", "2023-05-29", text.Week},
		{"diese Woche ist es kalt", "diese Woche", "2023-05-22", text.Week},
		{"vor drei Tagen hat es geregnet", "vor drei Tagen", "2023-05-22", text.Day},
		{"vor 2 Wochen war ich da", "vor 2 Wochen", "2023-05-08", text.Week},
		{"vor 14 tagen war ich da", "vor 14 tagen", "2023-05-11", text.Day},
		{"ich bin im august 2019 nach Köln gezogen", "august 2019", "2019-08-01", text.Month},
		{"in 3 Monaten ziehe ich um", "in 3 Monaten", "2023-08-01", text.Month},
		{"letztes jahr war ich in Rom", "letztes jahr", "2022-01-01", text.Year},
		{"in 3 tagen fliege ich nach Rom", "in 3 tagen", "2023-05-28", text.Day},
		{"das war am 03.05.2023.", "03.05.2023", "2023-05-03", text.Day},
		{"morgen früh bin ich da", "morgen", "2023-05-26", text.Day},
		{"übermorgen fahre ich", "übermorgen", "2023-05-27", text.Day},
	},
	"es": {
		{"ayer fui al médico con mi hermana", "ayer", "2023-05-24", text.Day},
		{"el lunes pasado fuimos al cine", "lunes pasado", "2023-05-22", text.Day},
		{"mañana tengo una cita con el dentista", "mañana", "2023-05-26", text.Day},
		{"nos mudamos el 3 de marzo", "3 de marzo", "2023-03-03", text.Day},
		{"la próxima semana no puedo", "la próxima semana", "2023-05-29", text.Week},
		{"el mes pasado fui a Roma", "el mes pasado", "2023-04-01", text.Month},
		{"en 3 días voy a ir al médico", "en 3 días", "2023-05-28", text.Day},
		{"hoy no puedo ir al cine", "hoy", "2023-05-25", text.Day},
		{"nací el 7 de mayo de 1990 en Madrid", "7 de mayo de 1990", "1990-05-07", text.Day},
	},
	"fr": {
		{"hier je suis allé chez le dentiste", "hier", "2023-05-24", text.Day},
		{"la semaine prochaine je pars en vacances", "la semaine prochaine", "2023-05-29", text.Week},
		{"lundi dernier nous avons mangé ensemble", "lundi dernier", "2023-05-22", text.Day},
		{"il y a trois jours nous étions à Lyon", "il y a trois jours", "2023-05-22", text.Day},
		{"le 3 mars je vais à Lyon", "3 mars", "2023-03-03", text.Day},
		{"je pars dans 3 jours avec ma sœur", "dans 3 jours", "2023-05-28", text.Day},
		{"demain je vois ma sœur", "demain", "2023-05-26", text.Day},
		{"le mois prochain je pars", "le mois prochain", "2023-06-01", text.Month},
		{"je suis née le 3 mai 1990", "3 mai 1990", "1990-05-03", text.Day},
	},
	"it": {
		{"ieri sono andato dal dentista", "ieri", "2023-05-24", text.Day},
		{"lunedì scorso siamo andati al mare", "lunedì scorso", "2023-05-22", text.Day},
		{"la settimana prossima vado a Roma", "settimana prossima", "2023-05-29", text.Week},
		{"domani ho un appuntamento", "domani", "2023-05-26", text.Day},
		{"il 3 marzo mi trasferisco", "3 marzo", "2023-03-03", text.Day},
		{"2 settimane fa sono andato in montagna", "2 settimane fa", "2023-05-08", text.Week},
		{"il mese scorso ho cambiato casa", "mese scorso", "2023-04-01", text.Month},
	},
	"pt": {
		{"ontem fui ao dentista com minha mãe", "ontem", "2023-05-24", text.Day},
		{"segunda-feira passada fomos ao cinema", "segunda-feira passada", "2023-05-22", text.Day},
		{"na próxima semana vou viajar", "próxima semana", "2023-05-29", text.Week},
		{"amanhã tenho uma consulta", "amanhã", "2023-05-26", text.Day},
		{"em 3 de março me mudo", "3 de março", "2023-03-03", text.Day},
		{"no mês passado eu me mudei", "mês passado", "2023-04-01", text.Month},
		{"hoje não posso ir", "hoje", "2023-05-25", text.Day},
	},
	"nl": {
		{"gisteren was ik bij de tandarts", "gisteren", "2023-05-24", text.Day},
		{"vorige week waren wij met het gezin op vakantie", "vorige week", "2023-05-15", text.Week},
		{"volgende maand ga ik met mijn man verhuizen", "volgende maand", "2023-06-01", text.Month},
		{"morgen heb ik een afspraak", "morgen", "2023-05-26", text.Day},
		{"op 3 maart vlieg ik naar Rome", "3 maart", "2023-03-03", text.Day},
		{"afgelopen maandag was ik ziek", "afgelopen maandag", "2023-05-22", text.Day},
		{"2 dagen geleden was ik ziek", "2 dagen geleden", "2023-05-23", text.Day},
	},
	"pl": {
		{"wczoraj byłem u dentysty", "wczoraj", "2023-05-24", text.Day},
		{"w zeszłym tygodniu byliśmy w Krakowie", "w zeszłym tygodniu", "2023-05-15", text.Week},
		{"jutro mam wizytę", "jutro", "2023-05-26", text.Day},
		{"3 marca lecę do Rzymu", "3 marca", "2023-03-03", text.Day},
		{"w zeszły poniedziałek byłem u mamy", "zeszły poniedziałek", "2023-05-22", text.Day},
		{"w przyszłym miesiącu się przeprowadzam", "w przyszłym miesiącu", "2023-06-01", text.Month},
	},
	"ru": {
		{"вчера я был у врача", "вчера", "2023-05-24", text.Day},
		{"на прошлой неделе мы ездили в Москву", "на прошлой неделе", "2023-05-15", text.Week},
		{"завтра у меня встреча", "завтра", "2023-05-26", text.Day},
		{"3 марта я лечу в Рим", "3 марта", "2023-03-03", text.Day},
		{"в прошлый понедельник я был дома", "прошлый понедельник", "2023-05-22", text.Day},
		{"два дня назад я болел", "два дня назад", "2023-05-23", text.Day},
		{"в прошлом году мы переехали", "в прошлом году", "2022-01-01", text.Year},
		{"позавчера", "позавчера", "2023-05-23", text.Day},
	},
	"ja": {
		{"昨日歯医者に行きました", "昨日", "2023-05-24", text.Day},
		{"来週京都に行きます", "来週", "2023-05-29", text.Week},
		{"今週は忙しい", "今週", "2023-05-22", text.Week},
		{"明日は友達と会う", "明日", "2023-05-26", text.Day},
		{"3月3日に引っ越します", "3月3日", "2023-03-03", text.Day},
		{"2019年5月に引っ越した", "2019年5月", "2019-05-01", text.Month},
		{"明日香港に行きます", "明日", "2023-05-26", text.Day},
		{"先月引っ越した", "先月", "2023-04-01", text.Month},
		{"去年結婚しました", "去年", "2022-01-01", text.Year},
		{"3日前に会いました", "3日前", "2023-05-22", text.Day},
	},
	"zh": {
		{"昨天我去看了牙医", "昨天", "2023-05-24", text.Day},
		{"下周我去北京", "下周", "2023-05-29", text.Week},
		{"明天我有一个约会", "明天", "2023-05-26", text.Day},
		{"3月3日我搬家", "3月3日", "2023-03-03", text.Day},
		{"上个月我搬家了", "上个月", "2023-04-01", text.Month},
		{"我上周在北京见了他", "上周", "2023-05-15", text.Week},
		{"前天我们见面了", "前天", "2023-05-23", text.Day},
		{"去年我结婚了", "去年", "2022-01-01", text.Year},
	},
	"ko": {
		{"어제 치과에 갔어요", "어제", "2023-05-24", text.Day},
		{"다음 주에 서울에 가요", "다음 주", "2023-05-29", text.Week},
		{"내일 친구를 만나요", "내일", "2023-05-26", text.Day},
		{"3월 3일에 이사해요", "3월 3일", "2023-03-03", text.Day},
		{"지난주에 부산에 갔다", "지난주", "2023-05-15", text.Week},
		{"3일 전에 만났어요", "3일 전", "2023-05-22", text.Day},
		{"지난달 이사했어요", "지난달", "2023-04-01", text.Month},
		{"작년에 결혼했어요", "작년", "2022-01-01", text.Year},
	},
}

func TestDatesInOtherLanguages(t *testing.T) {
	for language, said := range foreignDates {
		for _, c := range said {
			text.ForgetDates() // the library's calls for one text suffice
			got := text.Dates(c.text, thursday)
			if len(got) != 1 {
				t.Errorf("%s: %q: found %+v, want one date", language, c.text, got)
				continue
			}
			m := got[0]
			if said := c.text[m.Start:m.End]; said != c.expression || m.Unit != c.unit ||
				m.Time.Format(time.DateOnly) != c.first {
				t.Errorf("%s: %q: got %q %s of unit %d, want %+v", language, c.text, said, m.Time.Format(time.DateOnly), m.Unit, c)
			}
		}
	}
}

// Dates leaves out words that the library takes for short names of weekdays and months. It also leaves out habits,
// durations, greetings, and ambiguous dates.
func TestDatesLeaveOtherLanguagesAlone(t *testing.T) {
	for language, said := range map[string][]string{
		"de": {
			"wir haben die version v1.2.2024 installiert", "das ist die 10.1.2.2024 und nicht",
			"ruf mich an unter 12-05-2023-4411, das ist die nummer",
			"Freitag morgen habe ich einen Termin", "ich habe das in 3 Tagen geschafft", "das geht nicht von heute auf morgen",
			"Frau Morgen hat mir das gesagt",
			"das mag ich so nicht, mi mo do", "guten morgen zusammen, wie geht es dir", "Morgen! wie geht es dir denn so",
			"ich habe 3 Katzen und 2 Hunde", "seit drei tagen bin ich krank", "jeden montag gehe ich schwimmen",
			"ich bin am dienstag da",
			"die mar war mit dem son da", "am morgen trinke ich kaffee", "kommenden freitag bin ich nicht da",
			"am 31.02.2023 war es so weit",
			"alle 2 wochen gehe ich zum friseur", "am 3. oktober war ich in Rom",
			"und ich bin im 7. Monat", "das Python 3.9 ist alt und es ist 10.30 märz",
		},
		"es": {
			"lo hice en 3 días", "desde hace 3 días estoy en la cama", "hoy en día no es tan fácil",
			"el 3 de mayo de 1808 en la ciudad",
			"vivo en la calle 2 de mayo",
			"me gusta el mar y el sol", "por la mañana tomo café", "en el mar 2 veces al día", "mi hermana vive en madrid",
			"los lunes voy al gimnasio", "tengo una casa y dos perros", "su hermana Abril 2 gatos tiene",
			"pasado mañana tengo que ir al médico",
		},
		"fr": {
			"nous habitons rue du 4 septembre à Paris",
			"j'aime la mer et le soleil", "tous les lundis je nage", "pendant trois jours nous étions à Lyon",
			"je ne sais pas si ma mère est là", "il a 3 chats et un chien",
		},
		"it": {
			"l'ho fatto in 3 giorni con mia sorella", "abitiamo in via 25 aprile con il cane",
			"ogni lunedì vado a nuotare con mia sorella", "l'altro ieri ho visto mia sorella", "mi piace il mare ma non il sole",
			"ho 3 gatti e un cane", "per tre giorni sono stato a Roma",
		},
		"pt": {
			"toda segunda-feira eu vou ao ginásio", "a minha mãe mora no mar", "eu tenho 3 gatos e um cão",
			"não sei se o meu pai vem",
			"depois de amanhã eu vou ao médico com a minha mãe",
		},
		"nl": {
			"zaterdag morgen heb ik een afspraak",
			"in de morgen drink ik koffie", "elke maandag ga ik naar de sportschool", "ik doe mijn best maar het is niet zo",
			"ik heb 3 katten en een hond", "goede morgen, hoe gaat het met je",
		},
		"pl": {"w każdy poniedziałek pływam z siostrą", "w poniedziałek idę do lekarza",
			"mam 3 koty i psa, które śpią", "lubię morze i słońce"},
		"ru": {"каждый понедельник я плаваю", "у меня 3 кошки и собака", "я люблю море и солнце", "мы живём там три года",
			"в понедельник я дома"},
		"ja": {
			"3日前後かかります", "大学2年前期の授業です", "明日香さんに会いました", "明日香は元気です",
			"毎日走ります", "猫が3匹います", "海が好きです", "月曜日に会いましょう", "13月3日に", "再来週京都に行きます", "一昨年結婚しました"},
		"zh": {"每天跑步", "我有3只猫", "我喜欢大海", "大前天我们见面", "每周一我游泳", "上上周我去了"},
		"ko": {
			"2일 전체를 썼어요",
			"매일 달려요", "고양이 3마리가 있어요", "바다를 좋아해요", "월요일에 만나요"},
	} {
		for _, said := range said {
			if got := text.Dates(said, thursday); len(got) != 0 {
				t.Errorf("%s: %q: found %+v, want nothing", language, said, got)
			}
		}
	}
}

// Of a text of words that are all new, the library reads a part.
func TestDatesAskLittleOfTheLibrary(t *testing.T) {
	text.Dates(vierzig, thursday)
	for _, part := range []string{"xq%sb woche ist ", "woche xq%s est ", "昨日%sは週年に行きました。"} {
		said := ""
		for i := 0; len(said) < 4<<10; i++ {
			said += strings.Replace(part, "%s", strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(i)), 1)
		}
		began := time.Now()
		text.Dates(said, thursday)
		if took := time.Since(began); took > 20*time.Second { // without the bound it takes minutes
			t.Errorf("%q: %v", part, took)
		} else {
			t.Log(part, took)
		}
	}
}

const (
	forty = "i went to the dentist with my sister last tuesday because my tooth had been hurting for days " +
		"and the doctor said that i should " +
		"come back in two weeks so we will drive there together on monday morning"
	vierzig = "ich war letzten dienstag mit meiner schwester beim zahnarzt weil mir der zahn seit tagen weh tat und " +
		"die ärztin hat gesagt dass ich nächste woche wieder kommen soll also fahren wir morgen früh zusammen mit dem " +
		"auto dorthin und bleiben lange"
)

func BenchmarkDates(b *testing.B) {
	for name, said := range map[string]string{"english": forty, "german": vierzig} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				text.Dates(said, thursday)
			}
		})
	}
	b.Run("german, one word in nine new", func(b *testing.B) {
		words := strings.Fields(vierzig)
		for i := 0; b.Loop(); i++ {
			said := append([]string(nil), words...)
			for k := 4; k < len(said); k += 9 {
				said[k] += "x" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(i))
			}
			text.Dates(strings.Join(said, " "), thursday)
		}
	})
}
