/** What a person recognises in a User-Agent header; null where it says nothing known. */
export interface Device {
  readonly program: string | null
  readonly system: string | null
}

/** The order matters: every browser claims to be those before it. */
const programs: readonly (readonly [name: string, sign: RegExp])[] = [
  ['Edge', /\bEdgA?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(HeadlessChrome|Chrome|Chromium|CriOS)\//],
  ['Safari', /\bSafari\//],
]
const systems: readonly (readonly [name: string, sign: RegExp])[] = [
  ['Android', /\bAndroid\b/],
  ['iPadOS', /\biPad\b/],
  ['iOS', /\biPhone\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
]

export function deviceOf(userAgent: string | null): Device {
  if (userAgent === null) return { program: null, system: null }
  const find = (known: typeof programs) => known.find(([, sign]) => sign.test(userAgent))?.[0] ?? null
  const tool = /^([A-Za-z][\w.-]{0,30})\//.exec(userAgent)?.[1]
  return { program: find(programs) ?? (tool === undefined || tool === 'Mozilla' ? null : tool), system: find(systems) }
}
