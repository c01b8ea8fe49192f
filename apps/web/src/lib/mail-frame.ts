/**
 * A mail is written by a stranger. It is shown in a frame without scripts, forms and an origin of its own; these two are
 * said once, here, and neither is enough without the other: the sandbox stops what acts, the policy stops what loads.
 */
export const mailSandbox = 'allow-popups allow-popups-to-escape-sandbox'

export function mailPolicy(remoteImages: boolean): string {
  return [
    "default-src 'none'",
    `img-src data:${remoteImages ? ' https:' : ''}`,
    "style-src 'unsafe-inline'",
    'font-src data:',
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/**
 * The document for the frame. Parsing in a document of its own runs and loads nothing. Links open in a new tab that knows
 * nothing of this page; one that is not an absolute address would lead into Stackquay itself and loses its target.
 */
export function mailDocument(html: string, remoteImages: boolean): string {
  const mail = new DOMParser().parseFromString(html, 'text/html')
  for (const element of mail.querySelectorAll('script, base, link, meta[http-equiv], iframe, frame, object, embed')) {
    element.remove()
  }
  for (const element of mail.querySelectorAll('*')) {
    for (const name of element.getAttributeNames()) if (name.startsWith('on')) element.removeAttribute(name)
  }
  for (const link of mail.querySelectorAll('a[href], area[href]')) {
    const href = link.getAttribute('href')?.trim() ?? ''
    if (href.startsWith('#')) continue
    if (/^(https?|mailto|tel):/i.test(href)) {
      link.setAttribute('target', '_blank')
      link.setAttribute('rel', 'noopener noreferrer')
    } else {
      link.removeAttribute('href')
    }
  }
  const said = (name: string, content: string) => {
    const meta = mail.createElement('meta')
    meta.httpEquiv = name
    meta.content = content
    return meta
  }
  // Mails are made for white paper; what they say themselves comes later and wins.
  const paper = mail.createElement('style')
  paper.textContent =
    ':root{color-scheme:light;background:#fff;color:#17191c;font:14px/1.5 system-ui,sans-serif}body{margin:16px;overflow-wrap:anywhere}img{max-width:100%}'
  mail.head.prepend(
    said('Content-Security-Policy', mailPolicy(remoteImages)),
    // No policy covers the look-up of the names in links.
    said('x-dns-prefetch-control', 'off'),
    paper,
  )
  return `<!doctype html>${mail.documentElement.outerHTML}`
}

/** Whether it would load something from elsewhere, so that a person is told why pictures are missing. */
export function hasRemoteImages(html: string): boolean {
  return /<(img|source|video|input)\b[^>]*\b(src|srcset|poster)\s*=\s*["']?\s*(https?:)?\/\/|\bbackground\s*=\s*["']?\s*(https?:)?\/\/|url\(\s*["']?\s*(https?:)?\/\//i.test(
    html,
  )
}
