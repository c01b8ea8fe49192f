import { near } from '@stackquay/domain/log-level'

/*
 * Most lines tell no level, and looking at each of millions to find that out would take longer than all else. So the whole
 * text is searched for signs, without which no expression of `levelOf` finds anything, and a line in front of the next one
 * costs nothing. What is taken for a sign by mistake costs time; what is missed by mistake would lose a level: a new form in
 * `levelOf` needs its sign here.
 */

/** Whether a line may tell a level; fast when lines are asked for in their order. The text has a character for each byte. */
export type LevelSigns = (start: number, end: number) => boolean

export function levelSigns(latin1: string): LevelSigns {
  const character = (text: string) => (from: number) => latin1.indexOf(text, from)
  const isWord = (at: number) => isLetter(latin1.charCodeAt(at + 1))
  // `ERROR` and the like; `[error]`, `<error>`; the ends of `level=`, `lvl=`, `severity=`; colours.
  const capitals = nextSign((from) => {
    threeCapitals.lastIndex = from
    return threeCapitals.exec(latin1)?.index ?? -1
  }, always)
  const brackets = nextSign(character('['), isWord)
  const angles = nextSign(character('<'), isWord)
  const equals = nextSign(character('='), (at) => isAssigned(latin1.charCodeAt(at - 1)))
  const colours = nextSign(character('\u001b'), always)
  const nearest = nearestOf([capitals, brackets, angles, equals, colours])
  return (start, end) => {
    // A character is at most three bytes for each of what a string counts as one.
    const limit = Math.min(end, start + 3 * near)
    return nearest(start) < limit || beginsWithLevel(latin1, start, limit)
  }
}

const threeCapitals = /[A-Z]{3}/g
const always = () => true

/** Where something is next at or behind a place. */
type Next = (from: number) => number

function nextSign(find: Next, isSign: (at: number) => boolean): Next {
  return remembered((from) => {
    let next = find(from)
    while (next >= 0 && !isSign(next)) next = find(next + 1)
    return next < 0 ? Number.POSITIVE_INFINITY : next
  })
}

/** One question for each line in place of one for each sign. */
function nearestOf(signs: readonly Next[]): Next {
  return remembered((from) => {
    let nearest = Number.POSITIVE_INFINITY
    for (const next of signs) nearest = Math.min(nearest, next(from))
    return nearest
  })
}

/** It is searched for again when the last one found was passed. */
function remembered(search: Next): Next {
  let searched = Number.POSITIVE_INFINITY
  let next = 0
  return (from) => {
    if (from >= searched && from <= next) return next
    searched = from
    next = search(from)
    return next
  }
}

/** JSON, `warning: …`, `error [`, `12:M …`, `TypeError: …`, or one of the words that stand alone. */
function beginsWithLevel(text: string, start: number, limit: number): boolean {
  const first = text.charCodeAt(start)
  if (start === limit || first === space) return false
  if (first === brace) return true
  let end = start
  while (end < limit && isInWord(text.charCodeAt(end))) end += 1
  if (end === start) return false
  const next = text.charCodeAt(end)
  if (end === limit || end - start >= near || next === colon || next === exclamation || next === bracket) return true
  if (next !== space) return false
  if (text.charCodeAt(end + 1) === bracket) return true
  // `E0102 15:04:05` of glog has a digit where no word has one.
  return isDigit(text.charCodeAt(start + 1)) ? !isDigit(first) : aloneStandingWords.has(text.slice(start, end))
}

const aloneStandingWords: ReadonlySet<string> = new Set([
  'npm',
  'PHP',
  'Fatal',
  'fatal',
  'Parse',
  'parse',
  'Traceback',
  'thread',
  'Uncaught',
  'Unhandled',
])

const code = (character: string) => character.charCodeAt(0)
const space = code(' ')
const brace = code('{')
const bracket = code('[')
const colon = code(':')
const exclamation = code('!')

/** The last letters of `level`, `lvl` and `severity`. */
function isAssigned(character: number): boolean {
  const small = character | 0x20
  return small === 0x6c || small === 0x79
}

function isLetter(character: number): boolean {
  const small = character | 0x20
  return small >= 0x61 && small <= 0x7a
}

function isDigit(character: number): boolean {
  return character >= 0x30 && character <= 0x39
}

/** What names of exceptions are made of. */
function isInWord(character: number): boolean {
  return (
    isLetter(character) ||
    isDigit(character) ||
    character === code('_') ||
    character === code('.') ||
    character === code('$')
  )
}
