import { S3Error } from './errors.ts'

/** Text that is XML already. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Content = Markup | string | number | boolean | null | undefined | readonly Content[]

/** An element; what is null or undefined is left out, texts are escaped. */
export function element(name: string, ...content: readonly Content[]): Markup {
  return new Markup(`<${name}>${content.map(written).join('')}</${name}>`)
}

/** Leaves the element out when it has nothing to say. */
export function optional(name: string, content: string | number | null | undefined): Markup | null {
  return content === null || content === undefined || content === '' ? null : element(name, content)
}

export function xmlDocument(name: string, ...content: readonly Content[]): string {
  const inside = content.map(written).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inside}</${name}>`
}

function written(content: Content): string {
  if (content === null || content === undefined) return ''
  if (content instanceof Markup) return content.text
  if (Array.isArray(content)) return content.map(written).join('')
  return escaped(String(content))
}

/**
 * Keys may hold what XML 1.0 has no way to say, such as U+0001. As S3 does, they are written as character references, which
 * lenient parsers read; a client that must be sure asks for `encoding-type=url`.
 */
function escaped(text: string): string {
  return text.replace(
    /[&<>"\u0000-\u001f\u007f\ufffe\uffff]/g,
    (character) => named[character] ?? `&#x${character.charCodeAt(0).toString(16).toUpperCase()};`,
  )
}

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

export interface XmlElement {
  /** Without a namespace prefix. */
  readonly name: string
  readonly text: string
  readonly children: readonly XmlElement[]
}

/**
 * The part of XML that clients of S3 send: elements and text. No document type, so no entities but the five, nothing that
 * grows, nothing from elsewhere. Throws MalformedXML. The length is the caller's to bound.
 */
export function parseXml(source: string): XmlElement {
  interface Open {
    readonly name: string
    text: string
    readonly children: Open[]
  }
  const top: Open = { name: '', text: '', children: [] }
  const open: Open[] = [top]
  const token =
    /<\?xml[^>]*\?>|<!--[\s\S]*?-->|<(\/?)([\w.:-]+)((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/y
  token.lastIndex = source.startsWith('\ufeff') ? 1 : 0
  while (token.lastIndex < source.length) {
    const match = token.exec(source)
    if (match === null) throw new S3Error('MalformedXML')
    const [, closing, name, , empty, text] = match
    const current = open.at(-1)!
    if (text !== undefined) current.text += unescaped(text)
    if (name === undefined) continue
    if (closing === '/') {
      if (current.name !== name || open.length === 1) throw new S3Error('MalformedXML')
      open.pop()
      continue
    }
    const child: Open = { name, text: '', children: [] }
    current.children.push(child)
    if (empty !== '/') open.push(child)
    if (open.length > deepest) throw new S3Error('MalformedXML')
  }
  if (open.length !== 1 || top.children.length !== 1 || top.text.trim() !== '') throw new S3Error('MalformedXML')
  const plain = ({ name, text, children }: Open): XmlElement => ({
    name: name.slice(name.indexOf(':') + 1),
    text,
    children: children.map(plain),
  })
  return plain(top.children[0]!)
}

const deepest = 8

export function childText(parent: XmlElement, name: string): string | undefined {
  return parent.children.find((child) => child.name === name)?.text
}

function unescaped(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]+));|&/g, (all, decimal, hex, name) => {
      const character = name !== undefined && Object.hasOwn(entities, name) ? entities[name] : undefined
      if (character !== undefined) return character
      const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : Number.NaN
      const isCharacter = code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      if (!isCharacter) throw new S3Error('MalformedXML', `"${all}" is not a character.`)
      return String.fromCodePoint(code)
    })
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
