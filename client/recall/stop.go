package recall

import (
	"strings"
	"unicode"
)

// isStop knows the English words that are neither kept nor asked for.
func isStop(word []byte) bool {
	if len(word) > 10 {
		return false
	}
	return stop[string(word)]
}

var stop = setOf(`a about above after again against ain all also am an and any are aren as at be because been before
being below between both but by can cannot could couldn did didn do does doesn doing don down during each else few for
from further had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its
itself just ll let me more most mustn my myself no nor not now of off on once only or other our ours ourselves out over
own please re same shall shan she should shouldn so some such than that the their theirs them themselves then there these
they this those through to too under until up us ve very was wasn we were weren what when where which while who whom
whose why will with won would wouldn yet you your yours yourself yourselves`)

// glueWeight is the weight of what only holds a sentence together.
const glueWeight = 0.1

// weakness is how much less than others a term counts in a question: there are
// words that most questions hold, whatever they are about.
func weakness(text string) float64 {
	switch {
	case weak[text]:
		return 0.3
	case glue[text], isHiragana(text):
		return glueWeight
	case hasHiragana(text):
		return 0.4
	case strings.ContainsAny(text, grammar):
		return 0.3
	}
	return 1
}

// grammar are the characters that are words of grammar in Chinese, wherever they stand.
const grammar = "的了是在和与與及吗嗎呢吧啊这這那哪谁誰么麼就也都很而且被把对對"

// weak holds stems.
var weak = setOf(`use us get go work need want make know tell thing way happen like look see try help explain describ say ask give
mean someth anyth everyth anyon someon current new good best right kind lot much many ever still always never time today
question answer find show keep put take come think remember note memory`)

// glue are pairs that hold a Chinese or Korean sentence together.
var glue = setOf(`什么 怎么 如何 为什 么样 为何 哪里 哪个 哪些 我们 你们 他们 是否 可以 应该 需要 怎样 多少 是什 这个 那个 一个 有没 没有 的是 是怎
么是 们的 们用 用什 我的 你的 什麼 怎麼 為什 麼樣 為何 哪裡 哪個 我們 你們 他們 應該 這個 那個 一個 沒有 的？ 吗 呢 的 了 是 在 有 和 用 要 会 吧 啊 请问
어떻 떻게 무엇 엇을 니까 습니 합니 하는 하나 나요 가요 인가 입니 어디 언제 누가 우리 리는 있나 있는 했나 해야 야하 하면 되나 나의 무슨 왜 것은 이란 는가
을까 할까 까요 세요 주세`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// isHiragana knows a term of Hiragana alone, which is mostly grammar.
func isHiragana(text string) bool {
	for _, r := range text {
		if !unicode.Is(unicode.Hiragana, r) && r != 'ー' {
			return false
		}
	}
	return text != ""
}

func hasHiragana(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Hiragana, r) })
}

// cutEnding takes the particle or the verb's ending off a Korean word, if two
// syllables are left.
func cutEnding(word string) string {
	for _, ending := range koreanEndings {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) >= 2*len("가") {
			return rest
		}
	}
	return word
}

// koreanEndings has the longer ones first.
var koreanEndings = strings.Fields(`했습니까 합니까 입니까 습니까 했습니다 합니다 입니다 습니다 됩니다 하였다 되었다 하나요 되나요 인가요 해야 한다 하는 되는 했다 하고 하기 하면 된다
에서는 으로는 에게서 에서 으로 에게 까지 부터 처럼 보다 이나 이란 라는 은 는 이 가 을 를 의 에 로 와 과 도 만`)
