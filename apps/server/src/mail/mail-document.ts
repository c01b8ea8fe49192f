/** Links and images that are not absolute lead here: a name that never resolves (RFC 6761), instead of into the service. */
const nowhere = 'https://mail.invalid/'

/**
 * A mail is written by a stranger, and is shown in a frame of the page. The sandbox takes its origin, scripts and forms, the
 * policy stops what loads, and both hold wherever the document is opened: they come with it.
 */
export function mailHeaders(remoteImages: boolean): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': [
      'sandbox allow-popups allow-popups-to-escape-sandbox',
      "default-src 'none'",
      `img-src data:${remoteImages ? ' https:' : ''}`,
      "style-src 'unsafe-inline'",
      'font-src data:',
      "form-action 'none'",
      `base-uri ${nowhere}`,
      "frame-ancestors 'self'",
    ].join('; '),
    // For browsers that do not know frame-ancestors, the page alone may show it too.
    'x-frame-options': 'SAMEORIGIN',
    // No policy covers the look-up of the names in links.
    'x-dns-prefetch-control': 'off',
  }
}

/**
 * The mail behind a beginning of ours, whose base counts because it is the first. Elements that act before any policy (connect,
 * refresh, move the base, open frames) lose their names: a tag begins with `<` and its name, however broken the rest is.
 */
export function mailDocument(html: string): string {
  return beginning + html.replace(acting, '<$1x-$2')
}

const acting = /<(\/?)(base|link|meta|iframe|frameset|frame|object|embed|portal|fencedframe)(?=[\s/>])/gi

// Mails are made for white paper; what they say themselves comes later and wins.
const paper =
  ':root{color-scheme:light;background:#fff;color:#17191c;font:14px/1.5 system-ui,sans-serif}body{margin:16px;overflow-wrap:anywhere}img{max-width:100%}'
const beginning = `<!doctype html><meta charset="utf-8"><base href="${nowhere}" target="_blank"><style>${paper}</style>`
