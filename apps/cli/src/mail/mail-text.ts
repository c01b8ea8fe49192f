import type { CallResult } from '@stackquay/contract'
import { plainLines, plainText } from '../output/plain-text.ts'
import { size } from '../output/size.ts'
import type { Style } from '../output/style.ts'
import { fields } from '../output/table.ts'

export type Mail = CallResult<'getMail'>
type Address = Mail['to'][number]

/** A mail for people. Everything in it comes from a stranger: nothing of it reaches the terminal but text. */
export function mailText(mail: Mail, style: Style): string {
  const { colors } = style
  const rows: [string, string][] = [
    ['From', mail.from === null ? '-' : addressText(mail.from)],
    ['To', addressesText(mail.to)],
  ]
  if (mail.cc.length > 0) rows.push(['Cc', addressesText(mail.cc)])
  if (mail.bcc.length > 0) rows.push(['Bcc', addressesText(mail.bcc)])
  if (mail.replyTo.length > 0) rows.push(['Reply to', addressesText(mail.replyTo)])
  rows.push(['Subject', colors.bold(plainText(mail.subject))], ['Received', plainText(mail.receivedAt)])
  for (const { fileName, contentType, sizeBytes, inline } of mail.attachments) {
    const what = `${fileName ?? 'without a name'} (${contentType}, ${size(sizeBytes)}${inline ? ', in the text' : ''})`
    rows.push(['File', plainText(what)])
  }
  const parts = [fields(rows, style), bodyText(mail, style)]
  if (mail.problem !== null) parts.push(`${colors.yellow('!')} ${plainText(mail.problem)}`)
  if (mail.truncated) parts.push(`${colors.yellow('!')} It was cut; --source shows all of it.`)
  return parts.join('\n\n')
}

export function headersText({ headers }: Mail, { colors }: Style): string {
  // A long header was folded on its way; that is no part of what it says.
  const unfolded = (value: string) => plainText(value.replace(/\r?\n[ \t]+/g, ' '))
  return headers.map(({ name, value }) => `${colors.dim(`${plainText(name)}:`)} ${unfolded(value)}`).join('\n')
}

export function addressText({ name, address }: Address): string {
  return plainText(name === '' ? address : `${name} <${address}>`)
}

export function addressesText(addresses: readonly Address[]): string {
  return addresses.length === 0 ? '-' : addresses.map(addressText).join(', ')
}

function bodyText({ text, html }: Mail, { colors }: Style): string {
  if (text !== null && text.trim() !== '') return plainLines(text).trimEnd()
  return colors.dim(html === null ? '(no text)' : '(HTML alone: show it with --html)')
}
