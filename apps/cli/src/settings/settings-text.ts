import type { Context } from '../context.ts'
import { plainText, widthOf, wrapped } from '../output/plain-text.ts'
import type { Setting, SettingType } from './settings.ts'

/** What can be set, with what each setting takes and means. */
export function settingsText(settings: readonly Setting[], { style }: Pick<Context, 'style'>): string {
  const shown = settings.filter(({ readOnly, nullable, type }) => !readOnly && (type.kind !== 'group' || nullable))
  const rows = shown.map((setting) => ({ term: setting.key, takes: takesText(setting), help: setting.help }))
  const width = Math.max(0, ...rows.map(({ term }) => widthOf(term)))
  const room = Math.min(style.columns ?? 100, 120) - width - 6
  const indent = ' '.repeat(width + 4)
  return rows
    .map(({ term, takes, help }) => {
      const [first = '', ...rest] = wrapped([takes, help].filter((text) => text !== '').join('. '), room)
      const head = `  ${term}${' '.repeat(width - widthOf(term) + 2)}${first}`
      return [head, ...rest.map((line) => `${indent}${line}`)].join('\n')
    })
    .join('\n')
}

function takesText({ key, type, nullable }: Setting): string {
  const what = plainText(takes(key, type))
  if (!nullable) return what
  return type.kind === 'group' ? 'null' : `${what === '' ? 'text' : what}, or null`
}

function takes(key: string, type: SettingType): string {
  switch (type.kind) {
    case 'flag':
      return 'true, false'
    case 'choice':
      return type.options.join(', ')
    case 'number': {
      const { whole, low, high } = type
      return low !== null && high !== null ? `${low} to ${high}` : whole ? 'whole number' : 'number'
    }
    case 'words':
      return 'words with commas between them'
    case 'map':
      return `entries: ${key}.<name>=value`
    case 'secret':
      return `secret: --set-stdin ${key}`
    case 'json':
      return 'JSON'
    case 'text':
    case 'group':
      return ''
    default:
      return type satisfies never
  }
}
