import type { DumpNote } from '../dump-method.ts'
import type { Decision, Dialect } from '../dumps/dialect.ts'

/** Text of mariadb-dump and mysqldump. */
export function familyDialect(): Dialect {
  const used = new Set<string>()
  return {
    hasEscapes: true,
    isStandard: false,
    isMysql: true,
    looksAt,
    frames: [
      { begins: /^[\s\S]{0,80}-- (MySQL|MariaDB) dump /, ends: /-- Dump completed/, shown: '-- Dump completed' },
    ],
    // A command for clients that know it, and nonsense for others.
    skips: [/^\/\*M?!999999\\- enable the sandbox mode \*\/ ?/],
    ending: '',
    decide(text, line, notes) {
      const statement = withoutComments(text)
      if (/^USE\b/i.test(statement)) used.add(nameIn(statement.slice(3)))
      const rule = rules.find(({ matches }) => matches.test(statement))
      if (rule !== undefined) {
        notes.add(rule.kind, rule.shown?.(statement) ?? statement, line)
        return 'drop'
      }
      return withoutDefiner(text, (definer) => notes.add('owner', definer, line))
    },
    command: (text, line, notes) => notes.add('client', text, line),
    blocker: () =>
      used.size > 1
        ? `The dump holds several databases: ${[...used].slice(0, 10).join(', ')}. Export one of them alone.`
        : null,
  }
}

const looksAt: ReadonlySet<string> = new Set(
  'ALTER CHANGE CREATE DROP FLUSH GRANT INSTALL LOAD PURGE RENAME RESET REVOKE SET SOURCE SYSTEM UNINSTALL USE'.split(
    ' ',
  ),
)

interface Rule {
  readonly matches: RegExp
  readonly kind: DumpNote['kind']
  /** What of it is shown, so that those that are alike are counted together. */
  shown?(statement: string): string
}

const rules: readonly Rule[] = [
  { matches: /^USE\b/i, kind: 'database' },
  {
    matches: /^(CREATE|ALTER|DROP)( OR REPLACE)? (DATABASE|SCHEMA)\b/i,
    kind: 'database',
    shown: (text) => firstWords(text.replace(/ OR REPLACE| IF (NOT )?EXISTS/gi, '')),
  },
  {
    matches: /^(CREATE|ALTER|DROP|RENAME)( OR REPLACE)? (USER|ROLE)\b/i,
    kind: 'role',
    // A password may follow.
    shown: (text) => firstWords(text.replace(/ OR REPLACE| IF (NOT )?EXISTS/gi, '')),
  },
  { matches: /^(GRANT|REVOKE)\b/i, kind: 'role', shown: (text) => text.replace(/ IDENTIFIED .*/i, ' ...') },
  { matches: /^SET (PASSWORD|ROLE|DEFAULT ROLE)\b/i, kind: 'role', shown: (text) => firstWords(text).slice(0, 16) },
  { matches: /^SET (@@)?(GLOBAL|PERSIST|PERSIST_ONLY)\b/i, kind: 'server', shown: (text) => text.split('=')[0]! },
  { matches: /^SET (@@)?(SESSION( |\.))?SQL_LOG_BIN\b/i, kind: 'server', shown: (text) => text.split('=')[0]! },
  { matches: /^(CHANGE|FLUSH|INSTALL|PURGE|RESET|UNINSTALL)\b/i, kind: 'server', shown: (text) => firstWords(text) },
  { matches: /^LOAD (DATA|XML)\b/i, kind: 'file' },
  { matches: /^(SOURCE|SYSTEM)\b/i, kind: 'client' },
]

const quotedName = '`(?:[^`]|``)*`|\'[^\']*\'|"[^"]*"|[\\w$.%-]+'
const definer = new RegExp(
  `DEFINER\\s*=\\s*(?:CURRENT_USER(?:\\s*\\(\\s*\\))?|(?:${quotedName})(?:\\s*@\\s*(?:${quotedName}))?)`,
  'i',
)
const madeWithDefiner = /^[\s/*!\d]*(?:CREATE|ALTER)\b([\s\S]*?)\b(?:TRIGGER|VIEW|EVENT|PROCEDURE|FUNCTION)\b/i

/** What is made belongs to who makes it. Another name in its place takes rights over all databases. */
function withoutDefiner(text: string, tell: (found: string) => void): Decision {
  const head = madeWithDefiner.exec(text)
  const found = head === null ? null : definer.exec(head[0])
  if (head === null || found === null) return 'pass'
  tell(found[0].replaceAll(/[\s`]/g, ''))
  const at = head.index + found.index
  const left = found[0].replace(/[^\n]/g, '')
  return { text: text.slice(0, at) + left + text.slice(at + found[0].length) }
}

function nameIn(text: string): string {
  return text.replace(/[`;\s]/g, '')
}

function firstWords(statement: string): string {
  return statement.split(/[ ;]+/).slice(0, 3).join(' ').replaceAll('`', '')
}

/** As one line; what servers carry out in comments is no comment. */
function withoutComments(text: string): string {
  return text
    .replace(/\/\*M?!\d*/g, ' ')
    .replace(/\/\*[\s\S]*?\*\/|\*\/|(^|\n)\s*(--\s|#)[^\n]*/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ ?;+ ?$/, '')
    .trim()
}
