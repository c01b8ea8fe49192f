/** A `Set-Cookie` line as it must be over TLS. */
export function secureCookieLine(line: string): string {
  return `${secureCookiePrefix}${line}; Secure`
}

/** Browsers take a cookie of such a name over TLS alone, and from this host alone. */
export const secureCookiePrefix = '__Host-'
