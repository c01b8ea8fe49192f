/**
 * If-Match as the handlers read it: the entity tags without quotes, joined by commas; `*` for any; null when absent. Weak
 * tags stay as they are and so never hold, because If-Match compares strongly (RFC 9110, section 13.1.1). Our tags have no commas.
 */
export function normalizedIfMatch(header: string | undefined): string | null {
  return header === undefined ? null : tagsOf(header).join(',')
}

/** Whether `context.ifMatch` holds for a resource with this tag; absent holds always. */
export function ifMatchHolds(ifMatch: string | null, etag: string): boolean {
  return ifMatch === null || ifMatch === '*' || ifMatch.split(',').includes(etag)
}

/** If-None-Match compares weakly, so that a proxy that compressed the answer may still ask. */
export function ifNoneMatchHits(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return tagsOf(header).some((tag) => tag === '*' || tag.replace(/^W\/"(.*)"$/, '$1') === etag)
}

function tagsOf(header: string): string[] {
  return header
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
    .map((tag) => tag.replace(/^"(.*)"$/, '$1'))
}
