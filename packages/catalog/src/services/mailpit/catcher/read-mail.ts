import { createReadStream } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { type AddressObject, type EmailAddress, MailParser } from 'mailparser'
import type { InboxAddress, InboxAttachment } from '../inbox.ts'
import { inboxLimits } from './inbox-terms.ts'

/** The content of a message file. It is not trusted: the reading runs in a thread that may be ended. */
export interface Mail {
  readonly from: InboxAddress | null
  readonly to: readonly InboxAddress[]
  readonly cc: readonly InboxAddress[]
  readonly replyTo: readonly InboxAddress[]
  readonly subject: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly text: string | null
  readonly html: string | null
  readonly truncated: boolean
  readonly attachments: readonly InboxAttachment[]
  /** Why it could not be understood; `text` is then the source. */
  readonly problem: string | null
}

/** What the list and the search need of a message. */
export interface Digest extends Pick<Mail, 'from' | 'to' | 'subject' | 'problem'> {
  readonly attachmentCount: number
  readonly snippet: string
  /** Everything that a search looks at, as `searchable` writes it. */
  readonly words: string
}

export async function readMail(path: string): Promise<Mail> {
  return mailOf(path, await parse(path, inlineImages()))
}

export async function digestMail(path: string): Promise<Digest> {
  const parsed = await parse(path, { wants: () => false, keep: () => {} })
  return digestOf(await mailOf(path, parsed))
}

/** The decoded bytes of one attachment, or null when there is none of that index. */
export async function readAttachment(
  path: string,
  index: number,
): Promise<{ readonly fileName: string | null; readonly content: Buffer } | null> {
  let content: Buffer | null = null
  const { attachments } = await parse(path, {
    wants: (attachment) => attachment.index === index,
    keep: (_attachment, bytes) => {
      content = bytes
    },
  })
  return content === null ? null : { fileName: attachments[index]?.fileName ?? null, content }
}

/** An unreadable message is kept and shown as it came. */
export async function unreadable(path: string, problem: string): Promise<Mail> {
  const { text, truncated } = await sourceText(path)
  return {
    ...{ from: null, to: [], cc: [], replyTo: [], subject: '', headers: [], html: null, attachments: [] },
    ...{ text, truncated, problem },
  }
}

export function digestOf(mail: Mail): Digest {
  const body = mail.text?.trim() ? mail.text : textOfHtml(mail.html ?? '')
  const people = [mail.from, ...mail.to, ...mail.cc].flatMap((person) => [person?.name, person?.address])
  const files = mail.attachments.map(({ fileName }) => fileName)
  return {
    from: mail.from === null ? null : brief(mail.from),
    to: mail.to.map(brief),
    subject: mail.subject,
    problem: mail.problem,
    attachmentCount: mail.attachments.filter(({ inline }) => !inline).length,
    snippet: plain(body.slice(0, 2_000).replace(/\s+/g, ' ').trim()).slice(0, 200).toWellFormed(),
    words: searchable([mail.subject, ...people, ...files, body].join('\n')),
  }
}

/** A list of many messages holds many of these. */
function brief({ name, address }: InboxAddress): InboxAddress {
  return { name: name.slice(0, 300).toWellFormed(), address: address.slice(0, 400).toWellFormed() }
}

/** Bounded, so that a search over a full inbox stays quick. */
export function searchable(text: string): string {
  return plain(text.slice(0, 20_000).normalize('NFKC').toLowerCase().replace(/\s+/g, ' '))
    .slice(0, 20_000)
    .toWellFormed()
}

interface Parsed {
  readonly headers: ReadonlyMap<string, unknown>
  readonly headerLines: readonly { readonly key: string; readonly line: string }[]
  readonly text: string | undefined
  readonly html: string | undefined
  readonly attachments: readonly InboxAttachment[]
  readonly images?: ReadonlyMap<string, string>
  readonly problem: string | null
}

interface Keeper {
  wants(attachment: InboxAttachment): boolean
  keep(attachment: InboxAttachment, content: Buffer): void
  readonly images?: ReadonlyMap<string, string>
}

function parse(path: string, keeper: Keeper): Promise<Parsed> {
  // Turning text into HTML and HTML into text is work that a crafted message makes endless, and that is not needed here.
  const parser = new MailParser({
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  })
  const source = createReadStream(path)
  return new Promise((resolve, reject) => {
    let headers: ReadonlyMap<string, unknown> = new Map()
    let headerLines: Parsed['headerLines'] = []
    let body: { text?: string; html?: string } = {}
    const attachments: InboxAttachment[] = []
    const settle = (problem: string | null) => {
      source.destroy()
      resolve({
        ...{ headers, headerLines, attachments, problem },
        ...{ text: body.text, html: body.html },
        ...(keeper.images === undefined ? {} : { images: keeper.images }),
      })
    }
    parser.on('headers', (map) => {
      headers = map
    })
    parser.on('headerLines', (lines) => {
      headerLines = lines as unknown as Parsed['headerLines']
    })
    parser.on('data', (part) => {
      if (part.type === 'text') {
        body = part as { text?: string; html?: string }
        return
      }
      const attachment: InboxAttachment = {
        index: attachments.length,
        fileName: typeof part.filename === 'string' && part.filename !== '' ? plain(part.filename).slice(0, 500) : null,
        contentType:
          typeof part.contentType === 'string' ? plain(part.contentType).slice(0, 200) : 'application/octet-stream',
        sizeBytes: 0,
        inline: typeof part.cid === 'string' && (part.related === true || part.contentDisposition === 'inline'),
        contentId: typeof part.cid === 'string' ? part.cid.slice(0, 500) : null,
      }
      attachments.push(attachment)
      const wanted = keeper.wants(attachment)
      const chunks: Buffer[] = []
      let sizeBytes = 0
      const content = part.content as unknown as NodeJS.ReadableStream
      content.on('data', (chunk: Buffer) => {
        sizeBytes += chunk.length
        if (wanted) chunks.push(chunk)
      })
      content.on('error', (error: Error) => settle(error.message))
      content.on('end', () => {
        attachments[attachment.index] = { ...attachment, sizeBytes }
        if (wanted) keeper.keep(attachment, Buffer.concat(chunks))
        part.release()
      })
    })
    parser.on('end', () => settle(null))
    parser.on('error', (error) => settle(error instanceof Error ? error.message : String(error)))
    source.on('error', reject)
    source.pipe(parser)
  })
}

/** Keeps the images a text may refer to, within a bound for all of them. */
function inlineImages(): Keeper {
  const images = new Map<string, string>()
  let bytes = 0
  return {
    images,
    wants: ({ contentType, contentId }) => contentId !== null && /^image\/[\w.+-]{1,60}$/i.test(contentType),
    keep: ({ contentType, contentId }, content) => {
      bytes += content.length
      if (bytes > inlineLimit || contentId === null) return
      images.set(contentId, `data:${contentType};base64,${content.toString('base64')}`)
    },
  }
}

const inlineLimit = inboxLimits.inlineBytes

async function mailOf(path: string, parsed: Parsed): Promise<Mail> {
  const { headers, problem } = parsed
  const source = problem === null ? null : await sourceText(path)
  const text = source?.text ?? (parsed.text || (parsed.html === undefined ? '' : null))
  const html = source === null && parsed.html ? parsed.html : null
  const most = inboxLimits.bodyCharacters
  return {
    from: peopleOf(headers.get('from'))[0] ?? null,
    to: peopleOf(headers.get('to')),
    cc: peopleOf(headers.get('cc')),
    replyTo: peopleOf(headers.get('reply-to')),
    subject: plain(String(headers.get('subject') ?? ''))
      .slice(0, 2_000)
      .toWellFormed(),
    headers: parsed.headerLines.map(({ key, line }) => headerOf(key, line)),
    text: text === null ? null : text.slice(0, most).toWellFormed(),
    html: html === null ? null : withImages(html.slice(0, most), parsed.images).toWellFormed(),
    truncated: source?.truncated ?? ((text?.length ?? 0) > most || (html?.length ?? 0) > most),
    attachments: parsed.attachments,
    problem: problem === null ? null : `The message could not be read: ${plain(problem).slice(0, 300)}`,
  }
}

/** Addresses of a header that may stand there several times, with groups resolved. */
function peopleOf(header: unknown): InboxAddress[] {
  const objects = [header].flat().filter((value) => typeof value === 'object' && value !== null) as AddressObject[]
  const flat = (people: readonly EmailAddress[]): InboxAddress[] =>
    people.flatMap(({ name, address, group }) =>
      group === undefined
        ? [{ name: plain(name ?? '').toWellFormed(), address: plain(address ?? '').toWellFormed() }]
        : flat(group),
    )
  return objects.flatMap(({ value }) => flat(value ?? [])).filter(({ name, address }) => name !== '' || address !== '')
}

/** The parser hands header lines over as bytes in a string; bytes above 127 are UTF-8 (RFC 6532) or nobody knows what. */
function headerOf(key: string, line: string) {
  const text = Buffer.from(line, 'latin1').toString('utf8')
  const colon = text.indexOf(':')
  const name = colon === -1 ? key : text.slice(0, colon).trim()
  return {
    name,
    value: text
      .slice(colon + 1)
      .replace(/\r?\n(?=[ \t])/g, '')
      .trim(),
  }
}

function withImages(html: string, images: ReadonlyMap<string, string> = new Map()): string {
  if (images.size === 0) return html
  let added = 0
  return html.replace(/\bcid:([^'"\s<>)]{1,500})/gi, (reference, encoded: string) => {
    const image = images.get(encoded) ?? images.get(decoded(encoded))
    if (image === undefined || added + image.length > inlineLimit * 1.5) return reference
    added += image.length
    return image
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Good enough for a line in a list and for a search; every step looks at a character once. */
function textOfHtml(html: string): string {
  return html
    .slice(0, 200_000)
    .split(/<(?=style\b|script\b|title\b)/i)
    .map((part, index) => (index === 0 ? part : part.slice(Math.max(part.search(/<\/(?:style|script|title)/i), 0))))
    .join('<')
    .replace(/<[^<>]*>?/g, ' ')
    .replace(/&(nbsp|amp|lt|gt|quot|#39);/g, (_all, name: string) => entities[name] ?? ' ')
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

async function sourceText(path: string): Promise<{ text: string; truncated: boolean }> {
  const text = await textOf(createReadStream(path, { end: sourceBytes }))
  return { text: text.slice(0, sourceBytes).toWellFormed(), truncated: text.length > sourceBytes }
}

const sourceBytes = 200_000

/** Without control characters: these texts stand in lists and in a data base. */
function plain(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '\ufffd')
}
