/** The moment that a copy of a base is brought to, by an archive. */
export interface MomentInput {
  /** RFC 3339. */
  readonly to: string
  readonly archive: string
}
