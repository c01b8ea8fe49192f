/**
 * A mail is written by a stranger. Its document comes with a sandbox and a policy of its own; the frame says the sandbox again,
 * so that neither the page nor the service alone decides.
 */
export const mailSandbox = 'allow-popups allow-popups-to-escape-sandbox'

/** Whether it would load something from elsewhere, so that the page can say why pictures are missing. */
export function hasRemoteImages(html: string): boolean {
  return /<(img|source|video|input)\b[^>]*\b(src|srcset|poster)\s*=\s*["']?\s*(https?:)?\/\/|\bbackground\s*=\s*["']?\s*(https?:)?\/\/|url\(\s*["']?\s*(https?:)?\/\//i.test(
    html,
  )
}
