import type { DumpNote } from '@stackquay/catalog'

/** For people: `DROP DATABASE other (line 7) is left out.` */
export function noteText({ text, count, lines }: DumpNote): string {
  const more = count > lines.length ? ', …' : ''
  return `${text} (${count === 1 ? 'line' : `${count} times, lines`} ${lines.slice(0, 5).join(', ')}${lines.length > 5 ? ', …' : more}) is left out.`
}
