/** Radio buttons that look like tiles: the classes of the label around an invisible input that fills it. */
export const tileClass =
  'relative flex min-w-0 rounded-lg border transition-colors has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent-ink'
export const tileChosen = 'border-accent-ink bg-accent-soft/60'
export const tileOther = 'border-line bg-surface hover:border-line-strong'
export const tileInput = 'absolute inset-0 size-full cursor-pointer appearance-none rounded-lg outline-none'
